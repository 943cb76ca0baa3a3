"""What the tests of providers from other projects share: processes, a browser without JavaScript, and a walk through \
sign-in, refresh, key rotation and sign-out at a provider that is known by configuration alone."""
import argparse
import base64
import contextlib
import html.parser
import http.cookiejar
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "docs" / "providers.md"
sys.path.insert(0, str(HERE.parent / "Browser"))

from demonstration import free_port  # noqa: E402, F401


def check(condition, what):
    print(("ok      " if condition else "FAILED  ") + what, flush=True)
    if not condition:
        raise SystemExit(1)


@contextlib.contextmanager
def running(name, command, ready, folder=None, **environment):
    """A process, after `ready` responds."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=dict(os.environ, **environment), cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output)

        def printed():
            output.seek(0)
            return output.read().decode(errors="replace")

        try:
            deadline = time.monotonic() + 300
            while True:
                try:
                    urllib.request.urlopen(ready, timeout=60).read()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit(f"{name} did not start:\n{printed()}")
                    time.sleep(0.1)
            try:
                yield process
            except SystemExit:
                print(f"--- {name}:\n{printed()[-4000:]}", flush=True)
                raise
        finally:
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def latchkey(text, ports):
    """The server with a configuration of the documentation, whose example ports are replaced by free ones; its URL."""
    options = argparse.ArgumentParser()
    options.add_argument("--latchkey", required=True)
    program = str(pathlib.Path(options.parse_args().latchkey).resolve())
    check(text in DOCUMENT.read_text(), "docs/providers.md shows this configuration")
    for example, real in ports.items():
        text = text.replace(f"127.0.0.1:{example}", f"127.0.0.1:{real}")
    base = f"http://127.0.0.1:{ports['8080']}"
    with tempfile.TemporaryDirectory() as folder:
        configuration = pathlib.Path(folder) / "latchkey.yaml"
        configuration.write_text(text)
        (pathlib.Path(folder) / "encryption-keys").write_text("1f" * 32)
        (pathlib.Path(folder) / "encryption-keys").chmod(0o600)
        with running("latchkey", [program, "serve", "--config", str(configuration)], base + "/readyz", folder,
                     LATCHKEY_HTTP_PORT=str(ports["8080"]), LATCHKEY_DATABASE_URL=f"sqlite:///{folder}/latchkey.db"):
            yield base


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the test can check each one."""

    def redirect_request(self, *_):
        return None


class Form(html.parser.HTMLParser):
    """The first form of a page: where it goes, and what it sends if nothing is changed."""

    def __init__(self, url, text):
        super().__init__()
        self.url, self.action, self.fields, self.buttons, self.is_over = url, None, {}, [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form" and self.action is None:
            self.action = urllib.parse.urljoin(self.url, attributes.get("action") or self.url)
        if self.action is None or self.is_over or not attributes.get("name"):
            return
        kind = attributes.get("type", "text")
        if tag == "button" or kind == "submit":
            self.buttons.append((attributes["name"], attributes.get("value", "")))
        elif tag == "input" and (kind not in ("checkbox", "radio") or "checked" in attributes):
            self.fields[attributes["name"]] = attributes.get("value", "")

    def handle_endtag(self, tag):
        self.is_over = self.is_over or tag == "form" and self.action is not None


class Browser:
    def __init__(self):
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(Stay(), urllib.request.HTTPCookieProcessor(self.cookies))

    def open(self, url, form=None, headers=None):
        """Status, location (absolute) and text."""
        data = None if form is None else urllib.parse.urlencode(form).encode()
        try:
            response = self.opener.open(urllib.request.Request(url, data=data, headers=headers or {}), timeout=120)
        except urllib.error.HTTPError as error:
            response = error
        location = response.headers.get("Location", "")
        return response.status, location and urllib.parse.urljoin(url, location), response.read().decode()

    def follow(self, url, until, answer):
        """Goes on from an address, through redirects and pages, until an address begins with `until`.

        - answer: Does on a page what its user does. Gets the browser, the page's address and its text; returns the next
          address, and what is sent there, or None."""
        form = None
        for _ in range(20):
            if form is None and url.startswith(until):
                return url
            status, location, text = self.open(url, form)
            if location:
                url, form = location, None
                continue
            if status != 200:
                check(False, f"{url.split('?')[0]} responds with a page: {status} {plain(text)[:200]}")
            url, form = answer(self, url, text)
        check(False, f"the browser reaches {until}")


def submit(fill):
    """The answer to pages with a form.

    - fill: Completes the form's fields, in place."""
    def answer(_, url, text):
        form = Form(url, text)
        if form.action is None:
            check(False, f"{url.split('?')[0]} responds with a form: {plain(text)[:200]}")
        fill(form)
        return form.action, form.fields
    return answer


def plain(text):
    return re.sub(r"\s+", " ", re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.S)).strip()


def parameters(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


def claims(token):
    """Of an ID token in compact form, unverified."""
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Walk:
    """A user's way through one provider.

    - answer: Does what the user does on the provider's pages, as in Browser.follow.
    - start: Further parameters of a start, such as prompt."""

    def __init__(self, base, provider, answer, **start):
        self.base, self.provider, self.answer, self.start = base, provider, answer, start

    def sign_in(self, browser):
        """From the frontend's link to its redirect URI; the user."""
        query = urllib.parse.urlencode({"client_type": "web", "redirect_uri": self.base + "/", **self.start})
        _, url, text = browser.open(f"{self.base}/auth/{self.provider}/start?{query}")
        check(url and not url.startswith(self.base), "the browser is sent to the provider " + text[:300])
        end = browser.open(browser.follow(url, self.base + "/auth/", self.answer))[1]
        check(parameters(end).get("status") == "success", f"the user is signed in: {end}")
        return json.loads(browser.open(f"{self.base}/users/me")[2])

    def resource(self, browser, name):
        status, _, text = browser.open(f"{self.base}/auth/{self.provider}/resources/{name}")
        check(status == 200, f"the provider's {name} is fetched ({status} {text[:300]})")
        return json.loads(text)

    def sign_out(self, browser):
        """Here and at the provider, which gets the ID token that it issued, and sends the browser back."""
        _, url, text = browser.open(
            f"{self.base}/auth/{self.provider}/logout", {"post_logout_redirect_uri": self.base + "/"},
            {"Origin": self.base})
        check(url and not url.startswith(self.base), "the browser is sent to the provider to sign out " + text[:300])
        check(claims(parameters(url).get("id_token_hint", ".e30."))["sub"], "with the user's ID token")
        back = browser.follow(url, self.base + "/auth/", self.answer)
        check(parameters(browser.open(back)[1]).get("action") == "logout", "the browser comes back to the frontend")
        self.is_signed_out(browser)

    def is_signed_out(self, browser):
        check(browser.open(f"{self.base}/users/me")[0] == 401, "the user is signed out")
