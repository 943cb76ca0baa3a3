#!/usr/bin/env python3
"""Tests the front page in a real browser: every flow of its console, on a phone and on a desktop, \
in light and dark mode; and the
sign-in without scripts. See scripts/browser.

    Tests/Browser/console.py --latchkey .build/debug/latchkey --latchkey-dev .build/debug/latchkey-dev \
        --pictures .build/screenshots [--only desktop-light]

After every step the browser's console must be empty, and every page must pass checks.py.
"""
import argparse
import base64
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import urllib.parse
import urllib.request

import checks
from demonstration import demonstration, free_port, production
from webdriver import Browser

LOOKS = {
    "desktop-light": ((1280, 900), False), "desktop-dark": ((1280, 900), True),
    "phone-light": ((390, 844), False), "phone-dark": ((390, 844), True),
}


class Console:
    def __init__(self, browser, demo, pictures, look, latchkey):
        self.latchkey = latchkey
        self.browser, self.base, self.carriers, self.pictures, self.look = browser, *demo, pictures, look
        self.size, self.dark = LOOKS[look]
        self.number = 0
        browser.pretend(self.size, self.dark)

    # Checks after each step.

    def seen(self, step, *refused):
        """The page passes the checks, the console has only the expected refusals, and a screenshot is saved."""
        self.quiet(step, *refused)
        self.browser.wait("rest", lambda: not self.browser.run("return document.getAnimations().length"))
        checks.check(self.browser, f"{self.look}: {step}")
        self.number += 1
        self.browser.picture(self.pictures / f"{self.look}-{self.number:02}-{step}.png", whole=True)

    def quiet(self, step, *refused):
        complaints = self.browser.complaints() if 401 in refused else self.browser.complaints_but_signed_out()
        for status in refused:
            told = [entry for entry in complaints if f"status of {status} " in entry]
            assert told, f"{step}: no request was refused with {status}: {complaints}"
            complaints = [entry for entry in complaints if entry not in told]
        assert not complaints, f"{self.look}: {step}: the browser's console says {complaints}"

    def wait(self, selector):
        self.browser.wait(selector, lambda: self.browser.sees(selector))

    def gone(self, selector):
        self.browser.wait(f"no {selector}", lambda: not self.browser.sees(selector))

    def says(self, selector, text):
        self.browser.wait(f"“{text}” in {selector}", lambda: text in self.browser.text(selector))

    def calls(self):
        """The calls that the page shows, the latest last."""
        lines = self.browser.run(
            "return [...document.querySelectorAll('#trace .call')].map((line) =>"
            " [...line.children].map((part) => part.textContent).join(' '))")
        return lines[::-1]

    def called(self, *expected):
        """The latest calls are these, in any order, since some are sent at once; and none shows a secret."""
        self.browser.wait(f"{expected} in {self.calls()[-len(expected):]}",
                          lambda: sorted(self.calls()[-len(expected):]) == sorted(expected))
        self.keeps_secrets()

    def told(self, outcome, *purposes):
        """The latest sign-in ended so, after these calls between the servers, each with its status and time."""
        self.says("#trace > .story .told", outcome)
        hops = self.browser.run(
            "return [...document.querySelector('#trace > .story').querySelectorAll('.hops > li')]"
            ".map((hop) => [...hop.querySelectorAll('p')].map((line) => line.textContent))")
        assert [purpose for purpose, _ in hops] == list(purposes), hops
        for _, call in hops:
            assert re.search(r"^(GET|POST)/.*\d{3} · [\d.]+ ms$", call), call

    def keeps_secrets(self):
        """The list of calls and the browser's storage have no secret and no sensitive claim."""
        self.browser.run("for (const more of document.querySelectorAll('#trace details')) more.open = true;")
        shown = self.browser.run("return document.getElementById('trace').textContent")
        self.browser.run("for (const more of document.querySelectorAll('#trace details')) more.open = false;")
        stored = self.browser.run("return sessionStorage.getItem('latchkey.console.calls') ?? ''")
        # 256 random bits in base64url, or the beginning of a JWT: its header begins with a name of three letters. Short
        # random identifiers are shown, and may contain “eyJ” or 0042 by chance.
        secrets = re.findall(r"[A-Za-z0-9_-]{40,}|1984-05-17|(?<![\w.-])0042(?![\w-])", shown + stored) + [
            found for found in re.findall(r"eyJ[A-Za-z0-9_-]{5,}", shown + stored)
            if re.match(rb'{"[a-z]{3}"', base64.urlsafe_b64decode(found[:8]))]
        assert not secrets, f"the page shows {secrets}"

    # Actions of a user.

    def open(self):
        self.browser.go(self.base + "/")
        self.wait("button[data-provider=zenkey]")

    def carrier(self):
        self.browser.find("input[name=mccmnc]")
        self.seen("choice-of-carrier")
        self.browser.click("button[type=submit]")

    def approve(self, answer="approve"):
        self.browser.find("input[name=user]")
        self.seen("approval")
        self.browser.click(
            f"button[formaction$={answer}]" if answer == "deny" else "button[type=submit]:not([formaction])"
        )

    def sign_in(self):
        self.browser.click("button.go[data-provider=zenkey]")
        self.carrier()
        self.approve()
        self.wait("#account")
        self.wait("#session-list li")
        self.wait("#method-list li")

    def sign_out(self):
        self.browser.click("#sign-out")
        self.says("#news", "You are signed out")
        self.wait("button[data-provider=zenkey]")

    # The steps. Each starts without a session.

    def front(self):
        self.open()
        assert self.browser.run("return innerWidth") == self.size[0]
        assert self.browser.run("return matchMedia('(prefers-color-scheme: dark)').matches") == self.dark
        self.called(
            "GET /auth/providers 200", "GET /demo/device 200", "GET /auth/number/methods 200", "GET /demo/people 200",
            "GET /users/me 401")
        self.says("#trace > .upkeep summary", "5 calls for the page itself")
        bottom = self.browser.run(
            "scrollTo(0, 0); return document.querySelector('button.primary').getBoundingClientRect().bottom;")
        assert bottom <= self.size[1], f"the first button is {bottom - self.size[1]} pixels below the fold"
        self.seen("front")
        checks.check_focus(self.browser, "the front page")
        weight = checks.check_weight(self.browser, "the front page")
        print(f"browser: {self.look}: the front page has {weight['files']} bytes, {weight['sent']} sent", flush=True)

    def redirect(self):
        self.open()
        self.sign_in()
        assert self.browser.url == self.base + "/", f"the outcome is still in the address: {self.browser.url}"
        self.says("#news", "You are signed in")
        shown = self.calls()
        for call in ("GET /auth/zenkey/start", "GET /auth/…/callback", "GET /users/me 200"):
            assert call in shown, shown
        self.told("Signed in for the first time", "Find the carrier’s endpoints", "Redeem the code, once",
                  "Fetch the keys that sign its ID tokens", "Read the user’s attributes")
        self.says("#trace > .story", "Latchkey ⇄ Northwind Mobile")
        self.says("#trace > .story", "ID token: all 18 checks passed")
        assert not self.browser.sees(".hero .lead"), "the hero is not folded"
        self.seen("signed-in")
        checks.check_focus(self.browser, "the account")
        self.browser.go(self.base + "/")
        self.wait("#account")
        self.sign_out()
        self.called("DELETE /auth/token 200")
        self.open()
        assert not self.browser.sees("#account")
        self.seen("signed-out")

    def by_number(self):
        """One tap signs in by number: over the mobile network, or else with the SIM card. Without one, other ways."""
        self.open()
        rungs = ["The phone’s wallet", "The SIM card", "Google’s library", "The mobile network", "Another way"]
        self.browser.wait("the ladder", lambda: self.browser.run(
            "return [...document.querySelectorAll('.ladder b')].map((title) => title.textContent)") == rungs)
        self.says(".ladder", "Acme Accounts, Google, Meetings, ZenKey")
        self.seen("number")
        self.browser.click("button[data-provider=number]")
        self.wait("#method-list li")
        assert self.browser.url == self.base + "/", f"the outcome is still in the address: {self.browser.url}"
        self.says("#news", "You are signed in by your phone number")
        self.says("#profile", "+12025550142")
        self.says("#profile", "Verified")
        self.says("#method-list", "Harbor Telecom")
        shown = self.calls()
        assert "GET /auth/number/start 200" in shown and "GET /auth/…/callback" in shown, shown
        assert "POST /auth/number/sign-in 200" not in shown, shown
        self.keeps_secrets()
        self.seen("number-signed-in")
        self.sign_out()
        self.choose("#sim-card", "northwind:ravi")
        self.choose("#connection", "wifi")
        self.says(".ladder .off", "Off now: the phone has Wi-Fi only.")
        self.seen("number-wifi")
        self.browser.click("button[data-provider=number]")
        self.says("#news", "Over Wi-Fi, the operator recognised the SIM card")
        self.says("#profile", "+12025550187")
        shown = self.calls()
        for call in ("POST /operators/northwind/operator-tokens 200", "POST /auth/number/sign-in 200"):
            assert call in shown, shown
        self.keeps_secrets()
        cookies = self.browser.cookies()
        assert all(cookies[name]["httpOnly"] for name in ("latchkey_session", "latchkey_refresh")), cookies
        self.seen("number-by-sim")
        self.sign_out()

    def by_number_without_sim(self):
        """Without a SIM card the page offers the other ways, and one of them signs in."""
        self.open()
        self.choose("#sim-card", "")
        self.browser.wait("no way by number", lambda: self.browser.text(".ladder").startswith("Another way"))
        self.browser.click("button[data-provider=number]")
        self.wait("#fallback")
        self.says("#fallback", "not_on_mobile_network")
        assert not self.browser.sees("#account")
        assert self.browser.url == self.base + "/", self.browser.url
        focused = self.browser.run("return document.activeElement.dataset.provider")
        assert focused == "zenkey", f"the focus is at {focused}"
        self.seen("number-fallback")
        self.sign_in()
        assert not self.browser.sees("#fallback")
        self.sign_out()

    def by_number_of_changed_sim(self):
        """A SIM card that was changed an hour ago is refused, whatever the network."""
        changed = urllib.parse.urlencode({"user": "mira", "hours_ago": 1}).encode()
        with urllib.request.urlopen(self.carriers + "/operators/harbor/sim-changes", changed, timeout=120) as answer:
            assert answer.status == 200
        self.open()
        self.browser.click("button[data-provider=number]")
        self.wait("#fallback")
        self.says("#fallback", "sim_swapped")
        self.seen("number-sim-swapped")
        self.choose("#connection", "wifi")
        self.browser.click("button[data-provider=number]")
        self.says("#fallback", "sim_swapped")
        self.quiet("a changed SIM", 403)

    def by_number_linked(self):
        """A signed-in user adds the phone number as a way to sign in."""
        self.open()
        self.sign_in()
        self.browser.run("[...document.querySelectorAll('#method-add button')]"
                         ".find((add) => add.textContent === 'Add Phone number').click();")
        self.says("#news", "You can now sign in this way, too")
        self.browser.wait("two ways", lambda: self.count("#method-list li") == 2)
        self.says("#method-list", "Harbor Telecom")
        self.sign_out()
        self.browser.click("button[data-provider=number]")
        self.wait("#method-list li")
        assert self.count("#method-list li") == 2, "another account"
        self.quiet("the added number")

    def choose(self, selector, value):
        self.browser.run(
            "const list = document.querySelector(arguments[0]); list.value = arguments[1];"
            "list.dispatchEvent(new Event('change'));", selector, value)

    def denied(self):
        self.open()
        self.browser.click("button.go[data-provider=zenkey]")
        self.carrier()
        self.approve("deny")
        self.wait("#sign-in .problem")
        self.says("#sign-in .problem", "access_denied")
        self.says("#sign-in .problem", "What to do: Start again")
        self.says("#sign-in .problem", "correlation_id ")
        self.says("#trace > .story .told", "Denied by the user")
        assert self.browser.url == self.base + "/", self.browser.url
        self.seen("denied")

    def popup(self):
        for provider in ("zenkey", "acme", "meetings"):
            self.open()
            opener = self.browser.windows[0]
            self.browser.click(f"button.popup[data-provider={provider}]")
            self.browser.wait("the popup", lambda: len(self.browser.windows) == 2)
            self.browser.switch(next(window for window in self.browser.windows if window != opener))
            if provider == "zenkey":
                self.browser.find("input[name=mccmnc]")
                self.browser.click("button[type=submit]")
            self.browser.find("input[name=user]")
            self.browser.click("button[type=submit]:not([formaction])")
            self.browser.wait("the popup's end", lambda: len(self.browser.windows) == 1)
            self.browser.switch(opener)
            self.wait("#account")
            assert "POST /auth/session 200" in self.calls(), self.calls()
            self.quiet("popup")
            self.sign_out()

    def second_device(self):
        self.open()
        self.browser.click("button.go[data-provider=zenkey]")
        self.browser.click("button[formaction$=codes]")
        self.browser.find("p.code")
        self.seen("number-for-the-phone")
        number = self.browser.text("p.code")
        device = self.browser.windows[0]
        self.browser.open(urllib.parse.urljoin(self.browser.url, "/phone"))
        self.browser.pretend(self.size, self.dark)
        self.seen("phone")
        self.browser.type("input[name=number]", number)
        self.browser.click("button[value=approve]")
        self.browser.wait("the phone's last page", lambda: "Thank you" in self.browser.text())
        self.browser.close()
        self.browser.switch(device)
        self.browser.click("button[type=submit]")
        self.approve()
        self.wait("#account")
        self.quiet("second device")
        self.wait("#session-list li")
        self.sign_out()

    def sign_out_at_provider(self):
        """With a provider that supports logout, both sessions end."""
        self.open()
        self.browser.click("button.go[data-provider=acme]")
        self.approve()
        self.wait("#account")
        self.says("#sign-out-everywhere", "Also sign out of Acme Accounts")
        self.seen("signed-in-at-provider")
        self.browser.click("#sign-out-everywhere")
        self.says("#news", "You are signed out here and at the provider")
        self.browser.wait("a clean address", lambda: self.browser.url == self.base + "/")
        self.wait("button[data-provider=zenkey]")
        for call in ("POST /auth/acme/logout 200", "GET /auth/…/logged-out"):
            assert call in self.calls(), self.calls()
        self.seen("signed-out-at-provider")
        self.sign_in()
        assert not self.browser.sees("#sign-out-everywhere"), "carriers have no logout"

    def profile(self):
        self.open()
        self.sign_in()
        self.browser.click("#edit")
        self.browser.type("#profile-form input[name=username]", "jane")
        self.browser.type("#profile-form input[name=phone_number]", "not a number")
        self.browser.click("#profile-form button[type=submit]")
        self.wait("#account .problem")
        self.says("#account .problem", "phone_number is not a phone number")
        self.seen("edit-refused", 400)
        self.browser.type("#profile-form input[name=phone_number]", "+12025550199")
        self.browser.click("#profile-form button[type=submit]")
        self.says("#news", "The profile is saved")
        self.says("#profile", "+12025550199")
        assert not self.browser.sees("#account .problem")
        self.called("PATCH /users/me 200")
        self.seen("edited")
        self.sign_out()

    def code(self):
        self.open()
        self.app()
        self.called("POST /demo/codes 200", "POST /auth/zenkey-signin 200")
        self.browser.click("#phone-me")
        self.says("#phone-facts", "Jane Doe")
        self.seen("app")
        self.browser.click("#phone-refresh")
        self.wait("#phone-reuse")
        self.browser.click("#phone-reuse")
        self.says("#news", "The same tokens again")
        self.browser.click("#phone-refresh")
        self.says("#news", "New tokens")
        self.browser.click("#phone-reuse")
        self.wait("#phone .problem")
        self.says("#phone .problem", "invalid_grant")
        self.seen("reused", 401)
        self.app()
        self.browser.click("#phone-sign-out")
        self.says("#news", "The app is signed out")
        self.quiet("signing the app out")

    def unfold(self):
        """Opens the part that plays an app."""
        if not self.browser.run("return document.getElementById('phone-more').open"):
            self.browser.click("#phone-more > summary")
        self.browser.wait("the app", lambda: self.browser.run(
            "return document.getElementById('ask-form').elements.login_hint.value !== ''"))

    def app(self, key=None):
        """The app signs in with a code."""
        self.unfold()
        self.browser.click("#get-code")
        self.says("#news", "The app has a code")
        if key:
            self.browser.type("#code-form input[name=api_key]", key)
        self.browser.click("#code-form button[type=submit]")
        if not key:
            self.wait("#phone-in")

    def code_refused(self):
        self.open()
        self.app(key="no-such-key")
        self.wait("#phone .problem")
        self.says("#phone .problem", "invalid_api_key")
        self.says("#phone .problem", "latchkey api-key create")
        self.quiet("a wrong key", 401)
        self.browser.type("#code-form input[name=api_key]", "demo-key")
        self.browser.type("#code-form input[name=code_verifier]", "x" * 43)
        self.browser.click("#code-form button[type=submit]")
        self.says("#phone .problem", "invalid_grant")
        self.told("Refused by the carrier", "Find the carrier’s endpoints", "Redeem the code, once")
        self.seen("code-refused", 401)

    def phone(self):
        """The carrier asks the user on the phone."""
        self.open()
        self.unfold()
        self.browser.click("#ask-form button")
        self.wait("#asked")
        self.seen("asked")
        self.browser.click("#approve")
        self.wait("#phone-in")
        self.keeps_secrets()
        self.browser.click("#phone-sign-out")
        self.says("#news", "The app is signed out")
        self.browser.click("#ask-form button")
        self.wait("#asked")
        self.browser.click("#deny")
        self.wait("#phone .problem")
        self.says("#phone .problem", "access_denied")
        self.seen("asked-and-denied", 401)
        self.browser.click("#ask-form button")
        self.wait("#asked")
        self.browser.click("#cancel-asking")
        self.gone("#asked")
        self.quiet("cancelling")

    def sessions(self):
        self.open()
        self.sign_in()
        self.app()
        self.browser.wait("two sessions", lambda: self.count("#session-list li") == 2)
        self.seen("sessions")
        self.browser.click("#session-list button")
        self.browser.wait("one session", lambda: self.count("#session-list li") == 1)
        self.browser.click("#phone-me")
        self.wait("#phone .problem")
        self.says("#phone .problem", "invalid_token")
        self.quiet("an ended session", 401)
        self.open_signed_in()
        for _ in range(2):
            self.app()
            self.browser.run(
                "document.querySelector('#phone-in').hidden = true; "
                "document.querySelector('#phone-out').hidden = false;"
            )
        self.browser.wait("three sessions", lambda: self.count("#session-list li") == 3)
        self.browser.click("#end-others")
        self.browser.wait("one session", lambda: self.count("#session-list li") == 1)
        self.quiet("ending all others")
        self.sign_out()

    def open_signed_in(self):
        self.browser.go(self.base + "/")
        self.wait("#method-list li")
        self.wait("#session-list li")

    def count(self, selector):
        return self.browser.run("return document.querySelectorAll(arguments[0]).length", selector)

    def methods(self):
        self.open()
        self.sign_in()
        self.browser.click("#method-add button:nth-child(1)")
        self.browser.find("input[name=user]")
        self.browser.click("input[name=user][value=ravi]")
        self.browser.click("button[type=submit]:not([formaction])")
        self.says("#news", "You can now sign in this way, too")
        self.browser.wait("two ways", lambda: self.count("#method-list li") == 2)
        self.says("#method-list", "Acme Accounts")
        self.says("#method-list", "Northwind Mobile")
        self.seen("methods")
        self.browser.click("#method-list li:nth-child(2) button")
        self.wait("#sure")
        self.seen("sure")
        self.browser.click("#sure button[value=no]")
        self.gone("#sure")
        self.browser.click("#method-list li:nth-child(2) button")
        self.wait("#sure")
        self.browser.click("#sure-yes")
        self.browser.wait("one way", lambda: self.count("#method-list li") == 1)
        self.browser.click("#method-list button")
        self.browser.click("#sure-yes")
        self.says("#methods .problem", "last_identity")
        self.seen("last-identity", 409)
        self.sign_out()

    def transaction(self):
        self.open()
        self.sign_in()
        self.browser.type("#transaction-form textarea", "Pay €25 to Ravi & Sons")
        self.browser.click("#transaction-form button[type=submit]")
        self.wait("#receipt")
        self.says("#receipt-facts", "Pay €25 to Ravi & Sons")
        self.called("POST /demo/codes 200", "POST /auth/zenkey/authorize 200")
        self.browser.click("#redeem-form button")
        self.says("#redeemed", "has redeemed")
        self.called("POST /auth/receipts/redeem 200")
        self.seen("transaction")
        self.browser.click("#redeem-form button")
        self.wait("#transaction .problem")
        self.says("#transaction .problem", "receipt_redeemed")
        self.quiet("redeeming twice", 409)
        self.browser.run(
            "const who = document.querySelector('#transaction-form select[name=user]'); who.value = 'ravi';"
        )
        self.browser.click("#transaction-form button[type=submit]")
        self.says("#transaction .problem", "the user who is signed in")
        self.called("POST /demo/codes 200", "POST /auth/zenkey/authorize 401")
        self.seen("not-the-same-user", 401)
        self.sign_out()
        # The receipt leaves with its user.
        self.sign_in()
        assert not self.browser.sees("#receipt")
        assert not self.browser.run("return document.getElementById('receipt-facts').textContent")
        self.sign_out()

    def elsewhere(self):
        """After a session ended elsewhere, the page says so, and offers the ways to sign in."""
        self.open()
        self.sign_in()
        self.browser.forget_cookie("latchkey_session")
        self.browser.forget_cookie("latchkey_refresh")
        self.browser.click("#edit")
        self.browser.type("#profile-form input[name=name]", "Jane")
        self.browser.click("#profile-form button[type=submit]")
        self.wait("button[data-provider=zenkey]")
        self.says("#news", "The session in this browser has ended")
        assert not self.browser.sees("#account")
        self.quiet("cookies that are gone", 401)
        self.sign_in()
        self.browser.run(
            "return fetch('/users/me/sessions').then((answer) => answer.json()).then(({ sessions }) =>"
            " Promise.all(sessions.map(({ id }) => fetch('/users/me/sessions/' + id, { method: 'DELETE' }))));"
        )
        self.browser.go(self.base + "/")
        self.says("#news", "The session is over")
        assert not self.browser.sees("#account")
        self.quiet("a session that is over", 401)

    def documents(self):
        """The JavaScript of the guides works."""
        self.open()
        self.sign_in()
        refresh = self.document("docs/sessions.md", "js-refresh")
        asked = self.browser.ask("(async () => { const { status } = " + refresh.rstrip(";") + "; return status; })()")
        assert asked == {"value": 200}, asked
        # It leaves the page, so its end is not awaited: the browser would run it again, on the provider's page.
        self.browser.run("(async () => {" + self.document("docs/accounts.md", "js-link").replace(
            "https://app.example.com/settings", self.base + "/") + "})();")
        self.browser.find("input[name=user]")
        self.browser.click("button[type=submit]:not([formaction])")
        self.browser.wait("the end", lambda: self.browser.url.startswith(self.base + "/"))
        self.browser.wait("two ways", lambda: self.count("#method-list li") == 2)
        self.quiet("the guides")

    @staticmethod
    def document(path, name):
        text = (pathlib.Path(__file__).parents[2] / path).read_text()
        return re.search(f"<!-- snippet: {name} -->\n```js\n(.*?)\n```\n", text, re.S)[1]

    def erase(self):
        self.open()
        self.sign_in()
        self.browser.click("#erase")
        self.wait("#sure")
        self.browser.click("#sure-yes")
        self.says("#news", "The account is erased")
        self.wait("button[data-provider=zenkey]")
        self.called("DELETE /users/me 200")
        self.seen("erased")

    def keyboard(self):
        """The first Tab shows the skip link; Enter follows it."""
        self.open()
        self.browser.run(
            "document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex');"
        )
        self.browser.press(checks.TAB)
        assert self.browser.run("return document.activeElement.className") == "skip"
        self.browser.press("\ue007")
        assert self.browser.run("return location.hash") == "#console"
        self.browser.press(checks.TAB)
        inside = self.browser.run("return document.activeElement.closest('#console') !== null")
        assert inside, "the link does not lead into the console"

    def api(self):
        self.browser.go(self.base + "/api.html")
        self.browser.wait("the calls", lambda: self.count("details.call"))
        self.seen("api")
        checks.check_weight(self.browser, "the page of the API")
        self.browser.run("for (const more of document.querySelectorAll('#signIn, #signIn details')) more.open = true;")
        checks.check(self.browser, "a call of the API")
        self.browser.type("input[type=search]", "no such call")
        self.says("[role=status]", "No call has “no such call”")
        self.seen("api-nothing-found")
        self.browser.type("input[type=search]", "refresh session")
        assert self.browser.text("[role=status]") == "", "a call is found"

    def trouble(self):
        """If no redirect is possible, a page explains the problem."""
        for path in ("/auth/zenkey/callback?state=unknown&code=c", "/auth/zenkey/start?client_type=web",
                     "/auth/nobody/start?client_type=web&redirect_uri=/"):
            self.browser.go(self.base + path)
            assert self.browser.text("h1") == "This sign-in cannot continue"
            assert "Reference: " in self.browser.text("main"), self.browser.text("main")
            status = 404 if "nobody" in path else 400
            self.seen("cannot-go-on", status)

    def simulator(self):
        """The simulator's own pages, and that of a request that it refuses."""
        for path, title, *refused in (
            ("/", "Carrier simulator"),
            ("/phone", "Which number does the other screen show?"),
            ("/carriers/310010/authorize?client_id=nobody", "This request failed", 400),
        ):
            self.browser.go(self.carriers + path)
            assert self.browser.text("h1") == title, self.browser.text("h1")
            self.seen("simulator", *refused)

    def status(self):
        """The status page, live, after sign-ins of every kind."""
        self.open()
        self.app()
        self.browser.click("#phone-sign-out")
        self.says("#news", "The app is signed out")
        self.browser.click("#get-code")
        self.says("#news", "The app has a code")
        self.browser.type("#code-form input[name=nonce]", "not-the-nonce")
        self.browser.click("#code-form button[type=submit]")
        self.wait("#phone .problem")
        self.says("#trace > .story", "nonce failed")
        self.seen("wrong-nonce", 401)
        self.browser.go(self.base + "/status")
        self.says("#live", "Live")
        self.browser.wait("a plot", lambda: self.count("#sign-ins rect") >= 2)
        self.browser.wait("plots of carriers", lambda: self.count("#carriers svg[role=img]") >= 2)
        self.says("#failures", "nonce")
        self.seen("status")
        self.browser.click("summary")
        self.seen("status-table")
        checks.check_focus(self.browser, "the status page")
        weight = checks.check_weight(self.browser, "the status page")
        print(f"browser: {self.look}: the status page has {weight['files']} bytes, {weight['sent']} sent", flush=True)
        # The page updates by itself.
        page = self.browser.windows[0]
        self.browser.open(self.base + "/")
        self.browser.pretend(self.size, self.dark)
        self.wait("button[data-provider=zenkey]")
        self.app()
        self.quiet("another sign-in")
        self.browser.close()
        self.browser.switch(page)
        self.browser.wait("two sessions", lambda: "2" in self.browser.text("#sessions div:nth-child(1) dd"))
        self.quiet("keeping up")
        # A failure leads to its capsule.
        self.browser.submit("#failures a")
        self.says(".capsule", "cause: The ID token must contain the nonce of this sign-in.")
        self.seen("capsule")
        checks.check_focus(self.browser, "the page of a capsule")
        self.browser.submit("main a[href$='format=json']")
        assert json.loads(self.browser.text("pre"))["failure"]["check"] == "nonce", self.browser.text("pre")

    # Without scripts.

    def plain(self):
        self.browser.allow_scripts(False)
        self.browser.go(self.base + "/")
        assert "The console needs JavaScript" in self.browser.text("main")
        assert not self.browser.sees("#phone") and not self.browser.sees("#account")
        self.quiet("the front page without scripts")
        self.browser.picture(self.pictures / f"{self.look}-plain-front.png", whole=True)
        self.browser.click("#sign-in a.button")
        self.browser.wait("the page", lambda: self.browser.url == self.base + "/sign-in")
        links = self.browser.text(".ways")
        for name in ("ZenKey", "Acme Accounts", "Meetings"):
            assert f"Sign in with {name}" in links, links
        self.seen("plain-sign-in")
        self.follow("zenkey")
        self.browser.click("button[formaction$=deny]")
        self.browser.wait("the end", lambda: "status=failure" in self.browser.url)
        assert "This was declined" in self.browser.text("main") and "access_denied" in self.browser.text("main")
        assert "Reference: " in self.browser.text("main"), self.browser.text("main")
        self.seen("plain-denied")
        for provider, who in (("zenkey", "Jane Doe"), ("acme", "Jane Doe"), ("meetings", "Jane Doe")):
            self.browser.go(self.base + "/sign-in")
            if self.browser.text("h1") == "You are signed in":
                self.browser.click("form button")
                self.browser.wait("the end", lambda: "action=logout" in self.browser.url)
                assert "You are signed out" in self.browser.text("main")
                self.seen("plain-signed-out")
            self.follow(provider)
            self.browser.click("button[type=submit]:not([formaction])")
            self.browser.wait("the end", lambda: "status=success" in self.browser.url)
            assert self.browser.text("h1") == "You are signed in" and f"Welcome, {who}" in self.browser.text("main")
            self.seen("plain-signed-in")
        self.browser.go(self.base + "/status")
        self.says("#live", "As it was at")
        self.says("#outcomes", "Signed up")
        assert self.browser.text("#sessions div:nth-child(1) dd") == "3"
        self.seen("plain-status")
        # Text from the address is not shown.
        for name in ("latchkey_session", "latchkey_refresh"):
            self.browser.forget_cookie(name)
        word = urllib.parse.quote("Call +1 900 555 0100")
        self.browser.go(f"{self.base}/sign-in?action=login&status=failure&message={word}&error={word}")
        assert "900" not in self.browser.text("main"), self.browser.text("main")
        self.quiet("a forged link")

    def follow(self, provider):
        self.browser.click(f".ways a[href*='/auth/{provider}/']")
        if provider == "zenkey":
            self.browser.find("input[name=mccmnc]")
            self.browser.click("button[type=submit]")
        self.browser.find("input[name=user]")

    # A server that is no demonstration.

    def production(self):
        with production(self.latchkey, self.carriers) as base:
            self.browser.go(base + "/")
            assert self.browser.text("h1") == "Sign in", self.browser.text("h1")
            assert "Sign in with Acme Accounts" in self.browser.text(".ways"), self.browser.text("main")
            checks.check_focus(self.browser, f"{self.look}: the front page in production")
            self.seen("production-front")
            self.browser.go(base + "/no/such/page")
            assert self.browser.text("h1") == "There is nothing here", self.browser.text("h1")
            assert "Reference:" in self.browser.text("main")
            self.seen("production-nothing", 404)
            self.browser.click("main a.button")
            self.browser.wait("the front page", lambda: self.browser.url == base + "/")

    # With required registration.

    def registration(self):
        self.open()
        self.browser.click("button.go[data-provider=zenkey]")
        self.carrier()
        self.approve()
        self.register(name="Jane D.")
        self.wait("#account")
        self.says("#news", "You are registered and signed in")
        self.says("#account-title", "Jane D.")
        self.wait("#method-list li")
        assert self.browser.url == self.base + "/", f"the outcome is still in the address: {self.browser.url}"
        assert "POST /register" in self.calls(), self.calls()
        self.called("GET /users/me 200", "GET /users/me/sessions 200", "GET /users/me/identities 200")
        self.sign_out()

    def register(self, **entries):
        """Completes the server's own page, which shows what the carrier sent."""
        self.browser.wait("the registration", lambda: self.browser.url == self.base + "/register")
        sent = self.browser.text("dl.facts")
        assert "jane.doe@example.com" in sent, sent
        self.seen("register")
        self.browser.click("summary")
        assert self.browser.run("return document.getElementById('email').value") == "jane.doe@example.com"
        checks.check_focus(self.browser, "the registration")
        self.seen("register-change")
        for name, value in entries.items():
            self.browser.type(f"input[name={name}]", value)
        self.browser.submit("main button[type=submit]")

    def registration_in_a_popup(self):
        self.open()
        opener = self.browser.windows[0]
        self.browser.click("button.popup[data-provider=acme]")
        self.browser.wait("the popup", lambda: len(self.browser.windows) == 2)
        self.browser.switch(next(window for window in self.browser.windows if window != opener))
        self.browser.find("input[name=user]")
        self.browser.click("button[type=submit]:not([formaction])")
        self.browser.wait("the popup's end", lambda: len(self.browser.windows) == 1)
        self.browser.switch(opener)
        self.register()
        self.says("#news", "You are registered and signed in")
        self.wait("#method-list li")
        self.sign_out()

    def registration_by_sim(self):
        """A sign-in by a call of the page, without a redirect."""
        self.open()
        self.choose("#sim-card", "northwind:jane")
        self.choose("#connection", "wifi")
        self.browser.click("button[data-provider=number]")
        self.browser.wait("the registration", lambda: self.browser.url == self.base + "/register")
        self.seen("register-by-sim", 403)
        self.browser.submit("main button[type=submit]")
        self.says("#news", "You are registered and signed in")
        self.says("#profile", "+12025550123")
        self.wait("#method-list li")
        self.sign_out()

    def registration_of_the_app(self):
        self.open()
        self.unfold()
        self.browser.run("const who = document.querySelector('#code-form select[name=person]'); who.value = 'ravi';")
        self.browser.click("#get-code")
        self.says("#news", "The app has a code")
        self.browser.click("#code-form button[type=submit]")
        self.wait("#phone-register")
        given = self.browser.run("return Object.fromEntries(new FormData(document.getElementById('register-form')))")
        assert given["name"] == "Ravi Okafor" and given["phone_number"] == "+12025550187", given
        assert self.count("#register-form .given") == 4
        self.seen("register-app", 403)
        self.browser.click("#register-form button[type=submit]")
        self.wait("#phone-in")
        self.quiet("registering the app's user")

    def plain_registration(self):
        self.browser.allow_scripts(False)
        self.browser.go(self.base + "/sign-in")
        self.follow("acme")
        self.browser.click("button[type=submit]:not([formaction])")
        self.browser.wait("the registration", lambda: self.browser.url == self.base + "/register")
        assert "Jane Doe" in self.browser.text("dl.facts"), self.browser.text("main")
        self.seen("plain-register")
        self.browser.click("summary")
        self.browser.type("#email", "jane@")
        self.browser.type("#username", "jane")
        self.browser.click("main button[type=submit]")
        self.says("#email-problem", "Email is not an e-mail address.")
        assert self.browser.run("return document.getElementById('username').value") == "jane"
        self.seen("plain-register-refused", 400)
        self.browser.type("#email", "jane@example.org")
        self.browser.click("main button[type=submit]")
        self.browser.wait("the end", lambda: "status=success" in self.browser.url)
        assert self.browser.text("h1") == "You are signed in" and "Welcome, Jane Doe" in self.browser.text("main")
        self.seen("plain-registered")
        self.browser.go(self.base + "/users/me")
        assert '"email":"jane@example.org"' in self.browser.text(), self.browser.text()
        self.browser.complaints()
        self.browser.go(self.base + "/register")
        assert self.browser.text("h1") == "This sign-in cannot continue", self.browser.text("main")
        self.seen("plain-register-over", 401)


