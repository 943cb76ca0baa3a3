#!/usr/bin/env python3
"""Compiles Clients/Android, and signs in with it at a running demonstration; see scripts/android-client.

    Tests/Android/check.py --latchkey-dev .build/debug/latchkey-dev
"""
import argparse
import html
import http.cookiejar
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Browser"))
from demonstration import demonstration  # noqa: E402

# Android's own package org.json.
JSON = "/usr/share/java/json-android.jar"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def browse(url, redirect_uri):
    """Approves a sign-in in a browser, and returns the URL at redirect_uri."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    opener, body = urllib.request.build_opener(NoRedirect, jar), None
    for _ in range(10):
        try:
            page = opener.open(url, body, timeout=120).read().decode()
        except urllib.error.HTTPError as response:
            location = response.headers["Location"]
            assert location, (url, response.status, response.read())
            url, body = urllib.parse.urljoin(url, location), None
            if url.startswith(redirect_uri + "?"):
                return url
            continue
        form = re.search(r'<form method="post" action="([^"]*)">(.*?)</form>', page, re.S)
        fields = {}
        for name, value in re.findall(r'<input[^>]*? name="([^"]*)"[^>]*? value="([^"]*)"', form.group(2)):
            fields.setdefault(name, html.unescape(value))
        url = urllib.parse.urljoin(url, html.unescape(form.group(1)))
        body = urllib.parse.urlencode(fields).encode()
    raise SystemExit(f"android: the browser did not arrive at {redirect_uri}")


def compiled(folder):
    """The program with the client and its tests. A warning is an error."""
    jar = f"{folder}/app.jar"
    sources = sorted(file for name in ("Clients", "Tests") for file in (ROOT / name / "Android").glob("*.kt"))
    command = ["kotlinc", "-Werror", "-cp", JSON, *map(str, sources), "-include-runtime", "-d", jar]
    subprocess.run(command, check=True, timeout=1800)
    return jar


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--latchkey-dev", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jar = compiled(folder)
        print("android: Clients/Android compiles", flush=True)
        with demonstration(options.latchkey_dev) as (base, carriers):
            redirect_uri = base + "/sign-in"
            command = ["java", "-cp", f"{jar}:{JSON}", "latchkey.client.tests.MainKt"]
            app = subprocess.Popen(
                [*command, base, carriers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

            def tell(text):
                app.stdin.write(text + "\n")
                app.stdin.flush()

            def from_sdk():
                code = urllib.request.urlopen(carriers + "/demo/codes", b"", timeout=120).read().decode()
                tell("".join(code.splitlines()))

            said = ""
            for line in app.stdout:
                said = line.strip()
                if said.startswith(base + "/auth/"):
                    tell(browse(said + "&mccmnc=310010", redirect_uri))
                elif said == "sdk":
                    from_sdk()
            if app.wait(120) or said != "ok":
                raise SystemExit(f"android: the app ended with {app.returncode}")
    print("android: sign-ins by code, ID token and number, verifications, refresh, sign-out and erasing: ok")


main()
