#!/usr/bin/env python3
"""Renews, introspects and revokes sessions of a demonstration with OAuth libraries from other projects (oauthlib, \
Authlib and joserfc, from PyPI); see scripts/third-party.

    Tests/ThirdParty/oauth_clients.py --latchkey-dev .build/debug/latchkey-dev
"""
import argparse
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

import authlib.integrations.base_client.errors
import joserfc.jwk
import joserfc.jwt
import oauthlib.oauth2
import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Browser"))

from demonstration import demonstration  # noqa: E402
from provider_walk import check  # noqa: E402

API_KEY = {"X-API-KEY": "demo-key"}
CLIENT = "demo-app"


def sign_in(latchkey):
    """The text of a token response, as the app gets it for a code of a simulated carrier."""
    code = requests.post(latchkey.carriers + "/demo/codes", data={"user": "jane"}, timeout=120).json()
    response = requests.post(latchkey.base + "/auth/zenkey-signin", json=code, headers=API_KEY, timeout=120)
    check(response.status_code == 200, "a sign-in")
    return response.text


def send(method, url, headers, body):
    return requests.request(method, url, headers={**headers, **API_KEY}, data=body, timeout=120)


def introspected(latchkey, token, hint="access_token"):
    body = {"token": token, "token_type_hint": hint}
    return send("POST", latchkey.base + "/auth/introspect", {}, body).json()


def with_oauthlib(latchkey):
    """oauthlib prepares requests and reads responses (RFC 6749, 6750, 7009); requests sends them."""
    client = oauthlib.oauth2.WebApplicationClient(CLIENT)
    first = client.parse_request_body_response(sign_in(latchkey))
    check(first["token_type"].lower() == "bearer", "oauthlib reads the response of a sign-in")
    check(first["expires_in"] == 3600, "with its lifetime")

    url, headers, body = client.add_token(latchkey.base + "/users/me")
    me = send("GET", url, headers, body)
    check(me.status_code == 200 and me.json()["sub"] == me.json()["zenkey_sub"], "and sends its token")

    url, headers, body = client.prepare_refresh_token_request(
        latchkey.base + "/auth/token", client_id=CLIENT, include_client_id=True)
    second = client.parse_request_body_response(send("POST", url, headers, body).text)
    check(second["access_token"] != first["access_token"], "oauthlib renews the session")
    url, headers, body = client.add_token(latchkey.base + "/users/me")
    check(send("GET", url, headers, body).json()["user_id"] == me.json()["user_id"], "of the same user")

    url, headers, body = client.prepare_token_revocation_request(
        latchkey.base + "/auth/revoke", second["refresh_token"], "refresh_token")
    check(send("POST", url, headers, body).status_code == 200, "oauthlib revokes it")
    check(introspected(latchkey, second["access_token"]) == {"active": False}, "and the session is over")

    url, headers, body = client.prepare_refresh_token_request(latchkey.base + "/auth/token")
    try:
        client.parse_request_body_response(send("POST", url, headers, body).text)
    except oauthlib.oauth2.InvalidGrantError as error:
        check(bool(error.description), "oauthlib raises InvalidGrantError, with the description")
    else:
        check(False, "oauthlib raises InvalidGrantError")


def with_authlib(latchkey):
    """Authlib sends the requests itself (RFC 6749, 7009, 7662)."""
    session = OAuth2Session(CLIENT, token_endpoint_auth_method="none", token=json.loads(sign_in(latchkey)))
    session.headers.update(API_KEY)
    old = dict(session.token)
    me = session.get(latchkey.base + "/users/me", timeout=120).json()
    new = session.refresh_token(latchkey.base + "/auth/token", refresh_token=old["refresh_token"])
    check(new["access_token"] not in (old["access_token"], None), "Authlib renews a session")
    check(new["expires_in"] == 3600 and new["expires_at"] > 0, "and knows how long it lasts")

    def introspect(token, hint):
        return session.introspect_token(
            latchkey.base + "/auth/introspect", token=token, token_type_hint=hint).json()

    known = introspect(new["access_token"], "access_token")
    check(known["active"] and known["sub"] == me["sub"], "Authlib introspects a session token")
    check(known["client_id"] == CLIENT and known["token_type"] == "bearer" and known["exp"] > 0, "with its client")
    known = introspect(new["refresh_token"], "refresh_token")
    check(known["active"] and known["sub"] == me["sub"], "and a refresh token")
    check(introspect("nothing", "access_token") == {"active": False}, "and an unknown one")

    revoked = session.revoke_token(
        latchkey.base + "/auth/revoke", token=new["access_token"], token_type_hint="access_token")
    check(revoked.status_code == 200, "Authlib revokes it")
    check(introspect(new["access_token"], "access_token") == {"active": False}, "and the session is over")
    try:
        session.refresh_token(latchkey.base + "/auth/token", refresh_token=new["refresh_token"])
    except authlib.integrations.base_client.errors.OAuthError as error:
        check(error.error == "invalid_grant" and bool(error.description), "Authlib raises the error invalid_grant")
    else:
        check(False, "Authlib raises the error invalid_grant")


def signed_introspection(latchkey):
    """Authlib reads the server's metadata (RFC 8414), and joserfc verifies a signed introspection (RFC 9701)."""
    metadata = AuthorizationServerMetadata(
        requests.get(latchkey.base + "/.well-known/oauth-authorization-server", timeout=120).json())
    metadata.validate()
    check(metadata["issuer"] == latchkey.base, "Authlib finds the server's metadata valid")
    token = json.loads(sign_in(latchkey))["token"]
    answer = requests.post(
        metadata["introspection_endpoint"], data={"token": token}, auth=("shop", API_KEY["X-API-KEY"]),
        headers={"Accept": "application/token-introspection+jwt"}, timeout=120)
    check(answer.headers["Content-Type"] == "application/token-introspection+jwt", "an introspection can be signed")
    keys = joserfc.jwk.KeySet.import_key_set(requests.get(metadata["jwks_uri"], timeout=120).json())
    found = joserfc.jwt.decode(answer.text, keys, metadata["introspection_signing_alg_values_supported"])
    joserfc.jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": metadata["issuer"]}, aud={"essential": True, "value": "shop"},
        iat={"essential": True}).validate(found.claims)
    check(found.header["typ"] == "token-introspection+jwt", "and joserfc verifies it")
    check(found.claims["token_introspection"] == introspected(latchkey, token), "with what is not signed otherwise")


def problem_details(latchkey):
    request = urllib.request.Request(
        latchkey.base + "/users/me", headers={**API_KEY, "Accept": "application/problem+json"})
    try:
        urllib.request.urlopen(request, timeout=120)
        check(False, "a call without a session is refused")
    except urllib.error.HTTPError as error:
        problem = json.loads(error.read())
        check(error.headers["Content-Type"] == "application/problem+json", "an error is application/problem+json")
        check(problem["status"] == error.code == 401 and problem["error"] == "invalid_token", "with status and error")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--latchkey-dev", required=True)
    path = pathlib.Path(options.parse_args().latchkey_dev).resolve()
    # Both refuse plain http otherwise; the demonstration is on loopback.
    os.environ.update(OAUTHLIB_INSECURE_TRANSPORT="1", AUTHLIB_INSECURE_TRANSPORT="1")
    with demonstration(str(path)) as latchkey:
        with_oauthlib(latchkey)
        with_authlib(latchkey)
        signed_introspection(latchkey)
        problem_details(latchkey)


if __name__ == "__main__":
    main()
