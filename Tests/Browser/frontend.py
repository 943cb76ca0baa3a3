"""Two origins on 127.0.0.1.

One is a proxy that serves Latchkey and a frontend. The other serves only the frontend.
"""
import contextlib
import http.client
import http.server
import json
import pathlib
import sys
import threading
import urllib.parse

PAGES = pathlib.Path(__file__).parent / "frontend"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A browser that disconnects is not an error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Origin:
    """A web server with the frontend. `latchkey` is the URL of Latchkey in it, and `index` the page at `/`."""

    def __init__(self):
        self.latchkey = self.upstream = None
        self.index = "index.html"
        self.refreshes = self.together = self.most_together = 0
        # For how many seconds a refresh waits for a second one.
        self.hold_seconds = 0
        self.refused = 0
        self.simulator = ""
        # Responses by path, each a status and a body, in place of Latchkey's; and the bodies of the requests.
        self.scripted, self.posted = {}, []
        self.lock = threading.Condition()
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                origin.answer(self)

            do_GET = do_POST = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = answer

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    @contextlib.contextmanager
    def serving(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()

    def answer(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        path = urllib.parse.urlsplit(request.path).path
        page = PAGES / ({"/": self.index, "/sign-in": "number.html"}.get(path) or path.lstrip("/"))
        if request.command == "GET" and page.parent == PAGES and page.is_file():
            text = page.read_text().replace("https://login.example", self.latchkey)
            text = text.replace("http://127.0.0.1:8080", self.latchkey)
            text = text.replace("https://simulator.example", self.simulator)
            self.send(
                request, 200, [("Content-Type", TYPES[page.suffix]), ("Cache-Control", "no-store")], text.encode()
            )
        elif self.upstream is None:
            self.send(request, 404, [], b"")
        elif path in self.scripted:
            self.posted += [(path, body.decode())] if request.command == "POST" else []
            status, content = self.scripted[path]
            self.send(request, 200 if request.command == "OPTIONS" else status, self.sharing(request),
                      content if isinstance(content, bytes) else json.dumps(content).encode())
        elif path == "/auth/token" and request.command == "POST":
            with self.refreshing():
                self.forward(request, body)
        elif path == "/users/me" and request.command == "GET" and self.refuses():
            self.send(
                request,
                401,
                self.sharing(request),
                b'{"error":"invalid_token","error_description":"Refused by the test."}',
            )
        else:
            self.forward(request, body)

    def refuses(self):
        """Whether the call is one of those that are refused. They come at the same time."""
        with self.lock:
            is_one = self.refused > 0
            self.refused -= is_one
            return is_one

    def sharing(self, request):
        return [("Access-Control-Allow-Origin", request.headers.get("Origin") or self.url),
                ("Access-Control-Allow-Headers", "authorization, content-type"), ("Content-Type", "application/json")]

    @contextlib.contextmanager
    def refreshing(self):
        """Counts refreshes, and concurrent ones; delays them if configured."""
        with self.lock:
            self.refreshes += 1
            self.together += 1
            self.most_together = max(self.most_together, self.together)
            self.lock.notify_all()
            if self.hold_seconds:
                self.lock.wait_for(lambda: self.most_together > 1, self.hold_seconds)
        try:
            yield
        finally:
            with self.lock:
                self.together -= 1

    def forward(self, request, body):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.upstream).netloc, timeout=120)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "connection"}
        connection.request(request.command, request.path, body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        dropped = ("connection", "content-length", "transfer-encoding", "keep-alive")
        self.send(request, answer.status, [field for field in answer.getheaders() if field[0].lower() not in dropped],
                  content)
        connection.close()

    @staticmethod
    def send(request, status, fields, content):
        request.send_response_only(status)
        for name, value in fields:
            request.send_header(name, value)
        if status != 204:
            request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command != "HEAD" and status != 204:
            request.wfile.write(content)
