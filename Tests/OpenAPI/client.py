#!/usr/bin/env python3
"""Signs in with a client that openapi-python-client has generated from the served document; see run.py.

    python3 -W error Tests/OpenAPI/client.py FOLDER BASE CARRIERS

FOLDER contains the generated package `latchkey_client`. Each of its modules must import without an error or warning.
BASE and CARRIERS are the URLs of a running demonstration.
"""
import importlib
import json
import pkgutil
import sys
import urllib.request


def import_all():
    package = importlib.import_module("latchkey_client")
    names = [module.name for module in pkgutil.walk_packages(package.__path__, "latchkey_client.")]
    for name in names:
        importlib.import_module(name)
    return len(names)


def approved_code(carriers):
    """The fields that an app has after the approval of the carrier's user."""
    with urllib.request.urlopen(carriers + "/demo/codes", b"user=jane", timeout=120) as answer:
        return json.loads(answer.read())


def walk(base, carriers):
    from latchkey_client import AuthenticatedClient
    from latchkey_client.api.account import edit_user, show_user
    from latchkey_client.api.for_your_other_services import introspect
    from latchkey_client.api.sessions import refresh, sign_out
    from latchkey_client.api.sign_in_with_a_code import sign_in_with_zen_key
    from latchkey_client.models import Error, Introspection, ProfileEdit, Refresh, RefreshGrantType, SignIn
    from latchkey_client.models import TokenQuestion, TokenResponse

    app = AuthenticatedClient(
        base_url=base, token="demo-key", prefix="", auth_header_name="X-API-KEY", raise_on_unexpected_status=True
    )
    holders = []

    def holder(token):
        headers = {"X-API-KEY": "demo-key"}
        client = AuthenticatedClient(base_url=base, token=token, headers=headers, raise_on_unexpected_status=True)
        holders.append(client)
        return client

    def checked(answer, kind):
        assert isinstance(answer, kind), answer
        return answer

    try:
        body = SignIn.from_dict(approved_code(carriers))
        tokens = checked(sign_in_with_zen_key.sync(client=app, body=body), TokenResponse)
        user = show_user.sync(client=holder(tokens.token))
        assert user.to_dict()["user_id"] > 0, user
        edited = edit_user.sync(client=holder(tokens.token), body=ProfileEdit.from_dict({"username": "generated"}))
        assert edited.to_dict()["username"] == "generated", edited
        question = Refresh(grant_type=RefreshGrantType.REFRESH_TOKEN, refresh_token=tokens.refresh_token)
        fresh = checked(refresh.sync(client=app, body=question), TokenResponse)
        assert fresh.token != tokens.token
        known = checked(introspect.sync(client=app, body=TokenQuestion(token=fresh.token)), Introspection)
        assert known.active, known
        assert not isinstance(sign_out.sync(client=holder(fresh.token)), Error)
        refused = checked(show_user.sync(client=holder(fresh.token)), Error)
        assert refused.error == "invalid_token", refused
        unknown = SignIn.from_dict({**approved_code(carriers), "code": "not-a-code"})
        refused = checked(sign_in_with_zen_key.sync(client=app, body=unknown), Error)
        assert refused.error == "invalid_grant", refused
    finally:
        for client in [app, *holders]:
            client.get_httpx_client().close()


def main():
    folder, base, carriers = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    count = import_all()
    walk(base, carriers)
    print(f"openapi: the generated client's {count} modules import, and it signs in")


if __name__ == "__main__":
    main()
