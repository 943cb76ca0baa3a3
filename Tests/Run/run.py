"""Runs a program of Swift tests, ends it when a test hangs, and lists what failed with suite and test.

    run.py --log FILE [--failures FILE] program…

The program's output goes to this output and to the log. `--failures` gets what failed; without it, that is printed at
the end. A test hangs when for LATCHKEY_TEST_MINUTES (15; times LATCHKEY_TEST_PATIENCE) no test began, ended or
reported an issue. Swift Testing's own time limit would not do: it cancels the test's task and waits for it, which a
blocked thread never sees.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

HUNG = 124


class Events:
    """The records that Swift Testing appends to a file, one line of JSON each."""

    def __init__(self, path):
        # Bytes, because a part of a line may be written only, and end within a character.
        self.file = open(path, "rb")
        self.rest = b""
        self.running = {}  # the identifiers of tests, in the order in which they began
        self.issues = []  # identifier, where, what

    def read(self):
        """Whether there was anything new."""
        text = self.file.read()
        *lines, self.rest = (self.rest + text).split(b"\n")
        for line in lines:
            record = json.loads(line)
            if record["kind"] == "event":
                self.note(record["payload"])
        return bool(text)

    def note(self, event):
        kind, test = event["kind"], event.get("testID")
        if kind == "testStarted":
            self.running[test] = True
        elif kind == "testEnded":
            self.running.pop(test, None)
        elif kind == "issueRecorded" and event["issue"].get("isFailure", not event["issue"]["isKnown"]):
            location = event["issue"].get("sourceLocation") or {}
            where = f"{location.get('fileID', '?')}:{location.get('line', '?')}"
            self.issues.append((test, where, [message["text"] for message in event["messages"]]))

    def failures(self):
        for test, where, messages in self.issues:
            yield f"✘ {name(test)} at {where}"
            for message in messages:
                yield "    " + message.replace("\n", "\n    ")

    def unfinished(self):
        """The tests that had begun and not ended, without the suites around them."""
        return [test for test in self.running if not any(other.startswith(test + "/") for other in self.running)]


def name(test):
    """`StorageTests.PostgresTests/upgrade()/PostgresTests.swift:9:6` without its last part."""
    parts = (test or "outside of tests").split("/")
    return "/".join(parts[:-1]) if len(parts) > 1 and ".swift:" in parts[-1] else "/".join(parts)


def copy(source, *targets):
    for line in source:
        for target in targets:
            target.write(line)
            target.flush()


def run(arguments):
    limit = 60 * float(os.environ.get("LATCHKEY_TEST_MINUTES", 15))
    limit *= max(1, int(os.environ.get("LATCHKEY_TEST_PATIENCE", 1)))
    with tempfile.TemporaryDirectory() as folder, open(arguments.log, "wb") as log:
        path = pathlib.Path(folder) / "events"
        path.touch()
        command = [*arguments.program, "--event-stream-output-path", str(path), "--event-stream-version", "0"]
        events = Events(path)
        # A session of its own, which ends with the servers that the tests started.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        copying = threading.Thread(target=copy, args=(process.stdout, sys.stdout.buffer, log), daemon=True)
        copying.start()
        hung, heard = False, time.monotonic()
        try:
            while process.poll() is None and not hung:
                time.sleep(0.5)
                if events.read():
                    heard = time.monotonic()
                hung = time.monotonic() - heard > limit
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        # What the program left running may hold the output open.
        copying.join(timeout=10)
        events.read()
    return (HUNG if hung else status), limit, events


def report(status, limit, events):
    lines = list(events.failures())
    running = events.unfinished()
    if status == HUNG:
        lines.append(f"✘ No test began or ended for {limit / 60:g} minutes, and the run was ended in:")
    elif running:
        lines.append(f"✘ The program ended (status {status}) in:")
    elif status != 0 and not lines:
        lines.append(f"✘ The program ended with status {status}; see the end of the log.")
    lines += ["    " + name(test) for test in running]
    return "".join(line + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--failures")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    status, limit, events = run(arguments)
    text = report(status, limit, events)
    if arguments.failures:
        pathlib.Path(arguments.failures).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    sys.exit(status if 0 <= status < 256 else 1)


main()
