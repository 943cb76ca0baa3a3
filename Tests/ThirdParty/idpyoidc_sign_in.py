#!/usr/bin/env python3
"""Signs a user in, through a key rotation and refreshes, and out, here and by back-channel logout, with an OpenID \
provider of idpyoidc, by the configuration that docs/providers.md shows; see scripts/third-party.

    Tests/ThirdParty/idpyoidc_sign_in.py --latchkey .build/debug/latchkey
"""
import sys
import tempfile
import time
import urllib.request

from provider_walk import HERE, Browser, Walk, check, free_port, latchkey, running, submit


def fill(form):
    if "username" in form.fields:
        form.fields.update(username="jo", password="password-1")


def main():
    ports = {"8080": free_port(), "9400": free_port()}
    site, base = f"http://127.0.0.1:{ports['9400']}", f"http://127.0.0.1:{ports['8080']}"
    with tempfile.TemporaryDirectory() as folder:
        provider = [
            sys.executable, str(HERE / "idpyoidc_provider.py"), folder, str(ports["9400"]), base + "/auth/idpyoidc"]
        with running("the provider", provider, site + "/.well-known/openid-configuration"), \
                latchkey((HERE / "idpyoidc.yaml").read_text(), ports):
            # It gives refresh tokens only after the user's consent.
            walk, browser = Walk(base, "idpyoidc", submit(fill), prompt="consent"), Browser()
            user = walk.sign_in(browser)
            check((user["name"], user["email"]) == ("Jo Doe", "jo@example.org"), "with the provider's attributes")
            urllib.request.urlopen(urllib.request.Request(site + "/test/rotate", method="POST"), timeout=120).read()
            again = Browser()
            check(walk.sign_in(again)["user_id"] == user["user_id"], "the same user signs in after a key rotation")
            for _ in range(2):
                check(walk.resource(again, "userinfo")["name"] == "Jo Doe", "with its attributes")
                time.sleep(3)
            walk.sign_out(again)
            browser.follow(site + "/session", site + "/logged-out", submit(fill))
            walk.is_signed_out(browser)


if __name__ == "__main__":
    main()
