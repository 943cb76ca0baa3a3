#!/usr/bin/env python3
"""Verifies what `latchkey audit export` printed, with the Python package `cryptography` and nothing of Latchkey.

    python3 Tests/Audit/verify.py FILE --key THUMBPRINT [--key ...] [--expect NUMBER:DIGEST] [--retention SECONDS]

--key names the keys of the server (RFC 7638), as `latchkey audit verify` prints the present one. --retention tells
after how many seconds events expire (audit.retention); without it the export must begin with seal 1. The age is that
at the current time, or at the time of the newest seal if that is later. Ends with 0 if all events are as they were
sealed, and with 1 at the first that is not.
"""
import argparse
import base64
import hashlib
import json
import sys
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils


def sha256(data):
    return hashlib.sha256(data).digest()


def base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def fail(message):
    sys.exit(message)


def require(condition):
    """Unlike an assertion, in effect with `python3 -O`, too."""
    if not condition:
        raise ValueError


def event_digest(event):
    """The digest of an event: its fields as netstrings, a hyphen for a field without a value."""
    user = event.get("user_id")
    fields = ["latchkey audit event 1", str(event["serial"]), str(event["time"]), event["kind"],
              None if user is None else str(user), event["actor"], event.get("request_id"), event.get("details_digest")]
    encoded = [b"-" if field is None else b"%d:%s," % (len(field.encode()), field.encode()) for field in fields]
    return sha256(b"".join(encoded))


def read_seal(line):
    """The statement of a seal with a valid signature, and the thumbprint of its key."""
    try:
        header, payload, signature = line["jws"].split(".")
        head, raw = json.loads(base64url(header)), base64url(signature)
        require(head["alg"] == "ES256" and head["typ"] == "audit-seal+jws" and "crit" not in head and len(raw) == 64)
        key = head["jwk"]
        require(key["kty"] == "EC" and key["crv"] == "P-256")
        x, y = (int.from_bytes(base64url(key[name]), "big") for name in ("x", "y"))
        public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
        pair = (int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        public.verify(utils.encode_dss_signature(*pair), f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))
        members = json.dumps({name: key[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"))
        thumbprint = base64.urlsafe_b64encode(sha256(members.encode())).decode().rstrip("=")
        seal = json.loads(base64url(payload))
        entries = base64url(line["entries"])
        require(seal["number"] == line["number"] and sha256(entries).hex() == seal["entries"])
        require(len(entries) == 40 * seal["count"])
    except (InvalidSignature, KeyError, TypeError, ValueError):
        fail(f"seal {line['number']} was changed")
    parts = [entries[start:start + 40] for start in range(0, len(entries), 40)]
    return seal, thumbprint, [(int.from_bytes(part[:8], "big", signed=True), part[8:]) for part in parts]


def compare(events, entries, number, mismatched):
    """Compares the events before a seal with those that it covers. Returns those that matched no digest before it."""
    found = []
    for position, event in enumerate(events):
        serial, sealed = entries[position] if position < len(entries) else (None, None)
        if serial is None or event["serial"] < serial:
            fail(f"event {event['serial']} was inserted: seal {number} does not have it there")
        if event["serial"] > serial:
            fail(f"event {serial} is missing, and seal {number} has it")
        if event_digest(event) != sealed:
            fail(f"event {serial} was changed")
        # Without salt and details, they were erased with their user.
        if "salt" in event or "details" in event:
            salted = bytes.fromhex(event.get("salt", "")) + event.get("details", "").encode()
            if sha256(salted).hex() != event.get("details_digest"):
                if serial not in mismatched:
                    fail(f"the details of event {serial} were changed")
                found.append(serial)
    if len(events) < len(entries):
        fail(f"event {entries[len(events)][0]} is missing, and seal {number} has it")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", help="what `latchkey audit export` printed")
    parser.add_argument("--key", action="append", default=[], help="the thumbprint of a key of the server; repeatable")
    parser.add_argument("--expect", default="0:", help="a seal that must be there: NUMBER:DIGEST")
    parser.add_argument("--retention", type=int, help="audit.retention in seconds, for an export without seal 1")
    options = parser.parse_args()
    if not options.key:
        parser.error("give the server's key with --key; `latchkey audit verify` prints it as “Its key”")
    expected, expected_digest = options.expect.split(":")
    before, signer, digest, events, covered, first, erased, mismatched = None, None, None, [], 0, None, {}, []
    with open(options.file, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["type"] == "event":
                events.append(line)
                user = line.get("user_id")
                if line["kind"] in ("user.erased", "user.merged_away"):
                    erased.pop(user, None)
                if "details" not in line:
                    erased.setdefault(user, line["serial"])
                continue
            number = line["number"]
            if before and number != before["number"] + 1:
                fail(f"seal {before['number'] + 1} is missing")
            seal, thumbprint, entries = read_seal(line)
            # After a seal that was not the server's, the server does not repeat the time.
            foreign = before and "time_before" not in seal and signer not in seal["keys"]
            if before and (seal["previous"] != digest or not foreign and seal.get("time_before") != before["time"]):
                fail(f"seal {number} does not follow the seal before it")
            if before and signer not in seal["keys"] + options.key:
                fail(f"seal {before['number']} is signed with the key {signer}, which is not one of the server's")
            digest = sha256(line["jws"].encode()).hex()
            if number == int(expected) and digest != expected_digest:
                fail(f"seal {number} has another digest than the expected one")
            mismatched += compare(events, entries, number, seal.get("mismatched", []))
            before, signer, events, covered, first = seal, thumbprint, [], covered + len(entries), first or seal
    newest = before["number"] if before else 0
    if int(expected) > newest:
        fail(f"seal {newest + 1} is missing")
    if erased:
        fail(f"the details of event {min(erased.values())} were erased, and no event says that its user was")
    if before and signer not in options.key:
        fail(f"seal {newest} is signed with the key {signer}, which is not one of the server's")
    oldest = first["number"] if first else 0
    if first and oldest != 1:
        age = max(time.time(), before["sealed_at"]) - first.get("time_before", float("inf"))
        if options.retention is None or age <= options.retention:
            fail(f"the seals before {oldest} are missing, and nothing shows that they had expired; see --retention")
    if 0 < int(expected) < oldest:
        fail(f"seal {expected} is before seal {oldest}, the first one, and cannot be compared")
    if mismatched:
        fail(f"the details of event {min(mismatched)} did not match their digest before it was sealed")
    print(f"{covered} events in seals {oldest} to {newest} are as they were sealed, {len(events)} are not sealed yet")


if __name__ == "__main__":
    main()
