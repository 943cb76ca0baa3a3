#!/usr/bin/env python3
"""Sends security events, which joserfc (from PyPI) has signed, by push and by poll; see scripts/third-party.

    Tests/ThirdParty/security_events.py --latchkey .build/debug/latchkey
"""
import argparse
import http.server
import json
import pathlib
import secrets
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from joserfc import jwk, jwt

from provider_walk import check, free_port, running

CONFIGURATION = """
allow_loopback_http: true
api_keys: [example-key]
providers:
  pushing:
    kind: oidc
    issuer: {site}/pushing
    client_id: app
    client_secret: example-secret
    redirect_uris: [https://app.example/cb]
    events: {{transmitter: ssf, authorization: Bearer of-the-stream}}
  polled:
    kind: oidc
    issuer: {site}/polled
    client_id: app
    client_secret: example-secret
    redirect_uris: [https://app.example/cb]
    events:
      transmitter: ssf
      poll_endpoint: {site}/polled/poll
      poll_authorization: Bearer of-the-poll
      poll_interval: 5s
"""
REVOKED = "https://schemas.openid.net/secevent/caep/event-type/session-revoked"


class Provider(http.server.BaseHTTPRequestHandler):
    """Two OpenID providers, by the first part of the path. A code is the subject and the nonce."""
    key = jwk.ECKey.generate_key("P-256", {"kid": "key-1", "use": "sig", "alg": "ES256"})
    waiting = {}
    polls = []

    def do_GET(self):
        issuer, name = self.site + "/" + self.path.split("/")[1], self.path.split("/")[-1]
        if name == "openid-configuration":
            self.answer({
                "issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
                "jwks_uri": issuer + "/keys", "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"]})
        elif name == "keys":
            self.answer({"keys": [self.key.as_dict(private=False)]})
        else:
            self.answer({}, 404)

    def do_POST(self):
        issuer = self.site + "/" + self.path.split("/")[1]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/token"):
            subject, nonce = dict(urllib.parse.parse_qsl(body.decode()))["code"].split(".")
            now = int(time.time())
            claims = {"iss": issuer, "sub": subject, "aud": "app", "iat": now, "exp": now + 300, "nonce": nonce}
            self.answer({"access_token": "a", "token_type": "Bearer", "id_token": self.signed(claims, "JWT")})
        elif self.headers["Authorization"] == "Bearer of-the-poll":
            asked = json.loads(body)
            self.polls.append(asked)
            for name in asked["ack"] + list(asked["setErrs"]):
                self.waiting.pop(name, None)
            self.answer({"sets": self.waiting, "moreAvailable": False})
        else:
            self.answer({}, 401)

    @classmethod
    def signed(cls, claims, typ, key=None):
        return jwt.encode({"alg": "ES256", "kid": "key-1", "typ": typ}, claims, key or cls.key)

    def answer(self, content, status=200):
        content = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def send(url, body=None, **headers):
    """The status and the content of a response."""
    request = urllib.request.Request(url, body, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def event(issuer, subject, **changes):
    claims = {
        "iss": issuer, "aud": ["app", "another"], "iat": int(time.time()), "jti": secrets.token_hex(8),
        "sub_id": {"format": "iss_sub", "iss": issuer, "sub": subject},
        "events": {REVOKED: {"event_timestamp": int(time.time())}}}
    claims.update(changes)
    return claims


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--latchkey", required=True)
    program = str(pathlib.Path(options.parse_args().latchkey).resolve())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    Provider.site = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{free_port()}"

    def session(provider, subject):
        nonce, verifier = secrets.token_hex(16), secrets.token_hex(32)
        fields = {
            "code": f"{subject}.{nonce}", "nonce": nonce, "code_verifier": verifier, "client_id": "app",
            "redirect_uri": "https://app.example/cb"}
        status, content = send(
            f"{base}/auth/{provider}/sign-in", json.dumps(fields).encode(), X_API_KEY="example-key",
            Content_Type="application/json")
        check(status == 200, f"{subject} signs in at {provider}")
        return json.loads(content)["token"]

    def is_live(token):
        return send(base + "/users/me", X_API_KEY="example-key", Authorization="Bearer " + token)[0] == 200

    def push(token, authorization="Bearer of-the-stream"):
        status, content = send(
            base + "/events/pushing", token.encode(), Content_Type="application/secevent+jwt",
            Authorization=authorization)
        return status, json.loads(content).get("err") if content else None

    with tempfile.TemporaryDirectory() as folder:
        configuration = pathlib.Path(folder) / "latchkey.yaml"
        configuration.write_text(CONFIGURATION.format(site=Provider.site))
        with running(
                "latchkey", [program, "serve", "--config", str(configuration)], base + "/readyz", folder,
                LATCHKEY_HTTP_PORT=base.rsplit(":", 1)[1], LATCHKEY_DATABASE_URL=f"sqlite:///{folder}/latchkey.db"):
            issuer, jane, ravi = Provider.site + "/pushing", session("pushing", "jane"), session("pushing", "ravi")
            good = Provider.signed(event(issuer, "jane"), "secevent+jwt")
            stranger = jwk.ECKey.generate_key("P-256", {"kid": "key-1"})
            for what, token, code in [
                ("another audience", Provider.signed(event(issuer, "jane", aud="another"), "secevent+jwt"),
                 "invalid_audience"),
                ("another issuer", Provider.signed(event(Provider.site, "jane"), "secevent+jwt"), "invalid_issuer"),
                ("an exp", Provider.signed(event(issuer, "jane", exp=int(time.time()) + 60), "secevent+jwt"),
                 "invalid_request"),
                ("the type of ID tokens", Provider.signed(event(issuer, "jane"), "JWT"), "invalid_request"),
                ("a foreign key", Provider.signed(event(issuer, "jane"), "secevent+jwt", stranger), "invalid_key"),
            ]:
                check(push(token) == (400, code), f"a token with {what} is refused")
            check(push(good, "Bearer of-another") == (400, "authentication_failed"), "and a stream that is not known")
            check(is_live(jane), "which ends nothing")
            check(push(good) == (202, None), "an event is received")
            check(not is_live(jane) and is_live(ravi), "and ends the sessions of its user alone")
            again = session("pushing", "jane")
            check(push(good) == (202, None) and is_live(again), "once")

            issuer, kim = Provider.site + "/polled", session("polled", "kim")
            Provider.waiting.update({
                "good": Provider.signed(event(issuer, "kim", jti="good"), "secevent+jwt"),
                "bad": Provider.signed(event(issuer, "kim", jti="bad", nonce="n"), "secevent+jwt")})
            deadline = time.monotonic() + 300
            while Provider.waiting and time.monotonic() < deadline:
                time.sleep(0.1)
            check(not Provider.waiting, "events are polled")
            check(any(poll["ack"] == ["good"] and "bad" in poll["setErrs"] for poll in Provider.polls),
                  "one is acknowledged, and one is refused")
            check(not is_live(kim), "and the user's sessions end")


if __name__ == "__main__":
    main()
