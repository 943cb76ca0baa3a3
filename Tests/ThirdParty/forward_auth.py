#!/usr/bin/env python3
"""Has nginx and Caddy, configured as in Config/forward-auth, ask Latchkey which user each request is from.

Many browsers at once, each of another user, call an application behind the proxy. The application must get the identity
of the browser that called, and never another one. scripts/third-party runs it.

    Tests/ThirdParty/forward_auth.py --latchkey .build/debug/latchkey --caddy .build/caddy/usr/bin/caddy
"""
import argparse
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import socketserver
import sys
import tempfile
import threading
import time
import urllib.parse

from provider_walk import HERE, Browser, check, free_port, running, submit

CONFIGURATIONS = HERE.parent.parent / "Config" / "forward-auth"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
# No identifier of Latchkey's has a point, so that a random one cannot be taken for this word.
WORD = "forged."
FORGED = {**dict.fromkeys(["X-Auth-User", "X_Auth_User", "X-Auth_User", "X_Auth-User"], "u_" + WORD),
          **dict.fromkeys([
              "X-Auth-Session", "X-Auth-Phone-Number", "X-Auth-Username", "X-Auth-Name", "X-Auth-Given-Name",
              "X-Auth-Family-Name", "X-Auth-Postal-Code", "X-Auth-User-Id", "X-Auth-Client-Id"], WORD),
          "x-auth-email": WORD + "jo@example.org", "X-Forwarded-Host": "evil.example", "X-Forwarded-Uri": "/evil",
          "X-Forwarded-Proto": "https", "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
COOKIE = "latchkey_session"


class Application(http.server.BaseHTTPRequestHandler):
    """Responds with what it got."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen = {"method": self.command, "path": self.path, "content": content.decode(),
                "fields": [[name.lower(), value] for name, value in self.headers.items()]}
        body = json.dumps(seen).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" else b"")

    do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_GET

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, *_):
        # The proxy ends the connections that it has kept.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*_)


@contextlib.contextmanager
def application():
    server = Server(("127.0.0.1", 0), Application)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def replaced(text, changes):
    """A shipped configuration with other addresses. Every replacement must match."""
    for pattern, new in changes:
        text, count = re.subn(pattern, lambda _: new, text, flags=re.M)
        if count == 0:
            raise SystemExit(f"the configuration has no {pattern}")
    return text


def nginx(folder, port, latchkey, app):
    site = replaced((CONFIGURATIONS / "nginx.conf").read_text(), [
        (r"^ *listen \[::\].*$", ""), (r"listen 443 ssl http2;", f"listen 127.0.0.1:{port};"),
        (r"^ *ssl_.*$", ""), (r"server latchkey:8080;", f"server 127.0.0.1:{latchkey};"),
        (r"server application:9000;", f"server 127.0.0.1:{app};"),
    ])
    (folder / "site.conf").write_text(site)
    folders = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; worker_processes 2; pid {folder}/pid; events {{ worker_connections 2048; }}\n"
        f"http {{ access_log off; {folders} include {folder}/site.conf; }}")
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") or sys.exit("there is no nginx")
    return [program, "-p", str(folder), "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log"], {}


def caddy(program):
    def command(folder, port, latchkey, app):
        site = replaced((CONFIGURATIONS / "Caddyfile").read_text(), [
            (r"^www\.example\.com \{", f"http://127.0.0.1:{port} {{"), (r"latchkey:8080", f"127.0.0.1:{latchkey}"),
            (r"application:9000", f"127.0.0.1:{app}"),
        ])
        (folder / "Caddyfile").write_text("{\n\tadmin off\n}\n" + site)
        # What it keeps goes below the folder.
        return [program, "run", "--config", f"{folder}/Caddyfile", "--adapter", "caddyfile"], {
            "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    return command


@contextlib.contextmanager
def servers(program, proxy):
    """An OpenID provider that lets anybody in, Latchkey, the application, and the proxy: its URL."""
    ports = [free_port() for _ in range(3)]
    provider, latchkey, port = ports
    base = f"http://127.0.0.1:{port}"
    issuer = f"http://127.0.0.1:{provider}"
    configuration = {
        "public_url": base + "/login", "allow_loopback_http": True, "api_keys": ["key-of-the-test"],
        "http": {"port": latchkey, "trusted_proxies": ["127.0.0.1"]}, "rate_limits": {"enabled": False},
        "forward_auth": {"attributes": ["email"]}, "log": {"level": "error"},
        "providers": {"mock": {"kind": "oidc", "name": "Mock", "issuer": issuer, "clients": [{
            "id": "latchkey", "secret": "secret", "scopes": ["openid", "email"],
            "redirect_uris": [base + "/login/sign-in"]}]}},
    }
    mock = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(provider), "--require-nonce",
            "true"]
    with tempfile.TemporaryDirectory() as name, application() as app:
        folder = pathlib.Path(name)
        (folder / "latchkey.yaml").write_text(json.dumps(configuration))
        command, environment = proxy(folder, port, latchkey, app)
        with running("the provider", mock, issuer + "/.well-known/openid-configuration"), \
                running("latchkey", [program, "serve", "--config", f"{folder}/latchkey.yaml"],
                        f"http://127.0.0.1:{latchkey}/readyz", name,
                        LATCHKEY_DATABASE_URL=f"sqlite:///{folder}/latchkey.db"), \
                running("the proxy", command, base + "/login/readyz", name, **environment):
            yield base


def sign_in(base, number, place):
    """A browser that asks for a page of the application, and is signed in on the way: it ends at that page."""
    def way(_, url, text):
        link = re.search(r'href="([^"]*/auth/mock/start[^"]*)"', text)
        if link:
            return urllib.parse.urljoin(url, link.group(1).replace("&amp;", "&")), None
        return submit(lambda form: form.fields.update({"sub": f"user-{number}"} if "sub" in form.fields else {}))(
            _, url, text)

    browser = Browser()
    browser.opener.addheaders = list(BROWSER.items())
    status, location, _ = browser.open(base + place)
    wanted = base + "/login/sign-in?" + urllib.parse.urlencode({"rd": base + place})
    if (status, location) != (303, wanted):
        check(False, f"a browser without a session is sent to {wanted}: {status} {location}")
    browser.follow(location, base + place, way)
    cookies = {cookie.name: cookie.value for cookie in browser.cookies}
    user = json.loads(browser.open(base + "/login/users/me")[2])
    return {"user": user["sub"], "email": f"user-{number}", "cookies": cookies, "browser": browser}


class Client:
    """A browser's connection to the proxy, which is kept."""

    def __init__(self, base, cookies):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(base).netloc, timeout=300)
        own = [f"{name}={value}" for name, value in cookies.items()]
        # An application may set more of such a name, so that the proxy removes these in place of Latchkey's.
        decoys = [f"__Host-{COOKIE}=decoy", "latchkey_decoy=1"]
        self.cookies = "; ".join(["theme=dark"] + decoys[:1] + own + decoys[1:] + ["z=1", "notlatchkey_a=b"])

    def send(self, method, path, body=None, **fields):
        """The response's status, its fields and what the application got."""
        self.connection.request(method, path, body, {"Cookie": self.cookies, **fields})
        response = self.connection.getresponse()
        text = response.read()
        return response.status, response.headers, json.loads(text) if response.status == 200 and text else None


