#!/usr/bin/env python3
"""Tests Public/latchkey.js in a real browser, in a page of Latchkey's own origin and of another one; see
scripts/browser.

Tests/Browser/clients.py --latchkey .build/debug/latchkey
"""
import argparse
import contextlib
import pathlib
import re
import shutil

from demonstration import demonstration, free_port
from frontend import Origin
from webdriver import Browser


class Stage:
    """A demonstration and its frontend.

    own: the origin of the demonstration's proxy, which also serves the frontend.
    other: another origin with the frontend.
    """

    def __init__(self, own, other, browser):
        self.own, self.other, self.browser = own, other, browser

    def state(self, text):
        self.browser.wait(f"“{text}”", lambda: text in self.browser.text("#state"))

    def carrier(self, approves=True):
        self.browser.find("input[name=mccmnc]")
        self.browser.click("button[type=submit]")
        self.browser.find("input[name=user]")
        self.browser.click("button[type=submit]:not([formaction])" if approves else "button[formaction$=deny]")

    def sign_in(self, page):
        self.browser.go(page.url + "/")
        self.browser.click("#sign-in")
        self.carrier()
        self.state("user 1, 1 identity")
        # Ends the sessions of other steps.
        assert "error" not in self.browser.ask("latchkey.fetch('/users/me/sessions', { method: 'DELETE' })")

    # Steps for both origins.

    def redirect(self, page):
        self.browser.go(page.url + "/")
        self.state("There is no session" if page is self.other else "API key")
        self.browser.click("#sign-in")
        self.carrier()
        self.state("user 1, 1 identity")
        assert self.browser.url == page.url + "/", f"the outcome is still in the address: {self.browser.url}"
        kept = self.browser.run("return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
        assert "token" not in kept and "sign-in" not in kept, kept
        if page is self.own:
            cookies = self.browser.cookies()
            assert all(cookies[name]["httpOnly"] for name in ("latchkey_session", "latchkey_refresh")), cookies
            self.browser.go(page.url + "/")
            self.state("user 1, 1 identity")

    def failure(self, page):
        self.browser.go(page.url + "/")
        self.browser.click("#sign-in")
        self.carrier(approves=False)
        self.state("access_denied")
        assert self.browser.url == page.url + "/", self.browser.url

    def foreign_outcome(self, page):
        """An outcome in a link is ignored, because no tab requested it."""
        for query in (
            "action=login&status=success&session_id=x&tracking_id=y",
            "action=login&status=failure&message=Pay%20me",
            "action=register&status=partial&state_key=x&identifier=a@b.example",
        ):
            self.browser.go(page.url + "/?keep=1&" + query)
            self.state("There is no session" if page is self.other else "API key")
            assert self.browser.url == page.url + "/?keep=1", self.browser.url

    def popup(self, page):
        self.browser.go(page.url + "/")
        self.state("There is no session" if page is self.other else "API key")
        opener = self.browser.windows[0]
        self.browser.click("#popup")
        self.browser.wait("the popup", lambda: len(self.browser.windows) == 2)
        # Messages of other sources: this page and another frame of it.
        self.browser.run(
            "const word = { source: 'latchkey', action: 'login', status: 'failure', error: 'forged' };"
            "if (arguments[0]) postMessage(word, '*');"
            "const frame = document.body.appendChild(document.createElement('iframe'));"
            "frame.contentWindow.eval(`parent.postMessage(${JSON.stringify(word)}, '*')`);", page is self.other)
        self.browser.switch(next(window for window in self.browser.windows if window != opener))
        self.carrier()
        self.browser.wait("the popup's end", lambda: len(self.browser.windows) == 1)
        self.browser.switch(opener)
        self.state("user 1, 1 identity")

    def no_popup(self, page):
        self.browser.go(page.url + "/")
        self.browser.find("#popup")
        opener = self.browser.windows[0]
        self.browser.run("window.open = ((open) => () => { window.open = open; return null; })(window.open);")
        self.browser.click("#popup")
        self.state("popup_blocked")
        self.browser.click("#popup")
        self.browser.wait("the popup", lambda: len(self.browser.windows) == 2)
        self.browser.switch(next(window for window in self.browser.windows if window != opener))
        self.browser.find("input[name=mccmnc]")
        self.browser.call("DELETE", "/window")
        self.browser.switch(opener)
        self.state("popup_closed")

    def sign_out(self, page):
        self.sign_in(page)
        token = self.browser.ask("latchkey.sessions().then((list) => list.length)")
        assert token == {"value": 1}, token
        self.browser.click("#sign-out")
        self.state("signed out")
        assert self.browser.ask("latchkey.me()")["error"] in ("invalid_token", "invalid_api_key")
        assert not {"latchkey_session", "latchkey_refresh"} & set(self.browser.cookies())
        assert self.browser.ask("latchkey.signOut()") in ({}, {"value": None})

    def refresh(self, page):
        """After several calls with a refused token, the client refreshes once and repeats the calls."""
        self.sign_in(page)
        # Without locks, which would hide the behaviour within one tab.
        self.browser.run("Object.defineProperty(navigator, 'locks', { value: undefined });")
        self.own.refreshes, self.own.refused = 0, 3
        asked = self.browser.ask("Promise.all([1, 2, 3].map(() => latchkey.me())).then((all) => all[2].user_id)")
        assert asked == {"value": 1}, asked
        assert self.own.refreshes == 1, self.own.refreshes
        assert self.browser.ask("latchkey.sessions().then((list) => list.length)") == {"value": 1}

    def other_places(self, page):
        self.sign_in(page)
        for place in ("https://evil.example/users/me", self.own.url.replace("127.0.0.1", "localhost") + "/users/me"):
            asked = self.browser.ask(f"latchkey.fetch({place!r})")
            assert asked == {"error": "untrusted_origin"}, asked

    # Steps for Latchkey's own origin.

    def tabs(self, with_locks):
        """Two tabs with an expired session token refresh at the same moment: both keep the same session."""
        self.sign_in(self.own)
        windows = [self.browser.windows[0], self.browser.open(self.own.url + "/")]
        self.state("user 1, 1 identity")
        self.browser.forget_cookie("latchkey_session")
        self.own.refreshes = self.own.most_together = 0
        self.own.holds_refreshes = True
        try:
            for window in windows:
                self.browser.switch(window)
                if not with_locks:
                    self.browser.run("Object.defineProperty(navigator, 'locks', { value: undefined });")
                self.browser.run("window.asked = latchkey.me().then((user) => user.user_id);")
            answers = []
            for window in windows:
                self.browser.switch(window)
                answers.append(self.browser.ask("asked"))
        finally:
            self.own.holds_refreshes = False
        assert answers == [{"value": 1}] * 2, answers
        assert self.own.most_together == (1 if with_locks else 2), self.own.most_together
        assert self.browser.ask("latchkey.sessions().then((list) => list.length)") == {"value": 1}
        self.browser.call("DELETE", "/window")
        self.browser.switch(windows[0])
        assert self.browser.ask("latchkey.me().then((user) => user.user_id)") == {"value": 1}

    def over(self):
        """After a session ended elsewhere, the page is notified and stops."""
        self.sign_in(self.own)
        ended = "latchkey.sessions().then((list) => Promise.all(list.map(({ id }) => latchkey.revokeSession(id))))"
        assert "error" not in self.browser.ask(ended)
        told = self.browser.ask(
            "(async () => { let told = 0; const page = configure({ onSignedOut: () => told++ });"
            " const error = await page.me().catch((error) => error);"
            " return [told, error.error, error.status, error.request_id !== undefined]; })()")
        assert told == {"value": [1, "invalid_grant", 401, True]}, told

    # Steps for another origin.

    def stored(self):
        """Tokens in a storage outlive the page, and tabs that share it refresh one after another."""
        self.sign_in(self.other)
        client = "configure({ baseURL: %r, storage: localStorage })" % self.own.url
        opener = self.browser.windows[0]
        self.browser.run(f"window.kept = {client}; document.querySelector('#popup').onclick ="
                         " () => { window.asked = kept.signInWithPopup(); };")
        self.browser.click("#popup")
        self.browser.wait("the popup", lambda: len(self.browser.windows) == 2)
        self.browser.switch(next(window for window in self.browser.windows if window != opener))
        self.carrier()
        self.browser.wait("the popup's end", lambda: len(self.browser.windows) == 1)
        self.browser.switch(opener)
        assert self.browser.ask("asked.then(({ status }) => status)") == {"value": "success"}
        windows = [opener, self.browser.open(self.other.url + "/")]
        expired = ("localStorage.setItem('latchkey.tokens', JSON.stringify("
                   "{ ...JSON.parse(localStorage.getItem('latchkey.tokens')), expiresAt: 0 }))")
        self.browser.run(expired)
        self.own.refreshes = self.own.most_together = 0
        self.own.holds_refreshes = True
        try:
            for window in windows:
                self.browser.switch(window)
                self.browser.run(f"window.kept = {client}; window.asked = kept.me().then((user) => user.user_id);")
            answers = []
            for window in windows:
                self.browser.switch(window)
                answers.append(self.browser.ask("asked"))
        finally:
            self.own.holds_refreshes = False
        assert answers == [{"value": 1}] * 2, answers
        # A tab may see the other's tokens late; then the server returns the same tokens again.
        assert self.own.most_together == 1 and self.own.refreshes <= 2, (self.own.most_together, self.own.refreshes)
        for window in windows:
            self.browser.switch(window)
            assert self.browser.ask("kept.me().then((user) => user.user_id)") == {"value": 1}
        assert self.browser.ask("kept.signOut()") in ({}, {"value": None})
        assert self.browser.run("return localStorage.getItem('latchkey.tokens')") is None
        self.browser.call("DELETE", "/window")
        self.browser.switch(opener)

    def registration(self, page):
        self.browser.go(page.url + "/")
        self.browser.click("#sign-in")
        self.carrier()
        self.state("1 identity")
        assert self.browser.ask("latchkey.me().then((user) => user.name)") == {"value": "Jo"}
        assert self.browser.url == page.url + "/", self.browser.url
        assert "error" not in self.browser.ask("latchkey.fetch('/users/me', { method: 'DELETE' })")


def check_types():
    """latchkey.d.ts declares exactly the methods of latchkey.js."""
    public = pathlib.Path(__file__).parents[2] / "Public"
    script, types = (public / "latchkey.js").read_text(), (public / "latchkey.d.ts").read_text()
    has = set(re.findall(r"^  (?:async )?([a-z]\w*)\(.*\{$", script, re.M))
    declares = set(re.findall(r"^  ([a-z]\w*)\(.*;$", types, re.M))
    assert has == declares, has ^ declares


def check_document():
    """docs/clients.md shows exactly the JavaScript that runs here."""
    here = pathlib.Path(__file__).parent
    document = (here.parents[1] / "docs/clients.md").read_text()
    snippets = re.findall(r"// snippet: (\S+)\n(.*?)\n// end\n", (here / "frontend/frontend.js").read_text(), re.S)
    for name, code in snippets:
        assert f"<!-- snippet: {name} -->\n```js\n{code}\n```\n" in document, f"docs/clients.md: {name}"
    assert document.count("```js\n") == len(snippets) > 0


@contextlib.contextmanager
def stage(latchkey, driver, **environment):
    with Origin().serving() as own, Origin().serving() as other:
        environment.update(
            LATCHKEY_PUBLIC_URL=own.url, LATCHKEY_ALLOWED_ORIGINS=other.url, LATCHKEY_ALLOW_LOOPBACK_HTTP="true")
        with demonstration(latchkey, **environment) as (base, _):
            own.latchkey = other.latchkey = own.url
            own.upstream = base

            @contextlib.contextmanager
            def opened():
                with Browser(driver, free_port()) as browser:
                    yield Stage(own, other, browser)

            yield opened


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--latchkey", required=True)
    parser.add_argument("--only", default="", help="run only the steps with this in their name")
    options = parser.parse_args()
    check_types()
    check_document()
    driver = shutil.which("chromedriver")
    if not driver:
        raise SystemExit("browser: chromedriver is missing; run scripts/setup --browser")

    def walk(opened, name, step):
        if options.only not in name:
            return
        with opened() as stage:
            step(stage)
        print(f"browser: latchkey.js: {name}: ok", flush=True)

    with stage(options.latchkey, driver) as opened:
        for kind in ("own", "other"):
            for name in ("redirect", "failure", "foreign_outcome", "popup", "no_popup", "sign_out", "refresh",
                         "other_places"):
                walk(opened, f"{kind} origin: {name}", lambda on: getattr(on, name)(getattr(on, kind)))
        walk(opened, "two tabs", lambda on: on.tabs(with_locks=True))
        walk(opened, "two tabs without locks", lambda on: on.tabs(with_locks=False))
        walk(opened, "a session that is over", lambda on: on.over())
        walk(opened, "tokens in a storage", lambda on: on.stored())
    with stage(options.latchkey, driver, LATCHKEY_REGISTRATION="required") as opened:
        for kind in ("own", "other"):
            walk(opened, f"{kind} origin: registration", lambda on: on.registration(getattr(on, kind)))


main()
