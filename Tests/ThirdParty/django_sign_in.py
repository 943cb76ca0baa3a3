#!/usr/bin/env python3
"""Signs a user in, through a key rotation and a refresh, and out, with an OpenID provider of django-oauth-toolkit, by \
the configuration that docs/providers.md shows; see scripts/third-party.

    Tests/ThirdParty/django_sign_in.py --latchkey .build/debug/latchkey
"""
import sys
import tempfile
import urllib.request

from provider_walk import HERE, Browser, Walk, check, free_port, latchkey, running, submit


def fill(form):
    if "username" in form.fields:
        form.fields.update(username="jo", password="password-1")
    form.fields.update({name: value for name, value in form.buttons if name == "allow"})


def main():
    ports = {"8080": free_port(), "9400": free_port()}
    site, base = f"http://127.0.0.1:{ports['9400']}", f"http://127.0.0.1:{ports['8080']}"

    def ask(what):
        urllib.request.urlopen(urllib.request.Request(f"{site}/test/{what}", method="POST"), timeout=120).read()

    with tempfile.TemporaryDirectory() as folder:
        provider = [
            sys.executable, str(HERE / "django_provider.py"), folder, str(ports["9400"]),
            base + "/auth/django/callback", base + "/auth/django/logged-out"]
        with running("the provider", provider, site + "/o/.well-known/openid-configuration"), \
                latchkey((HERE / "django.yaml").read_text(), ports):
            walk, browser = Walk(base, "django", submit(fill)), Browser()
            user = walk.sign_in(browser)
            check((user["name"], user["email"]) == ("Jo Doe", "jo@example.org"), "with the provider's attributes")
            ask("rotate")
            again = Browser()
            check(walk.sign_in(again)["user_id"] == user["user_id"], "the same user signs in after a key rotation")
            walk.resource(browser, "userinfo")
            ask("expire")
            check(walk.resource(browser, "userinfo")["name"] == "Jo Doe", "after a refresh")
            # It knows no ID token that the former key signed.
            walk.sign_out(again)
            check(browser.open(f"{base}/users/me")[0] == 200, "the other browser stays signed in")


if __name__ == "__main__":
    main()
