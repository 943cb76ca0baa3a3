#!/usr/bin/env python3
"""Signs users in with an OpenID provider from another project (oidc-provider-mock, from PyPI), \
with the configuration that
docs/providers.md shows; see scripts/third-party.

    Tests/ThirdParty/sign_in.py --latchkey .build/debug/latchkey
"""
import argparse
import base64
import contextlib
import http.cookiejar
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
USER = {"sub": "user-1", "name": "Jo Doe", "email": "jo@example.org"}


def check(condition, what):
    print(("ok      " if condition else "FAILED  ") + what, flush=True)
    if not condition:
        raise SystemExit(1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(name, command, ready, **environment):
    """A process, after `ready` responds."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    urllib.request.urlopen(ready, timeout=5).read()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        output.seek(0)
                        raise SystemExit(f"{name} did not start:\n{output.read().decode(errors='replace')}")
                    time.sleep(0.1)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the test can check each one."""

    def redirect_request(self, *_):
        return None


class Browser:
    def __init__(self):
        self.opener = urllib.request.build_opener(
            Stay(), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def open(self, url, form=None, headers=None):
        """Status, location and text."""
        data = None if form is None else urllib.parse.urlencode(form).encode()
        try:
            response = self.opener.open(urllib.request.Request(url, data=data, headers=headers or {}), timeout=30)
        except urllib.error.HTTPError as error:
            response = error
        return response.status, response.headers.get("Location", ""), response.read().decode()


def parameters(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


def sign_in(latchkey, browser, form):
    """From the frontend's link to its redirect URI: the outcome's parameters."""
    query = urllib.parse.urlencode({"client_type": "web", "redirect_uri": latchkey + "/"})
    _, provider, text = browser.open(f"{latchkey}/auth/mock/start?{query}")
    check(provider.split("?")[0].endswith("/oauth2/authorize"), "the browser is sent to the provider " + text[:200])
    status, _, _ = browser.open(provider)
    check(status == 200, "which shows its page")
    _, callback, _ = browser.open(provider, form)
    return browser.open(callback)[1]


def claims(token):
    """Of an ID token in compact form, unverified."""
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def sign_out(latchkey, browser):
    """Here and at the provider, which gets the ID token that it issued, and sends the browser back."""
    _, provider, _ = browser.open(
        latchkey + "/auth/mock/logout", {"post_logout_redirect_uri": latchkey + "/"}, {"Origin": latchkey})
    check(provider.split("?")[0].endswith("/oauth2/end_session"), f"the browser is sent to the provider: {provider}")
    sent = parameters(provider)
    hint = claims(sent.get("id_token_hint", ".e30."))
    audience = hint.get("aud")
    check(hint.get("sub") == USER["sub"] and audience in (sent["client_id"], [sent["client_id"]]),
          "with the user's ID token")
    status, _, _ = browser.open(provider)
    check(status == 200, "which asks the user")
    back = sent["post_logout_redirect_uri"] + "?" + urllib.parse.urlencode({"state": sent["state"]})
    _, returned, _ = browser.open(provider.split("?")[0] + "/confirm", {"redirect_uri": back})
    check(returned == back, "and sends the browser back")
    check(parameters(browser.open(returned)[1]).get("action") == "logout", "to the frontend")
    check(browser.open(f"{latchkey}/users/me")[0] == 401, "the user is signed out")


def walk(latchkey):
    browser = Browser()
    listed = json.loads(browser.open(f"{latchkey}/auth/providers")[2])["providers"]
    check([(entry["id"], entry["kind"]) for entry in listed] == [("mock", "oidc")], "the provider is listed")
    end = sign_in(latchkey, browser, {"sub": USER["sub"]})
    check(parameters(end).get("status") == "success", f"the user is signed in: {end}")
    me = json.loads(browser.open(f"{latchkey}/users/me")[2])
    check((me["name"], me["email"]) == (USER["name"], USER["email"]), "with the provider's attributes")

    again = Browser()
    sign_in(latchkey, again, {"sub": USER["sub"]})
    check(json.loads(again.open(f"{latchkey}/users/me")[2])["user_id"] == me["user_id"], "the same user signs in again")
    other = Browser()
    sign_in(latchkey, other, {"sub": "user-2"})
    check(json.loads(other.open(f"{latchkey}/users/me")[2])["user_id"] != me["user_id"], "another user gets another id")
    sign_out(latchkey, browser)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--latchkey", required=True)
    latchkey = str(pathlib.Path(options.parse_args().latchkey).resolve())
    text = (HERE / "latchkey.yaml").read_text()
    shown = (HERE.parent.parent / "docs" / "providers.md").read_text()
    check(text in shown, "docs/providers.md shows this configuration")

    # Replaces the example's ports with free ones.
    ports = {"8080": str(free_port()), "9400": str(free_port())}
    for example, real in ports.items():
        text = text.replace("127.0.0.1:" + example, "127.0.0.1:" + real)
    with tempfile.TemporaryDirectory() as folder:
        configuration = pathlib.Path(folder) / "latchkey.yaml"
        configuration.write_text(text)
        provider = [
            sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", ports["9400"], "--require-nonce",
            "true", "--user-claims", json.dumps(USER)]
        serve = [latchkey, "serve", "--config", str(configuration)]
        base = f"http://127.0.0.1:{ports['8080']}"
        with running("the provider", provider, f"http://127.0.0.1:{ports['9400']}/.well-known/openid-configuration"), \
                running("latchkey", serve, base + "/readyz", LATCHKEY_HTTP_PORT=ports["8080"],
                        LATCHKEY_DATABASE_URL=f"sqlite:///{folder}/latchkey.db"):
            walk(base)


if __name__ == "__main__":
    main()
