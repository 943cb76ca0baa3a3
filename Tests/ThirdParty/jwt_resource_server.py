#!/usr/bin/env python3
"""Protects a resource with Authlib and Flask (from PyPI) as a resource server that verifies session tokens alone \
(RFC 9068), by the server's metadata and its key set; see scripts/third-party.

    Tests/ThirdParty/jwt_resource_server.py --latchkey .build/debug/latchkey
"""
import argparse
import base64
import json
import pathlib
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import flask
import joserfc.jwk
import joserfc.jwt
from authlib.integrations.flask_oauth2 import ResourceProtector, current_token
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oauth2.rfc9068 import JWTBearerTokenValidator

from provider_walk import Browser, check, free_port, parameters, running, submit

AUDIENCE = "https://orders.example.org"
APP = "com.example.app://cb"
KEY = "key-of-the-test"


def get(url):
    with urllib.request.urlopen(url, timeout=120) as response:
        return json.loads(response.read())


def post(url, fields, headers=None):
    body = urllib.parse.urlencode(fields).encode()
    request = urllib.request.Request(url, body, headers or {"X-API-KEY": KEY})
    with urllib.request.urlopen(request, timeout=120) as response:
        return response.read().decode()


def sign_in(base, subject):
    """The token response that an app gets for the session_id of a sign-in by redirects."""
    browser = Browser()
    query = urllib.parse.urlencode({"client_type": "ios", "redirect_uri": APP})
    _, url, _ = browser.open(f"{base}/auth/mock/start?{query}")
    answer = submit(lambda form: form.fields.update({"sub": subject} if "sub" in form.fields else {}))
    end = browser.open(browser.follow(url, base + "/auth/", answer))[1]
    return json.loads(post(base + "/auth/session", {"session_id": parameters(end)["session_id"]}))


class Validator(JWTBearerTokenValidator):
    """Knows of Latchkey its issuer only."""

    def get_jwks(self):
        metadata = AuthorizationServerMetadata(get(self.issuer + "/.well-known/oauth-authorization-server"))
        metadata.validate()
        return joserfc.jwk.KeySet.import_key_set(get(metadata["jwks_uri"]))


def site(issuer, audience=AUDIENCE):
    application = flask.Flask(__name__)
    protected = ResourceProtector()
    protected.register_token_validator(Validator(issuer, audience))

    @application.get("/orders")
    @protected()
    def orders():
        return {"user": current_token["sub"]}

    return application.test_client()


def parts(token):
    return [base64.urlsafe_b64decode(part + "===") for part in token.split(".")]


def encoded(content):
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def walk(base):
    client, other = site(base), site(base, "https://other.example.org")

    def orders(token, of=client):
        return of.get("/orders", headers={"Authorization": f"Bearer {token}"})

    def status(token):
        request = urllib.request.Request(
            base + "/users/me", headers={"X-API-KEY": KEY, "Authorization": f"Bearer {token}"})
        try:
            return urllib.request.urlopen(request, timeout=120).status
        except urllib.error.HTTPError as error:
            return error.code

    tokens = sign_in(base, "user-1")
    token = tokens["token"]
    known = json.loads(post(base + "/auth/introspect", {"token": token}))
    answer = orders(token)
    check(answer.status_code == 200 and answer.json == {"user": known["sub"]},
          "Authlib lets the user of a session token in, by the metadata and the keys alone")
    check(tokens["expires_in"] == 600 and len(token) < 1024, "which lasts for ten minutes and is short")
    check(orders(token, other).status_code == 401, "but not where another audience is asked for")
    check(orders(tokens["refresh_token"]).status_code == 401, "and nobody with a refresh token")

    header, claims, _ = parts(token)
    key = joserfc.jwk.ECKey.generate_key("P-256", {"kid": json.loads(header)["kid"]})
    forged = {
        "with changed claims": ".".join(
            [token.split(".")[0], encoded(claims.replace(b"exp", b"exq")), token.split(".")[2]]),
        "without a signature": ".".join([encoded(b'{"alg":"none","typ":"at+jwt"}'), encoded(claims), ""]),
        "of another key under the same kid": joserfc.jwt.encode(json.loads(header), json.loads(claims), key),
        "that is an introspection": post(
            base + "/auth/introspect", {"token": token},
            {"Accept": "application/token-introspection+jwt",
             "Authorization": "Basic " + base64.b64encode(f"{AUDIENCE.replace(':', '%3A')}:{KEY}".encode()).decode()}),
    }
    for name, text in forged.items():
        check(orders(text).status_code == 401 and status(text) == 401, f"or with a token {name}")

    renewed = json.loads(post(base + "/auth/token", {
        "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}))
    check(orders(renewed["token"]).json == {"user": known["sub"]}, "and the same user after a refresh")
    post(base + "/auth/revoke", {"token": renewed["token"]})
    check(status(renewed["token"]) == 401, "After the end of the session Latchkey refuses the token at once")
    check(json.loads(post(base + "/auth/introspect", {"token": renewed["token"]})) == {"active": False},
          "and says so")
    check(orders(renewed["token"]).status_code == 200,
          "and a server that verifies tokens alone takes it until it expires, as docs/sessions.md says")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--latchkey", required=True)
    program = str(pathlib.Path(options.parse_args().latchkey).resolve())
    port, provider = free_port(), free_port()
    base, issuer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{provider}"
    configuration = {
        "public_url": base, "allow_loopback_http": True, "api_keys": [KEY], "encryption_keys": ["1f" * 32],
        "http": {"port": port}, "log": {"level": "error"},
        "providers": {"mock": {"kind": "oidc", "name": "Mock", "issuer": issuer, "clients": [{
            "id": "latchkey", "secret": "secret", "redirect_uris": [APP], "access_token": "jwt",
            "access_token_audience": [AUDIENCE, "https://carts.example.org"]}]}},
    }
    mock = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(provider), "--require-nonce",
            "true"]
    with tempfile.TemporaryDirectory() as folder, \
            running("the provider", mock, issuer + "/.well-known/openid-configuration"):
        path = pathlib.Path(folder) / "latchkey.json"
        path.write_text(json.dumps(configuration))
        path.chmod(0o600)
        with running("latchkey", [program, "serve", "--config", str(path)], base + "/readyz",
                     LATCHKEY_DATABASE_URL=f"sqlite:///{folder}/latchkey.db"):
            walk(base)


if __name__ == "__main__":
    main()
