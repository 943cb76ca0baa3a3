"""The part of the benchmark in which a carrier hangs: it needs two carriers and their faults, so it runs against the
simulated ones."""
import http.client
import tempfile
import urllib.parse

import hanging_carrier
from programs import API_KEY, CLIENT, REDIRECT_URI, SECRET, Program, fail, free_port, latchkey

ANSWERING, HANGING = "310260", "310010"


def post_form(port, path, connection=None, **fields):
    """Posts a form to the simulated carriers."""
    form = urllib.parse.urlencode(fields)
    connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", path, form, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = connection.getresponse()
    body = answer.read().decode()
    if answer.status != 200:
        fail(f"the simulated carriers responded with {answer.status} at {path}: {body}")
    return body


def codes(port, count, mccmnc):
    """Bodies of sign-ins, as an app posts them, `count` times."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for _ in range(count):
        yield post_form(port, "/demo/codes", connection, scope="openid", mccmnc=mccmnc)


def report(program, latchkey_dev, before, during):
    """For `during` seconds, one carrier accepts token requests without responding."""
    port = free_port()
    words = [latchkey_dev, "carrier", "--port", port, "--client", f"{CLIENT}:{SECRET}:{REDIRECT_URI}"]
    with tempfile.TemporaryDirectory() as folder, Program("simulated carriers", words, port, "/") as carriers:
        # The simulated carriers have their own issuers, so this is not the server of the other parts.
        issuers = f"{HANGING}=http://127.0.0.1:{port}/carriers/{HANGING}"
        with latchkey(program, f"{folder}/bench.db", carriers.port, LATCHKEY_ZENKEY_ISSUERS=issuers) as server:
            tokens = []
            headers = {"X-API-KEY": API_KEY, "Content-Type": "application/json"}
            for mccmnc in (HANGING, ANSWERING):
                for body in codes(port, 10, mccmnc):
                    status, answer = server.request("POST", "/auth/zenkey-signin", body, headers)
                    if status != 200:
                        fail(f"a sign-in got {status}: {answer}")
                    tokens.append(answer["token"])

            def hang():
                post_form(
                    port, f"/carriers/{HANGING}/faults", faults="token-slow", delay_seconds=max(30, during))

            return hanging_carrier.measure(
                server.port, API_KEY, tokens, lambda count: codes(port, count, ANSWERING),
                lambda count: codes(port, count, HANGING), hang, before, during)