def check_images():
    """The images of the documents are small."""
    images = list((pathlib.Path(__file__).parents[2] / "docs/images").iterdir())
    assert images and all(image.stat().st_size < 200_000 for image in images), images


STEPS = [
    "front",
    "redirect",
    "by_number",
    "by_number_without_sim",
    "by_number_of_changed_sim",
    "by_number_linked",
    "denied",
    "popup",
    "second_device",
    "sign_out_at_provider",
    "profile",
    "code",
    "code_refused",
    "phone",
    "sessions",
    "methods",
    "transaction",
    "elsewhere",
    "documents",
    "erase",
    "keyboard",
    "api",
    "trouble",
    "simulator",
    "status",
    "plain",
    "production",
]
STEPS_OF_REGISTRATION = [
    "registration", "registration_in_a_popup", "registration_by_sim", "registration_of_the_app", "plain_registration",
]


def failures(look, options, driver):
    """Runs the chosen steps in one look; what failed."""
    failed = []
    for steps, environment in ((STEPS, {}), (STEPS_OF_REGISTRATION, {"LATCHKEY_REGISTRATION": "required"})):
        for step in (step for step in steps if options.only in f"{look} {step}"):
            # Each step has its own users and a fresh browser.
            with demonstration(options.latchkey_dev, **environment) as demo, \
                    Browser(driver, free_port(), LOOKS[look][0], LOOKS[look][1]) as browser:
                console = Console(browser, demo, options.pictures, look, options.latchkey)
                console.number = 100 * (STEPS + STEPS_OF_REGISTRATION).index(step)
                try:
                    getattr(console, step)()
                    print(f"browser: {look}: {step}: ok", flush=True)
                except AssertionError as failure:
                    browser.picture(options.pictures / f"failed-{look}-{step}.png", whole=True)
                    line = failure.__traceback__.tb_next.tb_lineno
                    failed.append(f"browser: {look}: {step}: FAILED in line {line}: {failure}")
                    print(failed[-1], flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--latchkey", required=True)
    parser.add_argument("--latchkey-dev", required=True)
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="run only the looks and steps with this in their name")
    parser.add_argument("--short", action="store_true", help="in one look")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many looks run at once")
    options = parser.parse_args()
    chosen = ["phone-dark"] if options.short else list(LOOKS)
    if not any(options.only in f"{look} {step}" for look in chosen for step in STEPS + STEPS_OF_REGISTRATION):
        raise SystemExit(f"browser: no look and step have “{options.only}” in their name")
    check_images()
    shutil.rmtree(options.pictures, ignore_errors=True)
    options.pictures.mkdir(parents=True)
    driver = shutil.which("chromedriver")
    if not driver:
        raise SystemExit("browser: chromedriver is missing; run scripts/setup --browser")
    # A look mostly waits, so that each processor has one at a time.
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        looks = [pool.submit(failures, look, options, driver) for look in chosen]
        failed = [failure for look in looks for failure in look.result()]
    if failed:
        # Once more at the end, where the reader of a long record looks first.
        raise SystemExit("\n".join(failed))


main()
