"""Offers a server twice the sign-ins that it can do; see scripts/overload."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Benchmarks"))

import programs  # noqa: E402

SUBJECTS = 20_000
# Requests in progress while the capacity is measured: enough to keep the server busy.
WORKERS = 64
# As nice(1) has it.
PRIORITY = -10
# The connections of the load, and its options for them.
SHAPES = {"kept": [], "new": ["--new"]}
TITLES = {"kept": "kept connections, as of a proxy", "new": "a new connection for each request"}


def say(text):
    print(f"overload: {text}", flush=True)


def expect(holds, text):
    say(f"{'ok      ' if holds else 'PROBLEM '}{text}")
    return holds


class Cores:
    """The server has a core of its own. The load and the carrier share another one."""

    def __init__(self):
        cores = sorted(os.sched_getaffinity(0))
        self.are_apart = len(cores) > 1
        self.server, self.others = cores[0], cores[-1]

    def place(self, pid, core):
        """Moves a process to a core, and lets it go before other programs of the machine, if the user may do that."""
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), {core})
            try:
                os.setpriority(os.PRIO_PROCESS, int(task), PRIORITY)
            except PermissionError:
                pass
        try:
            pathlib.Path(f"/proc/{pid}/autogroup").write_text(str(PRIORITY))
        except OSError:
            pass


def start_load(port, cores, words):
    process = subprocess.Popen(
        [ROOT / ".build" / "overload-load", "--port", str(port), "--subjects", str(SUBJECTS), *map(str, words)],
        stdout=subprocess.PIPE, text=True, start_new_session=True)
    cores.place(process.pid, cores.others)
    return process


def seconds_of(process):
    """The figures of each second, and last those of the whole time."""
    for line in process.stdout:
        yield json.loads(line)
    if process.wait():
        programs.fail(f"the load ended with {process.returncode}")


def capacity(server, cores, shape, seconds, name):
    figures = list(seconds_of(start_load(
        server.port, cores, ["--seconds", seconds, "--workers", WORKERS, "--name", name, *SHAPES[shape]])))[-1]
    accepted = figures["sign_in"]["accepted"]
    failed = sum(figures["sign_in"][outcome] for outcome in ("other_status", "broken", "timed_out"))
    if failed or not accepted:
        programs.fail(f"without overload, {failed} of {accepted + failed} sign-ins failed")
    return accepted / seconds


def exchanges(carrier):
    return carrier.request("GET", "/stats")[1]["exchanges"]


def overload(server, carrier, cores, shape, rate, seconds, token):
    """Offers sign-ins at a rate, and session checks and probes beside them; returns the figures."""
    before, began = exchanges(carrier), server.cpu_us()
    whole, shown = None, time.monotonic()
    for figures in seconds_of(start_load(
            server.port, cores,
            ["--seconds", seconds, "--rate", rate, "--token", token, *SHAPES[shape]])):
        whole = figures
        if "second" in figures and time.monotonic() - shown >= 10:
            shown = time.monotonic()
            row = figures["sign_in"]
            say(f"after {figures['second']:.0f} s, per second: {row['accepted']} sign-ins in at most "
                f"{row['accepted_ms']['p99']} ms (99 %), {row['refused']} refused; "
                f"{figures['in_progress']} in progress")
    whole["exchanges"], whole["cpu"] = exchanges(carrier) - before, (server.cpu_us() - began) / 1e6
    return whole


def judge(whole, capacity, seconds):
    """Prints the verdict on the figures of an overload; returns whether all of it holds."""
    row, checks, probes = whole["sign_in"], whole["session_check"], whole["probe"]
    good = [
        expect(row["accepted_ms"]["p99"] < 1000,
               f"{row['accepted']} sign-ins were accepted, {row['accepted'] / seconds:.0f} a second of the "
               f"{capacity:.0f} without overload; 50 % within {row['accepted_ms']['p50']} ms, 99 % within "
               f"{row['accepted_ms']['p99']} ms, the slowest {row['accepted_ms']['longest']} ms"),
        expect(row["accepted"] / seconds > capacity / 3, "at least a third of the capacity is left"),
        expect(row["refused"] > 0 and row["refused_without_retry_after"] == 0,
               f"{row['refused']} were refused with 503 and Retry-After; 50 % within {row['refused_ms']['p50']} ms, "
               f"99 % within {row['refused_ms']['p99']} ms"),
        expect(row["other_status"] + row["broken"] + row["timed_out"] == 0,
               f"{row['other_status']} got another status, {row['broken']} lost their connection, "
               f"{row['timed_out']} got no response within 10 s"),
        expect(whole["exchanges"] == row["accepted"],
               f"{whole['exchanges']} codes were sent to the carrier, and {row['accepted']} sign-ins were completed")]
    for title, part in [("session checks", checks), ("probes", probes)]:
        failed = sum(part[outcome] for outcome in part if not isinstance(part[outcome], dict)) - part["accepted"]
        good.append(expect(
            failed == 0 and part["accepted_ms"]["p99"] < 1000,
            f"{part['accepted']} {title} were served, 99 % within {part['accepted_ms']['p99']} ms; {failed} were not"))
    return all(good)


def run(options, cores, shape):
    with tempfile.TemporaryDirectory() as folder, programs.carrier(SUBJECTS) as provider, programs.latchkey(
            options.latchkey, pathlib.Path(folder) / "overload.db", provider.port) as server:
        cores.place(server.pid, cores.server)
        cores.place(provider.pid, cores.others)
        token = programs.tokens(server, 0, 1, "first", True)[0]
        capacity(server, cores, shape, 2, "warm-up")
        most = capacity(server, cores, shape, options.capacity_seconds, "capacity")
        rate = round(options.factor * most)
        say(f"{TITLES[shape]}: the server does {most:.0f} sign-ins a second; {rate} are offered for "
            f"{options.seconds} s, with 50 session checks and 10 probes")
        whole = overload(server, provider, cores, shape, rate, options.seconds, token)
        say(f"the server used {whole['cpu'] / options.seconds:.2f} cores and at most "
            f"{server.memory()['peak']:.0f} MiB")
        return judge(whole, most, options.seconds)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--latchkey", required=True)
parser.add_argument("--seconds", type=int, default=300, help="how long the overload lasts")
parser.add_argument("--capacity-seconds", type=int, default=10, help="how long the capacity is measured before")
parser.add_argument("--factor", type=float, default=2, help="what is offered, of the capacity")
parser.add_argument("--only", choices=SHAPES, help="one kind of connections: kept, or a new one for each request")
options = parser.parse_args()

cores = Cores()
if not cores.are_apart:
    say("this machine has one core: the server shares it with the load")
good = [run(options, cores, shape) for shape in ([options.only] if options.only else SHAPES)]
say("passed" if all(good) else "failed")
sys.exit(0 if all(good) else 1)
