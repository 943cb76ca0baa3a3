"""Hooks of schemathesis for the run as a signed-in user (see run.py).

Every call has the API key, and a session where the document requires one. Some operations need a value of the server
or a carrier: a code, a handle, a token. Every second call of these operations gets a valid value, so that successful
responses are tested too, not only errors.
"""
import contextlib
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request

import schemathesis

import media_types

BASE = os.environ["OPENAPI_BASE"]
CARRIERS = os.environ["OPENAPI_CARRIERS"]
SEEN = os.environ["OPENAPI_SEEN"]
API_KEY = "demo-key"
# These operations may end the session.
ENDS_SESSION = {"signOut", "eraseUser", "revokeOtherSessions", "revokeSession", "revokeToken", "refresh"}

lock = threading.Lock()
counts = {}
session = {}
handles = []


def post(url, fields, **headers):
    request = urllib.request.Request(url, json.dumps(fields).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


def code(**wishes):
    form = urllib.parse.urlencode({"user": "jane", **wishes}).encode()
    with urllib.request.urlopen(CARRIERS + "/demo/codes", form, timeout=120) as answer:
        return json.loads(answer.read())


def sign_in():
    return post(BASE + "/auth/zenkey-signin", code(), **{"X-API-KEY": API_KEY})


def approval():
    return code(acr_values="a3", context="Pay $200 to Jane")


def receipt():
    headers = {"X-API-KEY": API_KEY, "Authorization": "Bearer " + sign_in()["token"]}
    return post(BASE + "/auth/zenkey/authorize", approval(), **headers)["receipt"]


def asking():
    return {"client_id": "demo-app", "login_hint": "+12025550123", "scope": "openid email", "mccmnc": "310010",
            "redirect_uri": "https://app.example/callback"}


def handle():
    """A pending request, or a new one if allowed: a user has at most three at once."""
    if not handles:
        with contextlib.suppress(urllib.error.HTTPError):
            answer = post(BASE + "/auth/zenkey-async-signin", asking(), **{"X-API-KEY": API_KEY})
            handles.append(answer["auth_req_id"])
    return handles[-1] if handles else "none"


BODIES = {
    "signIn": code,
    "signInWithZenKey": code,
    "refresh": lambda: {"grant_type": "refresh_token", "refresh_token": sign_in()["refresh_token"]},
    "introspect": lambda: {"token": sign_in()["token"]},
    "revokeToken": lambda: {"token": sign_in()["token"]},
    "authorizeTransaction": approval,
    "redeemReceipt": lambda: {"receipt": receipt()},
    "editUser": lambda: {"name": "Jane Doe", "email": "jane@example.com"},
    "startAsyncSignIn": asking,
}
HANDLED = {"pollAsyncSignIn", "cancelAsyncSignIn"}


def token():
    if not session.get("token"):
        session["token"] = sign_in()["token"]
    return session["token"]


def asks_for_session(case):
    return any("session" in way for way in case.operation.definition.raw.get("security", []))


@schemathesis.hook
def before_call(context, case, **kwargs):
    name = case.operation.definition.raw.get("operationId")
    with lock:
        counts[name] = counts.get(name, 0) + 1
        is_genuine = counts[name] % 2 == 1
        case.headers["X-API-KEY"] = API_KEY
        if asks_for_session(case):
            case.headers["Authorization"] = "Bearer " + token()
            case.cookies.clear()
        if "provider" in case.path_parameters and is_genuine:
            case.path_parameters["provider"] = "zenkey"
        if is_genuine and name in BODIES:
            case.body = BODIES[name]()
            if case.media_type is None or "form" not in case.media_type:
                case.media_type = "application/json"
            case.headers.pop("Content-Type", None)
        if is_genuine and name in HANDLED:
            case.path_parameters["auth_req_id"] = handle()
        if is_genuine and name == "startRedirect":
            case.query.clear()
            case.query.update(client_type="web", redirect_uri="http://127.0.0.1/", mccmnc="310010")


@schemathesis.hook
def after_call(context, case, response):
    name = case.operation.definition.raw.get("operationId")
    with lock:
        if name in ENDS_SESSION:
            session.pop("token", None)
        if name == "startAsyncSignIn" and response.status_code == 200:
            handles.append(response.json()["auth_req_id"])
        if name == "cancelAsyncSignIn" and response.status_code == 200 and handles:
            handles.pop()
        if response.status_code == 401:
            session.pop("token", None)
        with open(SEEN, "a") as seen:
            seen.write(f"{name} {response.status_code}\n")
