"""A receiver of OpenTelemetry's protocol over HTTP, made of opentelemetry-proto.

It prints its port, and then a line of JSON for each export that it could decode, with the fields of the request, or
with `error` for one that it could not. `POST /mode/MODE` sets how it answers exports from then on: `ok`, a status such
as `500` or `429`, or `hang` for not at all.
"""
import base64
import http.server
import json
import re
import sys
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

REQUESTS = {
    "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
    "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
}
# The protocol has these in hexadecimal digits, and the JSON mapping of Protocol Buffers in Base64.
IDS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}
output = threading.Lock()
mode = ["ok"]


def say(line):
    with output:
        print(json.dumps(line), flush=True)


def with_base64_ids(value):
    if isinstance(value, list):
        return [with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {}
    for name, item in value.items():
        if name in IDS:
            if not re.fullmatch("[0-9a-f]{%d}" % IDS[name], item):
                raise ValueError(f"{name} is {item}")
            item = base64.b64encode(bytes.fromhex(item)).decode()
        else:
            item = with_base64_ids(item)
        changed[name] = item
    return changed


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path.startswith("/mode/"):
            mode[0] = self.path.removeprefix("/mode/")
            return self.answer(200)
        current = mode[0]
        try:
            message = REQUESTS[self.path]()
            # Unknown members and values of the wrong type are errors.
            json_format.ParseDict(with_base64_ids(json.loads(body)), message)
            decoded = json_format.MessageToDict(message)
            say({"path": self.path, "mode": current, "fields": dict(self.headers), "export": decoded})
        except Exception as error:
            say({"path": self.path, "error": repr(error), "body": body.decode(errors="replace")})
            return self.answer(400)
        if current == "hang":
            threading.Event().wait()
        self.answer(200 if current == "ok" else int(current))

    def answer(self, status):
        body = b"{}"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Receiver)
print(server.server_address[1], flush=True)
# The standard input ends with the test.
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