def identity(seen, name):
    """Of all fields that an application could read as this one."""
    return [value for field, value in seen["fields"] if field.replace("_", "-") == f"x-auth-{name}"]


def walk(person, base, count, sessions, barrier, times):
    """The requests of one browser, at the same time as those of all others; returns what was wrong."""
    wrong = []
    client = Client(base, person["cookies"])
    barrier.wait()
    for turn in range(count):
        path, body = f"/page/{person['email']}/{turn}?q=%20x", f"{person['email']} {turn}"
        method = ("GET", "POST", "GET", "PUT", "GET", "DELETE", "GET", "OPTIONS")[turn % 8]
        started = time.perf_counter()
        status, _, seen = client.send(method, path, body if method in ("POST", "PUT") else None,
                                      **(FORGED if turn % 2 else {}))
        times.append(time.perf_counter() - started)
        if status != 200:
            wrong.append(f"{method} {path}: {status}")
            continue
        session = identity(seen, "session")
        known = sessions.setdefault(person["email"], session)
        if identity(seen, "user") != [person["user"]] or session != known or len(session) != 1:
            wrong.append(f"{path} came as {identity(seen, 'user')} {session}, not as {person['user']} {known}")
        if (seen["method"], seen["path"]) != (method, path) or seen["content"] not in ("", body):
            wrong.append(f"{method} {path} arrived as {seen['method']} {seen['path']}")
        if method in ("POST", "PUT") and seen["content"] != body:
            wrong.append(f"{path} lost its content")
        cookies = "; ".join(value for field, value in seen["fields"] if field == "cookie")
        if cookies != "theme=dark; z=1; notlatchkey_a=b":
            wrong.append(f"{path} came with the cookies {cookies}")
        if any(WORD in value for field, value in seen["fields"] if field.replace("_", "-").startswith("x-auth-")):
            wrong.append(f"{path} came with what the client claims")
    return wrong


