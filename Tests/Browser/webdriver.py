"""The part of the W3C WebDriver protocol that these tests need, for chromedriver; standard library only."""
import base64
import json
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

# How many seconds something may take on a machine that is ten times slower than usual.
PATIENCE = 60

# What chromedriver says while a page is replaced, or while something moves over an element.
PASSING = ("stale element", "does not belong to the document", "aborted by navigation", "loader has changed",
           "document unloaded", "click intercepted", "not interactable")


def is_passing(error):
    return any(text in str(error) for text in PASSING)


class Browser:
    """Headless Chromium, ended with the block that started it."""

    def __init__(self, driver, port, size=(1100, 800), dark=False):
        self.base = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [driver, f"--port={port}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        self.scripts_allowed = True
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--disable-popup-blocking", "--disable-background-networking", "--no-first-run",
                     f"--window-size={size[0]},{size[1]}",
                     # Resolves no host except this machine.
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        if dark:
            arguments.append("--force-dark-mode")
        wanted = {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 4000 * PATIENCE}}}}
        deadline = time.monotonic() + 5 * PATIENCE
        while True:
            try:
                self.session = self.call("POST", "/session", wanted, top=True)["sessionId"]
                return
            except (OSError, AssertionError) as error:
                # A busy machine may start the browser too slowly for chromedriver.
                is_lasting = isinstance(error, AssertionError) and "session not created" not in str(error)
                if is_lasting or time.monotonic() > deadline or self.process.poll() is not None:
                    self.process.kill()
                    raise SystemExit(f"browser: chromedriver did not start: {error}")
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait(2 * PATIENCE)

    def call(self, method, path, body=None, top=False):
        url = self.base + (path if top else f"/session/{self.session}{path}")
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=5 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.loads(error.read() or b"{}").get("value", {})
            raise AssertionError(f"{method} {path}: {value.get('error')}: {value.get('message')}") from None

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    @property
    def url(self):
        return self.call("GET", "/url")

    @property
    def title(self):
        return self.call("GET", "/title")

    def on(self, selector, act):
        """Does something with an element, and repeats it if it was not possible for a moment."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return act(self.find(selector))
            except AssertionError as error:
                if not is_passing(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def text(self, selector="body"):
        return self.on(selector, lambda element: self.call("GET", f"/element/{element}/text"))

    def find(self, selector):
        """Waits for the element."""
        found = []

        def is_there():
            found[:] = self.call("POST", "/elements", {"using": "css selector", "value": selector})
            return found

        self.wait(selector, is_there)
        return found[0][ELEMENT]

    def devtools(self, command, **parameters):
        """A command of the Chrome DevTools Protocol, for functions that WebDriver lacks."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def pretend(self, size, dark=False):
        """Sets screen size and theme of this tab; narrow screens are phones."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                      mobile=size[0] < 600)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def allow_scripts(self, allowed):
        """Whether the pages' scripts run; those of WebDriver do, without timers, even if not."""
        self.devtools("Emulation.setScriptExecutionDisabled", value=not allowed)
        self.scripts_allowed = allowed

    def press(self, key):
        """Presses a key, wherever the focus is."""
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def type(self, selector, text):
        self.on(selector, lambda element: self.call("POST", f"/element/{element}/clear"))
        self.on(selector, lambda element: self.call("POST", f"/element/{element}/value", {"text": text}))

    def sees(self, selector):
        """Whether such an element exists and is visible."""
        return self.run("return [...document.querySelectorAll(arguments[0])].some((element) =>"
                        " element.checkVisibility({ visibilityProperty: true }))", selector)

    def click(self, selector):
        """Clicks when the region of the element is not busy, because the pages ignore clicks in a busy one."""
        self.wait(f"{selector} at rest", lambda: not self.run(
            "return document.querySelector(arguments[0])?.closest('[aria-busy=true]') != null", selector))
        self.on(selector, lambda element: self.call("POST", f"/element/{element}/click"))

    def submit(self, selector):
        """Clicks, and waits for the next page. Without that, an address that is opened next can lose to this one."""
        self.run("window.isLeft = true")
        self.click(selector)
        self.wait("the next page", lambda: self.run("return !window.isLeft && document.readyState === 'complete'"))

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def ask(self, expression):
        """The result of a promise: its value, or the `error` that it throws."""
        script = ("const done = arguments[0]; (async () => await (" + expression + "))()"
                  ".then((value) => done({ value }), (error) => done({ error: error.error ?? String(error) }));")
        return self.call("POST", "/execute/async", {"script": script, "args": []})

    def forget_cookie(self, name):
        self.call("DELETE", f"/cookie/{name}")

    def cookies(self):
        return {cookie["name"]: cookie for cookie in self.call("GET", "/cookie")}

    def open(self, url):
        """Opens another tab; returns its window."""
        window = self.call("POST", "/window/new", {"type": "tab"})["handle"]
        self.switch(window)
        self.go(url)
        return window

    def wait(self, what, condition):
        """Waits until a condition holds. It does not while a page is replaced."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if condition():
                    return
            except AssertionError as error:
                if not is_passing(error):
                    raise
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {PATIENCE} s; at {self.url}")
            time.sleep(0.05)

    @property
    def windows(self):
        return self.call("GET", "/window/handles")

    def switch(self, window):
        self.call("POST", "/window", {"handle": window})

    def close(self):
        """Closes this window; the caller must switch to another one."""
        self.call("DELETE", "/window")

    def complaints(self):
        """The warnings and errors of the console since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def complaints_but_signed_out(self):
        """The same, without those about `/users/me`: every load of the front page asks who is signed in."""
        return [entry for entry in self.complaints() if "/users/me - " not in entry or "status of 401" not in entry]

    def picture(self, path, whole=False):
        """The visible text of an element, or of the whole page."""
        if whole:
            data = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        else:
            data = self.call("GET", "/screenshot")
        path.write_bytes(base64.b64decode(data))
