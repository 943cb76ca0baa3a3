#!/usr/bin/env python3
"""An OpenID provider with idpyoidc and Flask (from PyPI), with one client and one user; see idpyoidc_sign_in.py.

    Tests/ThirdParty/idpyoidc_provider.py FOLDER PORT RELYING_PARTY

It listens on 127.0.0.1:PORT and keeps its keys in FOLDER. RELYING_PARTY is the URL below which the client registers its
callbacks. Besides the provider's own paths, POST /test/rotate adds a signing key, which is used from then on.
"""
import json
import pathlib
import sys
import warnings

import flask
from cryptojwt.jwk.rsa import new_rsa_key
from idpyoidc.message.oidc import AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.user_authn.user import verify_signed_jwt

FOLDER, PORT, RELYING_PARTY = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
SITE = f"http://127.0.0.1:{PORT}"
LOGIN = """<!DOCTYPE html><title>Sign in</title><form method="post" action="/{{ action }}">
<input type="hidden" name="token" value="{{ token }}"><input name="username"><input name="password" type="password">
<input type="submit" value="Sign in"></form>"""
LOGOUT = """<!DOCTYPE html><title>Sign out</title><form method="post" action="/logged-out">
<input type="hidden" name="sjwt" value="{token}"><input type="submit" value="Sign out"></form>"""
KEYS = [{"type": "RSA", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]}]


def endpoint(path, name, **settings):
    return {"path": path, "class": f"idpyoidc.server.oidc.{name}", "kwargs": settings}