def strangers(base):
    """Requests without a session, which the application never gets."""
    client = Client(base, {})
    for fields in ({}, FORGED, {"Authorization": "Bearer " + 48 * "a"}, {"Cookie": f"{COOKIE}={48 * 'a'}"},
                   {"X-API-KEY": "key-of-the-test"}):
        for method in ("GET", "POST", "OPTIONS", "HEAD"):
            status, found, seen = client.send(method, "/page", **fields)
            if status != 401 or "Bearer" not in found.get("WWW-Authenticate", "") or seen:
                check(False, f"{method} with {sorted(fields)} is refused: {status} {seen}")
    check(True, "requests without a session are refused, whatever they claim")
    status, found, _ = client.send("GET", "/page?a=b", **{**BROWSER, **FORGED})
    check(status == 303 and found["Location"] == base + "/login/sign-in?rd=" + urllib.parse.quote(
        base + "/page?a=b", safe=""), "a browser is sent to the sign-in page, and back to where it was")
    check(client.send("GET", "/login/metrics")[0] == 404, "metrics are not for it")


def ended(base, people):
    """Users who sign out, in the midst of others who stay."""
    for person in people[::2]:
        status, _, _ = person["browser"].open(
            base + "/login/sign-out", {}, {"Sec-Fetch-Site": "same-origin"})
        if status != 303:
            check(False, f"a user signs out: {status}")
    for number, person in enumerate(people):
        status, _, seen = Client(base, person["cookies"]).send("GET", "/page")
        expected = (401, None) if number % 2 == 0 else (200, [person["user"]])
        if (status, seen and identity(seen, "user")) != expected:
            check(False, f"after a sign-out the proxy knows who has a session: {status} {seen}")
    check(True, "a session that has ended lets nobody in")


def bearer(base, person):
    token = person["cookies"][COOKIE]
    status, _, seen = Client(base, {}).send("GET", "/page", Authorization="Bearer " + token)
    check(status == 200 and identity(seen, "user") == [person["user"]], "a bearer token is known, too")
    check(not [value for field, value in seen["fields"] if field == "authorization" and value],
          "and is not sent on to the application")


def test(name, program, proxy, browsers, requests):
    print(f"--- {name}", flush=True)
    with servers(program, proxy) as base:
        strangers(base)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            people = list(pool.map(lambda number: sign_in(base, number, f"/page/{number}?a=b%20c"), range(browsers)))
        check(len({person["user"] for person in people}) == browsers,
              f"{browsers} users sign in, each on the way to a page of the application, and arrive there")
        barrier, sessions, times = threading.Barrier(browsers), {}, []
        started = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(browsers) as pool:
            wrong = [fault for faults in pool.map(
                lambda person: walk(person, base, requests, sessions, barrier, times), people) for fault in faults]
        took = time.perf_counter() - started
        for fault in wrong[:5]:
            print(fault, flush=True)
        check(not wrong, f"{len(times)} concurrent requests come with the identity of their own browser")
        check(len({session[0] for session in sessions.values()}) == browsers, "each in a session of its own")
        times.sort()
        print(f"        {len(times) / took:.0f} requests a second; half of them took less than "
              f"{times[len(times) // 2] * 1000:.0f} ms", flush=True)
        bearer(base, people[0])
        ended(base, people)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--latchkey", required=True)
    options.add_argument("--caddy", help="the program; without it nginx alone is tested")
    options.add_argument("--browsers", type=int, default=200)
    options.add_argument("--requests", type=int, default=16, help="of each browser")
    given = options.parse_args()
    program = str(pathlib.Path(given.latchkey).resolve())
    test("nginx", program, nginx, given.browsers, given.requests)
    if given.caddy:
        path = str(pathlib.Path(given.caddy).resolve())
        test("Caddy", program, caddy(path), given.browsers, given.requests)


if __name__ == "__main__":
    main()
