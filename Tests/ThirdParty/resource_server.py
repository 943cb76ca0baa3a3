#!/usr/bin/env python3
"""Protects a resource with django-oauth-toolkit (from PyPI) as a resource server that introspects the tokens of a
demonstration, by its settings alone; see scripts/third-party.

    Tests/ThirdParty/resource_server.py --latchkey-dev .build/debug/latchkey-dev
"""
import argparse
import json
import pathlib
import sys
import urllib.parse
import urllib.request

import django
import django.conf
import django.core.management
import django.http
import django.test
import django.urls

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Browser"))

from demonstration import demonstration  # noqa: E402
from provider_walk import check  # noqa: E402


def post(url, fields):
    body = urllib.parse.urlencode(fields).encode()
    request = urllib.request.Request(url, body, {"X-API-KEY": "demo-key"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.loads(response.read())


def sign_in(latchkey, user):
    return post(latchkey.base + "/auth/zenkey-signin", post(latchkey.carriers + "/demo/codes", {"user": user}))


def configure(latchkey):
    """A site that knows of Latchkey only where it introspects, and its key."""
    django.conf.settings.configure(
        SECRET_KEY="of-the-test", ALLOWED_HOSTS=["testserver"], ROOT_URLCONF=__name__, USE_TZ=True,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
        OAUTH2_PROVIDER={
            "RESOURCE_SERVER_INTROSPECTION_URL": latchkey.base + "/auth/introspect",
            "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS": ("shop", "demo-key"),
        })
    django.setup()
    django.core.management.call_command("migrate", verbosity=0)


def resource(request):
    owner = request.resource_owner
    return django.http.JsonResponse({"user": owner and owner.get_username()})


urlpatterns = []


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--latchkey-dev", required=True)
    path = pathlib.Path(options.parse_args().latchkey_dev).resolve()
    with demonstration(str(path)) as latchkey:
        configure(latchkey)
        from oauth2_provider.decorators import protected_resource
        from oauth2_provider.models import AccessToken
        urlpatterns.append(django.urls.path("orders", protected_resource()(resource)))
        site = django.test.Client()

        def orders(token):
            return site.get("/orders", headers={"Authorization": f"Bearer {token}"})

        tokens, others = sign_in(latchkey, "jane"), sign_in(latchkey, "ravi")
        for number, session in enumerate([tokens, others]):
            request = urllib.request.Request(
                latchkey.base + "/users/me", json.dumps({"username": f"user-{number}"}).encode(),
                {"X-API-KEY": "demo-key", "Authorization": "Bearer " + session["token"],
                 "Content-Type": "application/json"}, method="PATCH")
            urllib.request.urlopen(request, timeout=120).read()
            answer = orders(session["token"])
            check(answer.status_code == 200 and answer.json() == {"user": f"user-{number}"},
                  "django-oauth-toolkit lets the user of a session token in")
        check(orders(tokens["refresh_token"]).status_code == 403, "and nobody with a refresh token")
        check(orders("a" * 48).status_code == 403, "or with an unknown token")
        check(site.get("/orders").status_code == 403, "or without one")
        post(latchkey.base + "/auth/revoke", {"token": tokens["token"]})
        # What it keeps, for ten hours unless its settings say otherwise.
        AccessToken.objects.all().delete()
        check(orders(tokens["token"]).status_code == 403, "and no longer after the end of the session")
        check(orders(others["token"]).json() == {"user": "user-1"}, "while other sessions go on")


if __name__ == "__main__":
    main()
