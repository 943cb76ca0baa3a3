#!/usr/bin/env python3
"""Signs a user in, through a key rotation and refreshes, and out, here and by back-channel logout, with Glewlwyd \
(from Debian), by the configuration that docs/providers.md shows; see scripts/third-party.

    Tests/ThirdParty/glewlwyd_sign_in.py --latchkey .build/debug/latchkey
"""
import json
import pathlib
import sqlite3
import tempfile
import time
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from provider_walk import HERE, Browser, Walk, check, free_port, latchkey, parameters, running

TABLES = pathlib.Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")
COOKIE = "GLEWLWYD2_OIDC_SID"
SCOPES = ["openid", "profile", "email"]
CONFIGURATION = """
port={port}
bind_address="127.0.0.1"
external_url="http://127.0.0.1:{port}"
login_url="login.html"
api_prefix="api"
log_mode="console"
log_level="WARNING"
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
hash_algorithm="SHA512"
static_files_path="/usr/share/glewlwyd/webapp/"
static_files_mime_types=({{extension=".html" mime_type="text/html"}})
database={{type="sqlite3" path="{database}"}}
"""


class Glewlwyd:
    """The provider's own API, as its pages use it."""

    def __init__(self, site):
        self.site, self.administrator = site, Browser()
        self.call(self.administrator, "POST", "auth/", {"username": "admin", "password": "password"})

    def call(self, browser, method, path, body=None):
        """Status and text."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.site}/api/{path}", data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with browser.opener.open(request, timeout=120) as response:
                return response.read().decode()
        except urllib.error.HTTPError as error:
            return check(False, f"{method} {path}: {error.code} {error.read().decode()[:300]}")

    def openid(self):
        """The settings of the plugin for OpenID Connect, with a new key."""
        key = rsa.generate_private_key(65537, 2048)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        parameters = {
            "iss": self.site + "/api/oidc", "jwt-type": "rsa", "jwt-key-size": "256", "key": private.decode(),
            "cert": public.decode(), "access-token-duration": 3, "refresh-token-duration": 86_400, "code-duration": 60,
            "refresh-token-rolling": True, "auth-type-code-enabled": True, "auth-type-refresh-enabled": True,
            "allow-non-oidc": False, "jwks-show": True, "pkce-allowed": True, "pkce-method-plain-allowed": False,
            "subject-type": "public", "allowed-scope": SCOPES, "name-claim": "mandatory", "email-claim": "mandatory",
            "session-management-allowed": True, "back-channel-logout-allowed": True, "session-cookie-name": COOKIE,
            "session-cookie-expiration": 86_400}
        return {"module": "oidc", "name": "oidc", "display_name": "OpenID Connect", "parameters": parameters}

    def prepare(self, base):
        """Adds the plugin, the client and a user."""
        for scope in SCOPES[1:]:
            self.call(self.administrator, "POST", "scope/", {"name": scope, "password_required": False})
        self.call(self.administrator, "POST", "mod/plugin/", self.openid())
        self.call(self.administrator, "POST", "client/", {
            "client_id": "latchkey", "name": "Latchkey", "confidential": True, "enabled": True, "scope": SCOPES,
            "password": "example+secret/=", "redirect_uri": [base + "/auth/glewlwyd/callback"],
            "authorization_type": ["code", "refresh_token"], "token_endpoint_auth_method": ["client_secret_basic"],
            "post_logout_redirect_uris": [base + "/auth/glewlwyd/logged-out"],
            "backchannel_logout_uri": base + "/auth/glewlwyd/backchannel-logout",
            "backchannel_logout_session_required": "true"})
        self.call(self.administrator, "POST", "user/", {
            "username": "jo", "name": "Jo Doe", "email": "jo@example.org", "password": "password-1", "enabled": True,
            "scope": SCOPES})

    def rotate(self):
        self.call(self.administrator, "PUT", "mod/plugin/oidc", self.openid())
        self.call(self.administrator, "PUT", "mod/plugin/oidc/reset", {})

    def answer(self, browser, url, _):
        """Does what the page's scripts do, once its user has signed in or out."""
        query = parameters(url)
        if query.get("prompt") in ("end_session", "single_logout"):
            self.end(browser, query["sid"])
            return query["callback_url"], None
        self.call(browser, "POST", "auth/", {"username": "jo", "password": "password-1"})
        self.call(browser, "PUT", "auth/grant/latchkey", {"scope": " ".join(SCOPES)})
        return query["callback_url"] + "&g_continue", None

    def end(self, browser, session):
        """Ends the session of a user, and asks the clients to do the same."""
        self.call(browser, "DELETE", f"oidc/session/{session}")
        self.call(browser, "DELETE", "auth/")


def main():
    ports = {"8080": free_port(), "9400": free_port()}
    site, base = f"http://127.0.0.1:{ports['9400']}", f"http://127.0.0.1:{ports['8080']}"
    with tempfile.TemporaryDirectory() as folder:
        database, configuration = pathlib.Path(folder) / "provider.db", pathlib.Path(folder) / "glewlwyd.conf"
        with sqlite3.connect(database) as tables:
            # Its tables have post_logout_redirect_uri, and its code reads post_logout_redirect_uris.
            tables.executescript(TABLES.read_text().replace(
                '"post_logout_redirect_uri":{"multiple":false', '"post_logout_redirect_uris":{"multiple":true'))
        configuration.write_text(CONFIGURATION.format(port=ports["9400"], database=database))
        with running("the provider", ["glewlwyd", f"--config-file={configuration}"], site + "/login.html"):
            provider = Glewlwyd(site)
            provider.prepare(base)
            with latchkey((HERE / "glewlwyd.yaml").read_text(), ports):
                try_provider(provider, base)


def try_provider(provider, base):
    walk, browser = Walk(base, "glewlwyd", provider.answer), Browser()
    user = walk.sign_in(browser)
    check((user["name"], user["email"]) == ("Jo Doe", "jo@example.org"), "with the provider's attributes")
    provider.rotate()
    again = Browser()
    check(walk.sign_in(again)["user_id"] == user["user_id"], "the same user signs in after a key rotation")
    for _ in range(2):
        walk.resource(again, "userinfo")
        time.sleep(3)
    walk.sign_out(again)
    check(browser.open(f"{base}/users/me")[0] == 200, "the other browser stays signed in")

    other = Browser()
    walk.sign_in(other)
    provider.end(other, next(cookie.value for cookie in other.cookies if cookie.name == COOKIE))
    deadline = time.monotonic() + 120
    while other.open(f"{base}/users/me")[0] == 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    walk.is_signed_out(other)
    check(browser.open(f"{base}/users/me")[0] == 200, "by a logout token, and the other browser stays signed in")


if __name__ == "__main__":
    main()