(FOLDER / "login.html").write_text(LOGIN)
(FOLDER / "users.json").write_text(json.dumps({"jo": "password-1"}))
(FOLDER / "claims.json").write_text(json.dumps({"jo": {"name": "Jo Doe", "email": "jo@example.org"}}))
CONFIGURATION = {
    "issuer": SITE, "httpc_params": {"timeout": 10}, "template_dir": str(FOLDER),
    "key_conf": {"key_defs": KEYS, "uri_path": "jwks.json", "private_path": str(FOLDER / "keys.json"),
                 "read_only": False},
    "token_handler_args": {
        "jwks_def": {"private_path": str(FOLDER / "tokens.json"), "read_only": False, "key_defs": [
            {"type": "oct", "bytes": 24, "use": ["enc"], "kid": kind} for kind in ("code", "refresh")]},
        "code": {"lifetime": 60},
        "token": {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 3}},
        "refresh": {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 86_400}},
        "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {}}},
    "endpoint": {
        "provider_info": endpoint(
            ".well-known/openid-configuration", "provider_config.ProviderConfiguration", client_authn_method=None),
        "authorization": endpoint(
            "authorization", "authorization.Authorization", client_authn_method=None,
            response_types_supported=["code"], response_modes_supported=["query", "form_post"]),
        "token": endpoint("token", "token.Token", client_authn_method=["client_secret_basic", "client_secret_post"]),
        "userinfo": endpoint("userinfo", "userinfo.UserInfo"),
        "end_session": endpoint(
            "session", "session.Session", logout_verify_url=SITE + "/logout", post_logout_uri_path="logged-out",
            signing_alg="ES256", frontchannel_logout_supported=False, backchannel_logout_supported=True,
            backchannel_logout_session_supported=True)},
    "authentication": {"user": {
        "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
        "class": "idpyoidc.server.user_authn.user.UserPassJinja2",
        "kwargs": {"verify_endpoint": "verify", "template": "login.html", "db": {
            "class": "idpyoidc.server.util.JSONDictDB", "kwargs": {"filename": str(FOLDER / "users.json")}}}}},
    "cookie_handler": {"class": "idpyoidc.server.cookie_handler.CookieHandler", "kwargs": {
        "keys": {"private_path": str(FOLDER / "cookies.json"), "read_only": False, "key_defs": [
            {"type": "oct", "bytes": 32, "use": [use], "kid": use} for use in ("enc", "sig")]},
        "name": {"session": "op", "register": "op_register", "session_management": "op_management"}}},
    "userinfo": {"class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db_file": str(FOLDER / "claims.json")}},
    "authz": {"class": "idpyoidc.server.authz.AuthzHandling", "kwargs": {"grant_config": {"expires_in": 86_400,
        "usage_rules": {
            "authorization_code": {
                "supports_minting": ["access_token", "refresh_token", "id_token"], "max_usage": 1, "expires_in": 60},
            "access_token": {"expires_in": 3},
            "refresh_token": {"supports_minting": ["access_token", "refresh_token", "id_token"],
                              "expires_in": 86_400}}}}},
    "add_on": {"pkce": {"function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                        "kwargs": {"essential": True, "code_challenge_method": "S256"}}}}
warnings.simplefilter("ignore")
server = Server(OPConfiguration(CONFIGURATION, base_path=str(FOLDER)), cwd=str(FOLDER))
context = server.get_context()
# The logout endpoint of idpyoidc 5.0 fails after these two methods, which take any request.
for method in ("none", "public"):
    del context.client_authn_methods[method]
context.cdb["latchkey"] = {
    "client_id": "latchkey", "client_secret": "example+secret/=", "token_endpoint_auth_method": "client_secret_basic",
    "redirect_uris": [(RELYING_PARTY + "/callback", {})], "response_types_supported": ["code"],
    "allowed_scopes": ["openid", "profile", "email", "offline_access"],
    "post_logout_redirect_uri": [(RELYING_PARTY + "/logged-out", {})],
    "backchannel_logout_uri": RELYING_PARTY + "/backchannel-logout", "id_token_signed_response_alg": "RS256"}
server.keyjar.add_symmetric("latchkey", "example+secret/=")
app = flask.Flask(__name__)


def cookies():
    sent = flask.request.cookies
    return [{"name": name, "value": sent[name]} for name in context.cookie_handler.name.values() if name in sent]


def respond(point, request, error="", **values):
    if "http_response" in values:
        return flask.make_response(values["http_response"], 200)
    if "redirect_location" in values:
        return flask.redirect(values["redirect_location"])
    told = point.do_response(request=request, error=error, **values)
    if told.get("response_placement", point.response_placement) == "body":
        response = flask.make_response(told["response"], 400 if error else 200)
    else:
        response = flask.redirect(told["response"])
    for name, value in told["http_headers"]:
        response.headers[name] = value
    for cookie in told.get("cookie", []):
        response.set_cookie(cookie["name"], cookie["value"], httponly=True)
    return response


def serve(name):
    point, received = server.get_endpoint(name), flask.request
    values = received.values.to_dict()
    http = {"headers": {key.lower(): value for key, value in received.headers.items()}, "method": received.method,
            "url": received.url, "cookie": cookies()}
    request = point.parse_request(values, http_info=http)
    if "error" in request:
        return flask.make_response(request.to_json(), 400, {"Content-Type": "application/json"})
    answer = point.process_request(request, http_info=http)
    if "error" in answer:
        return flask.make_response(json.dumps(dict(answer)), 400, {"Content-Type": "application/json"})
    return respond(point, request, **answer)


@app.route("/verify", methods=["POST"])
def verify():
    method, form = context.authn_broker.get_method_by_id("user"), flask.request.form.to_dict()
    # The method's own unpack_token looks for the key in the context, which has none.
    user, asked = method.verify(**form), verify_signed_jwt(form["token"], server.keyjar)
    request = AuthorizationRequest().from_urlencoded(asked["query"])
    point = server.get_endpoint("authorization")
    session = point.create_session(request, user, asked["authn_class_ref"], asked["iat"], method)
    return respond(point, request, **point.authz_part2(request=request, session_id=session))


@app.route("/logout")
def logout():
    return LOGOUT.format(token=flask.request.args["sjwt"])


@app.route("/logged-out", methods=["POST"])
def logged_out():
    point = server.get_endpoint("session")
    told = point.unpack_signed_jwt(flask.request.form["sjwt"])
    point.do_verified_logout(**told)
    return flask.redirect(told["redirect_uri"])


@app.route("/jwks.json")
def keys():
    return server.keyjar.export_jwks()


@app.route("/test/rotate", methods=["POST"])
def rotate():
    key = new_rsa_key(use="sig")
    # The first key signs; the others are published.
    for bundle in [bundle for owner in ("", SITE) for bundle in server.keyjar[owner]]:
        former = bundle.get("rsa")
        for old in former:
            bundle.remove(old)
        for each in [key, *former] if former else []:
            bundle.append(each)
    return "rotated"


for name, point in server.endpoint.items():
    app.add_url_rule(
        "/" + point.endpoint_path.lstrip("/"), name, lambda name=name: serve(name), methods=["GET", "POST"])
app.run("127.0.0.1", PORT, threaded=True)
