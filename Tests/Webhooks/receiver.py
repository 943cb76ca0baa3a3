"""A receiver of Standard Webhooks, with the standard library alone.

    receiver.py SECRET [CERTIFICATE KEY]

With the files of a certificate and its key, it serves https alone.
It prints its port, and then a line of JSON for each request: the path, the method, the id and the event if the
signature is valid, or `error`. `POST /mode/MODE` sets how it answers from then on: `ok`, a status such as `500`,
`redirect`, `large` for a long response, or `hang` for not at all.
"""
import base64
import hashlib
import hmac
import http.server
import json
import ssl
import sys
import threading
import time

key = base64.b64decode(sys.argv[1].removeprefix("whsec_"))
output = threading.Lock()
mode = ["ok"]


def say(line):
    with output:
        print(json.dumps(line), flush=True)


def verified(headers, body):
    identifier, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        raise ValueError(f"timestamp {timestamp}")
    content = f"{identifier}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    signatures = [text.split(",", 1) for text in headers["webhook-signature"].split(" ")]
    if not any(version == "v1" and hmac.compare_digest(expected, text) for version, text in signatures):
        raise ValueError("no signature is valid")
    return {"id": identifier, "signatures": len(signatures), "event": json.loads(body)}


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        say({"path": self.path, "method": "GET"})
        self.answer(405)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path.startswith("/mode/"):
            mode[0] = self.path.removeprefix("/mode/")
            return self.answer(200)
        line = {"path": self.path, "method": "POST", "mode": mode[0], "connection": self.client_address[1],
                "agent": self.headers["User-Agent"]}
        try:
            line |= verified(self.headers, body)
        except Exception as error:
            line["error"] = repr(error)
        say(line)
        if mode[0] == "hang":
            time.sleep(3600)
        self.answer({"ok": 204, "redirect": 307, "large": 200}.get(mode[0]) or int(mode[0]))

    def answer(self, status):
        body = b"x" * 200_000 if mode[0] == "large" else b""
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "/elsewhere")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Receiver)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    # The handshake is made by the thread of the connection, so that a client that ends it does not stop the others.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
