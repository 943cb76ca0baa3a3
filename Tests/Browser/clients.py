#!/usr/bin/env python3
"""Tests Public/latchkey.js in a real browser, in a page of Latchkey's own origin and of another one; see
scripts/browser.

Tests/Browser/clients.py --latchkey-dev .build/debug/latchkey-dev
"""
import argparse
import contextlib
import json
import pathlib
import re
import shutil
import urllib.parse
import urllib.request

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

    def first_page(self):
        """The whole page of docs/web-frontends.md, on an origin of its own."""
        self.other.index = "first.html"
        try:
            self.browser.go(self.other.url + "/")
            self.browser.click("#sign-in")
            self.carrier()
            self.browser.wait("the name", lambda: self.browser.text("#user") == "Signed in as Jane Doe")
        finally:
            self.other.index = "index.html"

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

    def on_phone(self, page, device, expects=None, path="/sign-in"):
        """A phone that is connected so. Cookies are of the host: this one is for the simulated operators.

        expects: what the page shows at first; by default that there is no session.
        """
        self.browser.go(page.url + path)
        self.state(expects or ("There is no session" if page is self.other else "API key"))
        self.browser.run("document.cookie = 'simulated_device=' + arguments[0] + '; Path=/';", device)

    def number(self, page):
        """One tap signs in over the mobile network, and no page is shown."""
        self.on_phone(page, "cellular:northwind:jane")
        self.browser.click("#number")
        self.state(", +12025550123")
        assert self.browser.url == page.url + "/sign-in", self.browser.url
        kept = self.browser.run("return JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
        assert "token" not in kept and "sign-in" not in kept, kept

    def number_by_sim(self, page):
        """A phone that its network does not recognise is signed in with an operator token."""
        self.on_phone(page, "wifi")
        self.browser.click("#number")
        self.state(", +12025550187")
        if page is self.own:
            cookies = self.browser.cookies()
            assert all(cookies[name]["httpOnly"] for name in ("latchkey_session", "latchkey_refresh")), cookies

    def number_falls_back(self, page):
        self.on_phone(page, "wifi")
        self.browser.run("sessionStorage.setItem('sim', 'none');")
        self.browser.click("#number")
        self.state("another way, because of not_on_mobile_network")
        assert self.browser.url == page.url + "/sign-in", self.browser.url
        if page is self.own:
            # A network that no operator serves: the browser stays in the page.
            asked = self.browser.ask("latchkey.signInWithNumber({ mccmnc: '311480', appState: 7 })"
                                     ".then(({ status, reason, next, providers, mccmnc, error, appState }) =>"
                                     " [status, reason, next, providers, mccmnc, error.status, appState])")
            providers = ["acme", "google", "meetings", "zenkey"]
            assert asked == {"value": ["fallback", "operator_unknown", "other", providers, "311480", 0, 7]}, asked
            # The client id is that of the provider of configure(), and not of one that the server names.
            asked = self.browser.ask("configure({ provider: 'zenkey', clientID: 'demo-app' }).signInWithNumber("
                                     "{ mccmnc: '310010', platform: 'android',"
                                     f" operatorToken: async () => '{self.token('jane')}' }})"
                                     ".then(({ status }) => latchkey.signOut().then(() => status))")
            assert asked == {"value": "success"}, asked
            # An operator of that name.
            asked = self.browser.ask("latchkey.signInWithNumber({ operator: 'none' })"
                                     ".then(({ reason, operator, error }) => [reason, operator, error.status])")
            assert asked == {"value": ["operator_unknown", "none", 400]}, asked
            assert "sign-in" not in self.browser.run("return JSON.stringify({ ...sessionStorage })")
        # A fault of the operator leads to another way, too.
        self.on_phone(page, "cellular:northwind:jane")
        with self.fault("authorization-server-error"):
            self.browser.click("#number")
            self.state("another way, because of carrier_error")
        # A token works once, and leads to no second attempt. What is no fallback is thrown.
        self.browser.run("sessionStorage.clear();")
        asked = self.browser.ask("(async () => { const token = await operatorToken({ mccmnc: '310010' });"
                                 " const at = { operator: 'northwind' };"
                                 " const { status } = await latchkey.signInWithOperatorToken(token, at);"
                                 " const again = await latchkey.signInWithOperatorToken(token, at);"
                                 " return [status, again.status, again.reason, again.next, again.operator]; })()")
        assert asked == {"value": ["success", "fallback", "invalid_grant", "other", "northwind"]}, asked
        assert self.browser.ask("latchkey.signInWithOperatorToken('')") == {"error": "invalid_request"}
        # The operator does not recognise the phone by the token: that is no reason for another token.
        with self.fault("operator-number-not-network-authenticated"):
            asked = self.browser.ask("(async () => { const token = await operatorToken({ mccmnc: '310010' });"
                                     " const at = { operator: 'northwind' };"
                                     " const { reason, next } = await latchkey.signInWithOperatorToken(token, at);"
                                     " return [reason, next]; })()")
        assert asked == {"value": ["not_on_mobile_network", "other"]}, asked

    def verify(self, expected):
        self.browser.wait("verify.js", lambda: self.browser.run("return 'keeping' in window;"))
        self.browser.click("#verify")
        self.browser.wait(f"“{expected}”", lambda: expected in self.browser.text("#verification"))

    def verification(self, page):
        """A signed-in user's number is verified over the mobile network, and over Wi-Fi by the SIM."""
        self.on_phone(page, "cellular:northwind:jane")
        if page is self.other:
            # The page's other client keeps no tokens, so the session would end when the browser leaves.
            asked = self.browser.ask("(async () => { const token = await operatorToken({ mccmnc: '310010' });"
                                     " await latchkey.signInWithOperatorToken(token, { operator: 'northwind' });"
                                     " return latchkey.verifyPhoneNumber({ operator: 'northwind' }); })()")
            assert asked == {"error": "storage_missing"}, asked
        self.browser.wait("verify.js", lambda: self.browser.run("return 'keeping' in window;"))
        signed_in = self.browser.ask("(async () => keeping.signInWithOperatorToken("
                                     "await operatorToken({ mccmnc: '310010' }), { operator: 'northwind' })"
                                     ".then(({ status }) => status))()")
        assert signed_in == {"value": "success"}, signed_in
        assert self.browser.ask("keeping.updateMe({ phone_number: null }).then(() => 1)") == {"value": 1}
        # What another tab or a link brings is not confirmed.
        for query in ("status=pending&confirmation=y", "status=failure&error=not_found"):
            self.browser.go(page.url + "/sign-in?keep=1&action=verify_phone&verification_id=x&" + query)
            self.browser.wait("a clean address", lambda: self.browser.url == page.url + "/sign-in?keep=1")
            assert self.browser.text("#verification") == "", self.browser.text("#verification")
        self.on_phone(page, "cellular:northwind:jane", expects=", null" if page is self.own else None)
        self.verify("the number is verified")
        assert self.browser.url == page.url + "/sign-in", self.browser.url
        assert "verification" not in self.browser.run("return JSON.stringify(Object.keys(sessionStorage))")
        number = "keeping.me().then(({ phone_number, phone_number_verified }) => [phone_number, phone_number_verified])"
        assert self.browser.ask(number) == {"value": ["+12025550123", True]}, self.browser.ask(number)
        # The phone of the operator token has another number: the account stays as it is.
        self.on_phone(page, "wifi", expects="+12025550123" if page is self.own else None)
        self.verify("the number is mismatch")
        self.browser.run("sessionStorage.setItem('sim', 'none');")
        self.browser.go(page.url + "/sign-in")
        self.verify("the number is failed")
        assert self.browser.ask(number) == {"value": ["+12025550123", True]}, self.browser.ask(number)
        # The number is another user's in other steps.
        assert "error" not in self.browser.ask("keeping.fetch('/users/me', { method: 'DELETE' })")

    def native(self, page):
        """An ID token of Google's script signs in, once, as the user that a redirect signs in."""
        self.browser.go(page.url + "/")
        self.state("There is no session" if page is self.other else "API key")
        self.browser.click("#google")
        self.state("1 identity")
        assert self.browser.ask("latchkey.me().then((user) => user.name)") == {"value": "Jane Doe"}
        twice = ("(async () => { const nonce = await latchkey.nonce('google');"
                 " const id_token = await googleIDToken(nonce);"
                 " const { status } = await latchkey.signInNatively('google', { id_token, nonce });"
                 " const error = await latchkey.signInNatively('google', { id_token, nonce }).catch((error) => error);"
                 " return [status, error.status]; })()")
        assert self.browser.ask(twice) == {"value": ["success", 401]}, self.browser.ask(twice)
        assert "error" not in self.browser.ask("latchkey.eraseAccount()")

    METHODS = {"methods": [{"method": "digital_credential", "provider": "carriers", "requires": "credential_manager"}],
               "fallback": ["acme"]}

    def untold(self, page):
        """If the server cannot tell the ways, there are the other providers; if it refuses to, that is thrown."""
        self.on_phone(page, "wifi")
        for status, error, said in ((502, "carrier_error", {"value": "carrier_error"}),
                                    (429, "rate_limited", {"error": "rate_limited"})):
            with self.scripted({"/auth/number/methods": (status, {"error": error})}):
                asked = self.browser.ask("latchkey.signInWithNumber({ mccmnc: '310010' })"
                                         ".then(({ reason }) => reason)")
                assert asked == said, asked

    @contextlib.contextmanager
    def scripted(self, responses):
        self.own.scripted, self.own.posted = {"/auth/number/methods": (200, self.METHODS), **responses}, []
        try:
            yield
        finally:
            self.own.scripted = {}

    def mock(self, outcome, number="+12025550190"):
        """The browser's digital credentials: the simulated wallet of a phone gives one, its user dismisses it, the
        wallet names another page, or the browser lacks the function."""
        self.browser.run(
            "const [outcome, phone_number, simulator] = arguments;"
            "window.DigitalCredential = class {}; if (outcome === 'lacks') delete window.DigitalCredential;"
            "navigator.credentials.get = async ({ digital: { requests: [request] } }) => {"
            " if (outcome === 'dismisses') throw new DOMException('no', 'NotAllowedError');"
            " const origin = outcome === 'errs' ? 'https://evil.example' : location.origin;"
            " const body = JSON.stringify({ request, origin, phone_number });"
            " const answer = await fetch(`${simulator}/aggregator/wallet`, { method: 'POST', body });"
            " return { type: 'digital', ...await answer.json() }; };", outcome, number, self.own.simulator)

    def credential(self, page):
        """A digital credential comes before the mobile network, and what refuses it leads there."""
        for outcome, number in (("gives", "+12025550190"), ("errs", "+12025550123"), ("dismisses", "+12025550123"),
                                ("lacks", "+12025550123")):
            self.on_phone(page, "cellular:northwind:jane")
            self.mock(outcome)
            if outcome == "gives":
                said = self.browser.ask("latchkey.signInWithNumber({ mccmnc: '310010', appState: 7 })"
                                        ".then(({ status, appState }) => [status, appState])")
                assert said == {"value": ["success", 7]}, said
                asked = self.browser.ask("latchkey.me().then((user) => user.phone_number)")
                assert asked == {"value": number}, asked
                assert "error" not in self.browser.ask("latchkey.eraseAccount()")
            else:
                self.browser.click("#number")
                self.state(", " + number)
                assert self.browser.ask("latchkey.signOut().then(() => 1)") == {"value": 1}

    def credential_ends(self, page):
        """What the server says of the user ends the walk; only the other providers are left."""
        start = "/auth/carriers/start"
        started = (201, {"sign_in_id": "s", "request": {"protocol": "p", "data": {"nonce": "n"}}, "expires_in": 300})
        with self.scripted({start: started, start + "/s/confirmation": (403, {"error": "sim_swapped"})}):
            self.on_phone(page, "cellular:northwind:jane")
            self.mock("gives")
            said = self.browser.ask("latchkey.signInWithNumber({ mccmnc: '310010' })"
                                    ".then(({ status, reason, providers }) => [status, reason, providers])")
            assert said == {"value": ["fallback", "sim_swapped", ["acme"]]}, said
            assert self.browser.ask("latchkey.me()") == {"error": "invalid_token"}

    TOKENS = {"methods": [
        {"method": "firebase_pnv", "provider": "phone", "requires": "play_services"},
        {"method": "operator_token", "provider": "number", "operator": "northwind", "requires": "sim"}],
        "fallback": ["acme"]}

    def client_of_provider(self, page):
        """The client is named at its own provider only; a refused token of Firebase leads to the next way."""
        self.on_phone(page, "wifi")
        at_phone, at_number = "/auth/phone/sign-in", "/auth/number/sign-in"
        refusals = {at_phone: (401, {"error": "invalid_id_token"}), at_number: (401, {"error": "invalid_grant"})}
        for provider, named in (("number", [None, "shop"]), ("phone", ["shop", None]), ("acme", [None, None])):
            with self.scripted({"/auth/number/methods": (200, self.TOKENS), **refusals}):
                said = self.browser.ask(f"configure({{ baseURL: '{self.own.url}', provider: '{provider}',"
                                        " clientID: 'shop' }).signInWithNumber({ mccmnc: '310010',"
                                        " firebaseToken: async () => 'f', operatorToken: async () => 'o' })"
                                        ".then(({ reason, providers }) => [reason, providers])")
                assert said == {"value": ["invalid_grant", ["acme"]]}, said
                assert [path for path, _ in self.own.posted] == [at_phone, at_number], self.own.posted
                clients = [json.loads(body).get("client_id") for _, body in self.own.posted]
                assert clients == named, (provider, clients)
        methods = {"methods": [{"method": "redirect", "provider": "number", "operator": "northwind",
                                "requires": "mobile_data"}], "fallback": []}
        with self.scripted({"/auth/number/methods": (200, methods), "/auth/number/start": (200, {})}):
            self.browser.run("configure({ baseURL: arguments[0], provider: 'acme', clientID: 'shop' })"
                             ".signInWithNumber();", self.own.url)
            self.browser.wait("the start", lambda: "/auth/number/start?" in self.browser.url)
            assert "client_id" not in self.browser.url, self.browser.url

    def credential_verifies(self, page):
        """A digital credential verifies the number of a signed-in user, and what refuses it leads to the network."""
        self.on_phone(page, "cellular:northwind:jane")
        self.browser.wait("verify.js", lambda: self.browser.run("return 'keeping' in window;"))
        signed_in = self.browser.ask("(async () => keeping.signInWithOperatorToken("
                                     "await operatorToken({ mccmnc: '310010' }), { operator: 'northwind' })"
                                     ".then(({ status }) => status))()")
        assert signed_in == {"value": "success"}, signed_in
        asked = ("keeping.verifyPhoneNumber({ phone_number: '+12025550195', mccmnc: '310010' })"
                 ".then(({ status }) => status)")
        for number, said in (("+12025550190", "mismatch"), ("+12025550195", "verified")):
            self.mock("gives", number)
            assert self.browser.ask(asked) == {"value": said}, number
        # A page on a computer shows a code, which the phone scans after the page has asked once.
        for number, said in (("+12025550190", "mismatch"), ("+12025550195", "verified")):
            self.browser.run(
                "const [phone_number] = arguments; let shown = null; const real = window.fetch;"
                "window.fetch = async (...asked) => { const answer = await real(...asked);"
                " if (!shown || !asked[0].url?.endsWith('/confirmation')) return answer;"
                " const body = new URLSearchParams({ phone_number }); const code = shown; shown = null;"
                " await real(code, { method: 'POST', mode: 'no-cors', body }); return answer; };"
                "window.scanned = keeping.verifyWithQRCode((code) => { shown = code; },"
                " { phone_number: '+12025550195', provider: 'carriers' }).then(({ status }) => status);", number)
            assert self.browser.ask("scanned") == {"value": said}, number
        stopped = ("keeping.verifyWithQRCode(() => {}, { phone_number: '+12025550195', provider: 'carriers',"
                   " signal: AbortSignal.abort() }).catch(({ name }) => name)")
        assert self.browser.ask(stopped) == {"value": "AbortError"}, self.browser.ask(stopped)
        # No operator serves this network, so that only the credential is left.
        self.mock("dismisses")
        asked = self.browser.ask("keeping.verifyPhoneNumber({ mccmnc: '310410' })")
        assert asked == {"error": "phone_refused"}, asked
        path = "/users/me/phone/verifications"
        request = {"protocol": "p", "data": {"nonce": "n"}}
        started = (201, {"verification_id": "v", "status": "pending", "request": request})
        with self.scripted({path: started, path + "/v/confirmation": (401, {"error": "user_already_exists"})}):
            self.mock("gives")
            asked = self.browser.ask("keeping.verifyPhoneNumber({ mccmnc: '310010' })")
            assert asked == {"error": "user_already_exists"}, asked
        # Without credentials, the browser goes to the operator.
        self.mock("lacks")
        self.verify("the number is verified")
        asked = self.browser.ask("keeping.verifyPhoneNumber({ mccmnc: '311480' })")
        assert asked == {"error": "operator_unknown"}, asked
        assert "error" not in self.browser.ask("keeping.fetch('/users/me', { method: 'DELETE' })")

    def code_pauses(self, page):
        """The page asks whether a code was scanned, after a minute more seldom. Time is skipped here."""
        self.on_phone(page, "wifi")
        path = "/users/me/phone/verifications"
        started = (201, {"verification_id": "v", "status": "pending", "qr_code": "c"})
        with self.scripted({path: started, path + "/v/confirmation": (200, {"status": "pending"})}):
            asked = self.browser.ask(
                "(async () => { const real = window.setTimeout, pauses = [], end = new AbortController();"
                " window.setTimeout = (act, pause) => { if (pauses.push(pause) === 45) end.abort(); real(act); };"
                " const error = await latchkey.verifyWithQRCode(() => {}, { phone_number: '+12025550195',"
                " provider: 'carriers', signal: end.signal }).catch(({ name }) => name);"
                " window.setTimeout = real; return [error, pauses[0], pauses[39], pauses[40], pauses[44]]; })()")
        assert asked == {"value": ["AbortError", 1500, 1500, 3000, 3000]}, asked
        assert len(self.own.posted) == 45, len(self.own.posted)

    def token(self, user):
        """An operator token of a user's SIM."""
        body = urllib.parse.urlencode({"user": user}).encode()
        url = self.own.simulator + "/operators/northwind/operator-tokens"
        return json.load(urllib.request.urlopen(url, body, timeout=120))["operator_token"]

    @contextlib.contextmanager
    def fault(self, name):
        """A fault of the operator northwind."""
        def turn(faults):
            body = urllib.parse.urlencode({"faults": faults}).encode()
            urllib.request.urlopen(self.own.simulator + "/operators/northwind/faults", body, timeout=120).read()

        turn(name)
        try:
            yield
        finally:
            turn("")

    # Steps for Latchkey's own origin.

    def tabs(self, with_locks):
        """Two tabs with an expired session token refresh at the same moment: both keep the same session."""
        self.sign_in(self.own)
        windows = [self.browser.windows[0], self.browser.open(self.own.url + "/")]
        self.state("user 1, 1 identity")
        self.browser.forget_cookie("latchkey_session")
        self.own.refreshes = self.own.most_together = 0
        # The second refresh comes without locks, and not with them.
        self.own.hold_seconds = 2 if with_locks else 100
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
            self.own.hold_seconds = 0
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

    def linking(self, page):
        """A user links an identity, manages the account, and erases it."""
        self.sign_in(page)
        # An outcome of a link that this tab did not request.
        self.browser.go(page.url + "/?keep=1&action=link&status=success")
        self.state("user 1, 1 identity")
        assert self.browser.ask("latchkey.finishLink()") == {"value": None}
        assert self.browser.url == page.url + "/?keep=1", self.browser.url
        for approves, ended in ((False, {"error": "access_denied"}), (True, {"value": ["success", 7]})):
            self.browser.go(page.url + "/")
            self.state("user 1, 1 identity")
            self.browser.run("latchkey.linkIdentity('acme', { appState: 7 });")
            self.browser.find("input[name=user]")
            self.browser.click("button[type=submit]:not([formaction])" if approves else "button[formaction$=deny]")
            self.state("user 1, " + ("2" if approves else "1"))
            asked = self.browser.ask("(async () => { const { status, appState } = latchkey.finishLink();"
                                     " return [status, appState]; })()")
            assert asked == ended, asked
            assert self.browser.url == page.url + "/", self.browser.url
            assert self.browser.ask("latchkey.finishLink()") == {"value": None}
        unlinked = self.browser.ask("(async () => { const [first, second] = await latchkey.identities();"
                                    " const { id } = first.issuer.endsWith('acme') ? first : second;"
                                    " await latchkey.unlinkIdentity(id);"
                                    " return (await latchkey.identities()).length; })()")
        assert unlinked == {"value": 1}, unlinked
        assert self.browser.ask("configure({ baseURL: 'https://other.example' }).linkIdentity('acme')") == {
            "error": "foreign_origin"}
        # The client is named at its own provider only.
        with self.scripted({"/auth/acme/link": (400, {"error": "invalid_request"})}):
            for provider in ("acme", "zenkey"):
                self.browser.ask(f"configure({{ provider: '{provider}', clientID: 'shop' }}).linkIdentity('acme')")
            assert [json.loads(body).get("client_id") for _, body in self.own.posted] == ["shop", None], self.own.posted
        assert self.browser.ask("(async () => configure({ clientId: 'x' }))()") == {"error": "unknown_option"}
        assert self.browser.ask("latchkey.revokeOtherSessions()") == {"value": 0}
        assert "error" not in self.browser.ask("latchkey.eraseAccount()")
        assert "error" in self.browser.ask("latchkey.me()")

    # Steps for another origin.

    def keep(self, client):
        """Signs in with a client that keeps its tokens, window.kept, and returns the window."""
        self.sign_in(self.other)
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
        return opener

    def bound(self):
        """Tokens are bound to a key that no script can read, and are worth nothing without it."""
        client = "configure({ baseURL: %r, storage: localStorage, dpop: true })" % self.own.url
        self.keep(client)
        stored = "JSON.parse(localStorage.getItem('latchkey.tokens'))"
        tokens = self.browser.run(f"return {stored}")
        assert tokens["isBound"] and tokens["token"][43] == "~", tokens
        self.browser.run(f"localStorage.setItem('latchkey.tokens', JSON.stringify({{ ...{stored}, expiresAt: 0 }}))")
        # Another page of the origin has the same key.
        self.browser.go(self.other.url + "/")
        self.browser.find("#popup")
        self.browser.run(f"window.kept = {client};")
        for _ in range(2):
            assert self.browser.ask("kept.me().then((user) => user.user_id)") == {"value": 1}
        assert self.browser.run(f"return {stored}")["token"] != tokens["token"]
        stolen = "configure({ baseURL: %r, storage: localStorage })" % self.own.url
        self.browser.run(f"localStorage.setItem('latchkey.tokens', JSON.stringify({{ ...{stored}, isBound: false }}))")
        assert self.browser.ask(f"{stolen}.me()") == {"error": "invalid_dpop_proof"}
        self.browser.run(f"localStorage.setItem('latchkey.tokens', JSON.stringify({{ ...{stored}, isBound: true }}))")
        assert self.browser.ask("kept.signOut()") in ({}, {"value": None})

    def stored(self):
        """Tokens in a storage outlive the page, and tabs that share it refresh one after another."""
        client = "configure({ baseURL: %r, storage: localStorage })" % self.own.url
        opener = self.keep(client)
        windows = [opener, self.browser.open(self.other.url + "/")]
        expired = ("localStorage.setItem('latchkey.tokens', JSON.stringify("
                   "{ ...JSON.parse(localStorage.getItem('latchkey.tokens')), expiresAt: 0 }))")
        self.browser.run(expired)
        self.own.refreshes = self.own.most_together = 0
        self.own.hold_seconds = 2
        try:
            for window in windows:
                self.browser.switch(window)
                self.browser.run(f"window.kept = {client}; window.asked = kept.me().then((user) => user.user_id);")
            answers = []
            for window in windows:
                self.browser.switch(window)
                answers.append(self.browser.ask("asked"))
        finally:
            self.own.hold_seconds = 0
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

    def registration_by_number(self, page):
        """The page registers the user itself. At /sign-in of its own origin, Latchkey would do it."""
        page.index = "number.html"
        try:
            for device, user in (("cellular:northwind:jane", ", +12025550123"), ("wifi", ", +12025550187")):
                self.on_phone(page, device, path="/")
                self.browser.click("#number")
                self.state(user)
                assert self.browser.ask("latchkey.me().then((user) => user.name)") == {"value": "Jo"}
                assert "error" not in self.browser.ask("latchkey.fetch('/users/me', { method: 'DELETE' })")
        finally:
            page.index = "index.html"

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


def check_names():
    """No type of latchkey.d.ts has the name of one that TypeScript has."""
    types = (pathlib.Path(__file__).parents[2] / "Public/latchkey.d.ts").read_text()
    declared = set(re.findall(r"^export (?:interface|type|class) (\w+)", types, re.M))
    of_typescript = {"Partial", "Required", "Readonly", "Record", "Pick", "Omit", "Exclude", "Extract", "Awaited",
                     "Storage", "Request", "Response", "Event", "Error", "Option", "Range", "Text", "Credential"}
    assert "LatchkeyError" in declared and not declared & of_typescript, declared & of_typescript


def check_document():
    """docs/web-frontends.md shows exactly the page and the JavaScript that run here."""
    here = pathlib.Path(__file__).parent
    document = (here.parents[1] / "docs/web-frontends.md").read_text()
    snippets = re.findall(r"// snippet: (\S+)\n(.*?)\n// end\n", (here / "frontend/frontend.js").read_text(), re.S)
    for name, code in snippets:
        assert f"<!-- snippet: {name} -->\n```js\n{code}\n```\n" in document, f"docs/web-frontends.md: {name}"
    name, page = "first-page", (here / "frontend/first.html").read_text()
    assert f"<!-- snippet: {name} -->\n```html\n{page}```\n" in document, f"docs/web-frontends.md: {name}"
    assert document.count("```js\n") == len(snippets) > 0


@contextlib.contextmanager
def stage(latchkey_dev, driver, **environment):
    with Origin().serving() as own, Origin().serving() as other:
        environment.update(
            LATCHKEY_PUBLIC_URL=own.url, LATCHKEY_ALLOWED_ORIGINS=other.url)
        with demonstration(latchkey_dev, **environment) as (base, carriers):
            own.latchkey = other.latchkey = own.url
            own.simulator = other.simulator = carriers
            own.upstream = base

            @contextlib.contextmanager
            def opened():
                with Browser(driver, free_port()) as browser:
                    yield Stage(own, other, browser)

            yield opened


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--latchkey-dev", required=True)
    parser.add_argument("--only", default="", help="run only the steps with this in their name")
    options = parser.parse_args()
    check_types()
    check_names()
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

    with stage(options.latchkey_dev, driver) as opened:
        for kind in ("own", "other"):
            for name in ("redirect", "failure", "foreign_outcome", "popup", "no_popup", "sign_out", "refresh",
                         "other_places", "number", "number_by_sim", "number_falls_back", "verification", "native",
                         "credential", "credential_verifies"):
                walk(opened, f"{kind} origin: {name}", lambda on: getattr(on, name)(getattr(on, kind)))
        walk(opened, "own origin: code_pauses", lambda on: on.code_pauses(on.own))
        walk(opened, "other origin: credential_ends", lambda on: on.credential_ends(on.other))
        walk(opened, "other origin: untold", lambda on: on.untold(on.other))
        walk(opened, "other origin: client_of_provider", lambda on: on.client_of_provider(on.other))
        walk(opened, "the first page", lambda on: on.first_page())
        walk(opened, "two tabs", lambda on: on.tabs(with_locks=True))
        walk(opened, "two tabs without locks", lambda on: on.tabs(with_locks=False))
        walk(opened, "a session that is over", lambda on: on.over())
        walk(opened, "tokens in a storage", lambda on: on.stored())
        walk(opened, "tokens bound to a key", lambda on: on.bound())
        # The last one, because it erases the user of the others.
        walk(opened, "linking", lambda on: on.linking(on.own))
    with stage(options.latchkey_dev, driver, LATCHKEY_REGISTRATION="required") as opened:
        for kind in ("own", "other"):
            walk(opened, f"{kind} origin: registration", lambda on: on.registration(getattr(on, kind)))
            walk(opened, f"{kind} origin: registration by number",
                 lambda on: on.registration_by_number(getattr(on, kind)))


main()
