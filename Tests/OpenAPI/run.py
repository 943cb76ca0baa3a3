#!/usr/bin/env python3
"""Tests a running demonstration against its OpenAPI document; see scripts/openapi.

    Tests/OpenAPI/run.py --latchkey-dev .build/debug/latchkey-dev [--examples 8] [--seed 1]

First openapi-spec-validator validates the document. Then openapi-python-client generates a client from it, which must
import and sign in (client.py). Then schemathesis calls every operation with generated input:
once with only the API key, once as a signed-in user. Failures are: a 5xx response that a carrier did not cause; an
undocumented status, header, content type or content; an undocumented method that is not refused with `Allow`.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Browser"))

from demonstration import demonstration

PROGRAMS = pathlib.Path(sys.executable).parent
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "unsupported_method", "allow_header_conformance",
]
# Of a receiver that is down. With it the document has the webhooks.
WEBHOOKS = [{"url": "https://127.0.0.1:9/", "secret": "whsec_" + "A" * 32}]
# Operations that must succeed at least once in the run as a signed-in user.
NEEDED = {
    "signIn", "signInWithZenKey", "refresh", "introspect", "revokeToken", "authorizeTransaction", "redeemReceipt",
    "startAsyncSignIn", "pollAsyncSignIn", "cancelAsyncSignIn", "startRedirect", "issueAttempt", "showUser", "editUser",
    "eraseUser", "listSessions", "revokeOtherSessions", "listIdentities", "signOut", "listProviders", "showSigningKeys",
    "health", "readiness",
}


def validate(base, folder):
    path = pathlib.Path(folder) / "openapi.json"
    path.write_bytes(urllib.request.urlopen(base + "/openapi.json", timeout=120).read())
    subprocess.run([PROGRAMS / "openapi-spec-validator", path], check=True, timeout=1200)
    return json.loads(path.read_text())


def sign_in_with_generated_client(base, carriers, folder):
    """A generator that writes broken code from the document, or warns of it, ends the run."""
    # The generator calls ruff by its name.
    environment = dict(os.environ, PATH=f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}")
    package = f"{folder}/latchkey_client"
    # The generator knows no type for security event tokens (RFC 8417): they are bytes to it.
    config = pathlib.Path(folder) / "client.json"
    config.write_text(json.dumps({"content_type_overrides": {"application/secevent+jwt": "application/octet-stream"}}))
    generate = ["generate", "--path", f"{folder}/openapi.json", "--meta", "none", "--output-path", package]
    generate += ["--config", config]
    subprocess.run(
        [PROGRAMS / "openapi-python-client", *generate, "--fail-on-warning"],
        cwd=folder, env=environment, check=True, timeout=1800,
    )
    subprocess.run(
        [sys.executable, "-W", "error", HERE / "client.py", folder, base, carriers], check=True, timeout=1200
    )


def fuzz(base, title, options, environment, arguments):
    print(f"\n--- schemathesis {title}", flush=True)
    # One worker: Hypothesis parses code, which Python 3.11 cannot do in two threads at once ("AST constructor recursion
    # depth mismatch").
    command = [
        PROGRAMS / "schemathesis", "run", base + "/openapi.json", "--no-color", "--warnings", "off",
        "--max-redirects", "0", "--request-timeout", "120", "--generation-database", "none", "--workers", "1",
        "--seed", str(arguments.seed), "--continue-on-failure", *options,
    ]
    # A temporary directory, so that it reads no other configuration and leaves no files.
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, env=dict(os.environ, **environment), timeout=3600).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--latchkey-dev", required=True)
    parser.add_argument(
        "--examples", type=int, default=8, help="generated calls of an operation, and as many malformed ones"
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed generates other examples")
    arguments = parser.parse_args()
    with (
        demonstration(
            arguments.latchkey_dev, LATCHKEY_RATE_LIMITS="off", LATCHKEY_WEBHOOKS=json.dumps(WEBHOOKS)
        ) as (base, carriers),
        tempfile.TemporaryDirectory() as folder,
    ):
        document = validate(base, folder)
        if "session.ended" not in document["webhooks"]:
            sys.exit("the document has no webhooks")
        sign_in_with_generated_client(base, carriers, folder)
        key_alone = fuzz(
            base,
            "with an API key",
            [
                "--header",
                "X-API-KEY: demo-key",
                "--phases",
                "examples,fuzzing",
                "--max-examples",
                str(arguments.examples),
                "--checks",
                ",".join([*CHECKS, "ignored_auth"]),
            ],
            {"SCHEMATHESIS_HOOKS": "media_types", "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"},
            arguments,
        )
        seen_path = f"{folder}/seen"
        pathlib.Path(seen_path).touch()
        signed_in = fuzz(
            base,
            "as a signed-in user",
            [
                "--phases",
                "examples,coverage,fuzzing",
                "--max-examples",
                str(arguments.examples),
                "--checks",
                ",".join(CHECKS),
            ],
            {
                "SCHEMATHESIS_HOOKS": "hooks",
                "PYTHONPATH": str(HERE),
                "PYTHONDONTWRITEBYTECODE": "1",
                "OPENAPI_BASE": base,
                "OPENAPI_CARRIERS": carriers,
                "OPENAPI_SEEN": seen_path,
            },
            arguments,
        )
        seen = collections.defaultdict(set)
        for line in pathlib.Path(seen_path).read_text().splitlines():
            name, status = line.rsplit(" ", 1)
            seen[name].add(int(status))
    known = {call["operationId"] for calls in document["paths"].values() for call in calls.values()}
    # The run reads the document once at the start, and does not call it again.
    untried = sorted(known - seen.keys() - {"document"})
    unanswered = sorted(name for name in NEEDED if not any(status < 400 for status in seen[name]))
    for what, names in [("was never called", untried), ("never succeeded", unanswered)]:
        for name in names:
            print(f"openapi: {name} {what}", file=sys.stderr)
    sys.exit(1 if key_alone or signed_in or untried or unanswered else 0)


if __name__ == "__main__":
    main()
