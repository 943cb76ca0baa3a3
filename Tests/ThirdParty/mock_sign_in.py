#!/usr/bin/env python3
"""Signs users in and out with oidc-provider-mock (from PyPI), by the configuration that docs/providers.md shows; see \
scripts/third-party.

    Tests/ThirdParty/mock_sign_in.py --latchkey .build/debug/latchkey
"""
import json
import sys

from provider_walk import HERE, Browser, Walk, check, free_port, latchkey, running, submit

USER = {"sub": "user-1", "name": "Jo Doe", "email": "jo@example.org"}


def signing_in(subject):
    return submit(lambda form: form.fields.update({"sub": subject} if "sub" in form.fields else {}))


def main():
    ports = {"8080": free_port(), "9400": free_port()}
    site, base = f"http://127.0.0.1:{ports['9400']}", f"http://127.0.0.1:{ports['8080']}"
    provider = [
        sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(ports["9400"]), "--require-nonce",
        "true", "--user-claims", json.dumps(USER)]
    with running("the provider", provider, site + "/.well-known/openid-configuration"), \
            latchkey((HERE / "mock.yaml").read_text(), ports):
        listed = json.loads(Browser().open(f"{base}/auth/providers")[2])["providers"]
        check([(entry["id"], entry["kind"]) for entry in listed] == [("mock", "oidc")], "the provider is listed")
        walk, browser = Walk(base, "mock", signing_in(USER["sub"])), Browser()
        user = walk.sign_in(browser)
        check((user["name"], user["email"]) == (USER["name"], USER["email"]), "with the provider's attributes")
        check(walk.sign_in(Browser())["user_id"] == user["user_id"], "the same user signs in again")
        other = Walk(base, "mock", signing_in("user-2")).sign_in(Browser())
        check(other["user_id"] != user["user_id"], "another user gets another id")
        walk.sign_out(browser)


if __name__ == "__main__":
    main()
