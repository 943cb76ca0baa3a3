#!/usr/bin/env python3
"""Tests the redirect sign-ins of a running demonstration in a real browser; see scripts/browser.

    Tests/Browser/walk.py --latchkey-dev .build/debug/latchkey-dev --pictures FOLDER
"""
import argparse
import json
import pathlib
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request

from demonstration import demonstration, free_port
from webdriver import Browser


def parameters(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Walk:
    def __init__(self, browser, base, pictures, name):
        self.browser, self.base, self.pictures, self.name = browser, base, pictures, name

    def start(self, **fields):
        query = urllib.parse.urlencode({"client_type": "web", "redirect_uri": self.base + "/sign-in", **fields})
        return f"{self.base}/auth/zenkey/start?{query}"

    def look(self, step):
        self.browser.picture(self.pictures / f"{self.name}-{step}.png")
        complaints = self.browser.complaints_but_signed_out()
        assert not complaints, f"the console has errors at {self.browser.url}: {complaints}"

    def choose_carrier(self):
        self.browser.find("input[name=mccmnc]")
        self.look("carrier")
        self.browser.click("button[type=submit]")

    def approve(self):
        self.browser.find("input[name=user]")
        self.look("approval")
        self.browser.click("button[type=submit]:not([formaction])")

    def came_back(self):
        self.browser.wait("coming back", lambda: self.browser.url.startswith(self.base + "/sign-in?"))
        return parameters(self.browser.url)

    def web(self):
        self.browser.go(self.base + "/")
        self.look("front")
        self.browser.go(self.start(tracking_id="walk"))
        self.choose_carrier()
        self.approve()
        outcome = self.came_back()
        assert outcome == {"action": "login", "status": "success", "tracking_id": "walk"}, outcome
        self.browser.go(self.base + "/users/me")
        profile = json.loads(self.browser.text())
        assert profile["user_id"] > 0, profile
        self.browser.complaints()

    def denied(self):
        self.browser.go(self.start())
        self.choose_carrier()
        self.browser.click("button[formaction$=deny]")
        outcome = self.came_back()
        assert (outcome["status"], outcome["error"]) == ("failure", "access_denied"), outcome
        assert "session" not in " ".join(outcome), outcome

    def secondary_device(self):
        """The number of this page is typed into another window, which plays the phone."""
        self.browser.go(self.start())
        self.browser.click("button[formaction$=codes]")
        self.browser.find("p.code")
        self.look("code")
        number = self.browser.text("p.code")
        device = self.browser.windows[0]
        self.browser.run("open('/phone', '_blank', 'noopener')")
        self.browser.wait("the phone", lambda: len(self.browser.windows) == 2)
        self.browser.switch(next(window for window in self.browser.windows if window != device))
        self.browser.find("input[name=number]")
        self.browser.run("document.querySelector('input[name=number]').value = arguments[0];", number)
        self.look("phone")
        self.browser.click("button[value=approve]")
        self.browser.wait("the phone's last page", lambda: "Thank you" in self.browser.text())
        self.browser.close()
        self.browser.switch(device)
        self.browser.click("button[type=submit]")
        self.approve()
        assert self.came_back()["status"] == "success"

    def popup(self):
        self.browser.go(self.base + "/")
        opener = self.browser.windows[0]
        self.browser.run(
            "addEventListener('message', (event) => { document.title = JSON.stringify([event.origin, event.data]); });"
            "window.open(arguments[0], '_blank', 'popup');", self.start(client_type="popup"))
        self.browser.wait("the popup", lambda: len(self.browser.windows) == 2)
        self.browser.switch(next(window for window in self.browser.windows if window != opener))
        self.choose_carrier()
        self.approve()
        self.browser.wait("the popup's end", lambda: self.browser_count() == 1)
        self.browser.switch(opener)
        self.browser.wait("the message", lambda: self.browser.title.startswith("["))
        origin, message = json.loads(self.browser.title)
        assert origin == self.base and message["source"] == "latchkey", message
        assert message["status"] == "success" and message["session_id"], message

    def form_post(self):
        """Another site's form, which comes without cookies, ends the sign-in. A page of this site sends it again."""
        self.browser.go(self.start())
        self.choose_carrier()
        self.browser.find("input[name=user]")
        action, fields = self.browser.run(
            "const form = document.querySelector('form'); return [form.action, [...new FormData(form)]];")
        body = urllib.parse.urlencode([tuple(field) for field in fields]).encode()
        try:
            urllib.request.build_opener(NoRedirect).open(action, body, timeout=120)
            raise AssertionError("the carrier does not redirect")
        except urllib.error.HTTPError as answer:
            back = answer.headers["Location"]
        inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in parameters(back).items())
        callback = back.split("?")[0]
        form = f'<form method="post" action="{callback}">{inputs}</form><script>document.forms[0].submit()</script>'
        self.browser.go("data:text/html," + urllib.parse.quote(form))
        outcome = self.came_back()
        assert outcome["status"] == "success" and "code" not in outcome, outcome
        self.browser.go(self.base + "/users/me")
        assert json.loads(self.browser.text())["user_id"] > 0
        self.browser.complaints()

    def browser_count(self):
        return len(self.browser.windows)

    def trouble(self):
        """If no frontend can be reached, the user reads what happened."""
        for path in ("/auth/zenkey/callback?state=unknown&code=c", "/auth/zenkey/start?client_type=web"):
            self.browser.go(self.base + path)
            text = self.browser.text()
            assert "This sign-in cannot continue" in text and "{" not in text, text
            self.browser.picture(self.pictures / f"{self.name}-trouble.png")
            self.browser.complaints()

    def api(self):
        """The page of the API shows every call, with its own script and style only."""
        with urllib.request.urlopen(self.base + "/openapi.json", timeout=120) as answer:
            document = json.loads(answer.read())
        self.browser.go(self.base + "/api.html#signIn")
        self.browser.wait(
            "the calls", lambda: self.browser.run("return document.querySelectorAll('details.call').length")
        )
        self.look("api")
        narrow = self.browser.run(
            "return [...document.querySelectorAll('table')].filter((table) =>"
            " table.checkVisibility() && table.tBodies[0].offsetWidth < 0.9 * table.parentElement.clientWidth).length")
        assert narrow == 0, f"{narrow} tables do not fill their place"
        shown = self.browser.run("return [...document.querySelectorAll('details.call')].map((call) => call.id)")
        told = [call["operationId"] for calls in document["paths"].values() for call in calls.values()]
        assert sorted(shown) == sorted(told), set(shown) ^ set(told)
        self.browser.run("for (const more of document.querySelectorAll('#signIn details')) more.open = true;")
        text = self.browser.text("#signIn")
        for word in ("code_verifier", "refresh_token", "user_not_registered", "an API key"):
            assert word in text, f"{word} is not shown"
        self.browser.run(
            "const find = document.querySelector('input[type=search]'); find.value = 'refresh session';"
            "find.dispatchEvent(new Event('input'));")
        left = self.browser.run(
            "return [...document.querySelectorAll('details.call')]"
            ".filter((call) => !call.hidden).map((call) => call.id)"
        )
        assert left == ["refresh"], left
        wide = self.browser.run("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"the page is {wide} pixels too wide"

    def registration(self):
        self.browser.go(self.start(scope="openid name email"))
        self.choose_carrier()
        self.approve()
        self.browser.wait("the registration", lambda: self.browser.url == self.base + "/register")
        self.look("register")
        self.browser.click("main button[type=submit]")
        assert self.came_back()["status"] == "success"
        self.browser.go(self.start())
        self.choose_carrier()
        self.approve()
        assert self.came_back()["status"] == "success"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--latchkey-dev", required=True)
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    driver = shutil.which("chromedriver")
    if not driver:
        raise SystemExit("browser: chromedriver is missing; run scripts/setup --browser")
    looks = {"desktop": ((1100, 800), False), "phone-dark": ((390, 844), True)}
    for look, (size, dark) in looks.items():
        with demonstration(options.latchkey_dev) as (base, _), Browser(driver, free_port(), size, dark) as browser:
            walk = Walk(browser, base, options.pictures, look)
            for step in (
                walk.web, walk.denied, walk.secondary_device, walk.popup, walk.form_post, walk.trouble, walk.api
            ):
                step()
                print(f"browser: {look}: {step.__name__}: ok", flush=True)
    with demonstration(options.latchkey_dev, LATCHKEY_REGISTRATION="required") as (base, _), \
            Browser(driver, free_port()) as browser:
        Walk(browser, base, options.pictures, "registration").registration()
        print("browser: registration: ok", flush=True)


main()
