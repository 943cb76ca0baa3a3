"""Loads of a server, and what they cost it."""
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from programs import API_KEY, CLIENT, HERE, fail, in_path, say, tokens, tree

EVENTS = {"instructions:u": "user", "instructions:k": "kernel", "raw_syscalls:sys_enter": "calls"}


def machine():
    """All and stolen ticks of the machine."""
    ticks = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    return sum(ticks), ticks[7]


class Counting:
    """What this machine can count, found out once."""

    def __init__(self):
        self.with_perf, self.notes = [], []
        if in_path("perf"):
            found = self.perf_figures(["true"])
            self.with_perf = [event for event in EVENTS if event in found]
            if "instructions:u" not in found:
                self.notes.append(
                    "Instructions are not counted: perf finds no such counter on this machine, or may not read it "
                    "(many virtual machines have none). `make instructions` counts them with valgrind.")
        else:
            self.notes.append(
                "Instructions are not counted: perf is not installed. `make instructions` counts them with valgrind.")
        self.with_strace = "raw_syscalls:sys_enter" not in self.with_perf and in_path("strace") and not subprocess.run(
            ["strace", "-c", "-f", "-o", "/dev/null", "true"], capture_output=True).returncode
        if self.with_strace:
            self.notes.append("System calls are counted with strace, which slows the server, so that batches differ.")
        elif "raw_syscalls:sys_enter" not in self.with_perf:
            self.notes.append("System calls are not counted: perf may not read them here, and strace cannot be used.")

    @property
    def is_possible(self):
        return bool(self.with_perf) or self.with_strace

    @staticmethod
    def perf_figures(words):
        with tempfile.NamedTemporaryFile("r") as file:
            command = ["perf", "stat", "-x,", "-o", file.name, "-e", ",".join(EVENTS), "--", *words]
            subprocess.run(command, capture_output=True)
            return Counting.read_perf(file.name)

    @staticmethod
    def read_perf(path):
        found = {}
        for line in pathlib.Path(path).read_text().splitlines():
            columns = line.split(",")
            if len(columns) > 2 and columns[2] in EVENTS and columns[0].isdigit():
                found[columns[2]] = int(columns[0])
        return found

    def during(self, server, run):
        """Runs a load while the server is counted; returns the figures by name, and the load's report."""
        pids = ",".join(map(str, tree(server.pid)))
        with tempfile.NamedTemporaryFile("r") as file:
            if self.with_perf:
                words = ["perf", "stat", "-x,", "-o", file.name, "-e", ",".join(self.with_perf), "-p", pids]
            else:
                words = ["strace", "-c", "-f", "-o", file.name, "-p", pids]
            counter = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                # Both have attached by then; what they miss is a small part of the load.
                time.sleep(0.2)
                report = run()
            finally:
                counter.send_signal(signal.SIGINT)
                try:
                    counter.wait(20)
                except subprocess.TimeoutExpired:
                    counter.kill()
                    counter.wait()
            if self.with_perf:
                figures = {EVENTS[event]: count for event, count in self.read_perf(file.name).items()}
            else:
                figures = self.read_strace(file.name)
        return figures, report

    @staticmethod
    def read_strace(path):
        lines = pathlib.Path(path).read_text(errors="replace").splitlines()
        header = next((line for line in lines if " calls " in line), None)
        total = next((line for line in lines if line.rstrip().endswith(" total")), None)
        if not header or not total:
            return {}
        return {"calls": int(total[:header.index(" calls ") + len(" calls")].split()[-1])}


def wrk(server, script, arguments, connections, seconds):
    """Runs wrk; returns its report."""
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(HERE / script),
             f"http://127.0.0.1:{server.port}", "--", *map(str, arguments)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds + 60)
    except subprocess.TimeoutExpired:
        fail(f"wrk did not end within {seconds + 60} s: {server.last_line()}")
    text = done.stdout.partition("REPORT ")[2]
    if done.returncode or not text:
        fail(f"wrk ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    report = json.loads(text)
    if report["failed"] or not report["requests"]:
        fail(f"{report['failed']} of {report['requests']} requests of {script} failed at {server.name}:\n"
             f"{server.text()[-2000:]}")
    return report


class Users:
    """The users of a carrier whose codes a load can post.

    `known`: users 0 to known - 1 are in the database from the start. The others, up to `subjects`, are new.
    `new_per_second`: how many new users a second of a load on some connections may use up.
    """

    def __init__(self, subjects, known, new_per_second):
        self.subjects, self.known, self.next_new, self.rounds = subjects, known, known, 0
        self.new_per_second = new_per_second

    def warm_up(self, server, count, is_kept_alive=True):
        """Signs users in; returns their tokens. These are new users, if none was in the database."""
        if self.known:
            self.rounds += 1
            return tokens(server, 0, min(count, self.known), f"warm{self.rounds}", is_kept_alive)
        found = tokens(server, self.next_new, count, "warm", is_kept_alive)
        self.next_new += count
        self.known = self.next_new
        return found

    def arguments(self, kind, connections, seconds):
        self.rounds += 1
        if kind == "known":
            return [API_KEY, CLIENT, f"r{self.rounds}", 0, self.known - 1]
        first = self.next_new
        last = min(self.subjects - 1, first + seconds * self.new_per_second(connections))
        if last - first < 2 * connections:
            fail("the carrier has too few new users for this load")
        return [API_KEY, CLIENT, f"r{self.rounds}", first, last]

    def posted(self, kind, report, connections, arguments):
        """Counts the users that are no longer new; returns the share of new users among the load's."""
        if kind == "known":
            return 0
        first, last = arguments[-2:]
        self.next_new = min(last + 1, first + report["requests"] + 2 * connections)
        return min(1, (last + 1 - first) / report["requests"])


class Meter:
    """Measures loads of one server."""

    def __init__(self, server, users, settings):
        self.server, self.users, self.counting = server, users, settings.counting
        # A short run counts during the load; otherwise counting has a window of its own, as it slows the server.
        self.has_window = not settings.is_quick
        self.folder = tempfile.TemporaryDirectory()

    def sign_in(self, kind, connections, seconds, way="carrier", is_counted=True):
        """Sign-ins of `new` or `known` users: with a carrier's code, or by `number` with an operator token."""
        def run(seconds):
            arguments = self.users.arguments(kind, connections, seconds)
            report = wrk(self.server, "sign_in.lua", [*arguments, way], connections, seconds)
            shares.append(self.users.posted(kind, report, connections, arguments))
            return report

        shares = []
        figures = self.measure(run, seconds, is_counted)
        return figures | ({"new": shares[0]} if kind == "new" else {})

    def check(self, kind, tokens, connections, seconds):
        """Session checks: `me` or `introspect`."""
        path = pathlib.Path(self.folder.name) / "tokens"
        path.write_text("\n".join(tokens) + "\n")
        return self.measure(
            lambda seconds: wrk(self.server, "session_check.lua", [API_KEY, path, kind], connections, seconds), seconds)

    def measure(self, run, seconds, is_counted=True):
        """The figures of a load; those that must be counted only if `is_counted`, because that takes a second."""
        before, cpu, stolen = self.server.switches(), self.server.cpu_us(), machine()
        counts, counted = {}, None
        if self.has_window or not is_counted or not self.counting.is_possible:
            report = run(seconds)
        else:
            counts, report = self.counting.during(self.server, lambda: run(seconds))
            counted = report
        after, spent, ticks = self.server.switches(), self.server.cpu_us() - cpu, machine()
        requests = report["requests"]
        figures = {
            "rate": requests / report["seconds"], "p50": report["p50_ms"], "p99": report["p99_ms"],
            "cpu": spent / requests,
            "switches": sum(count - before.get(task, 0) for task, count in after.items()) / requests,
            "stolen": (ticks[1] - stolen[1]) / max(1, ticks[0] - stolen[0])}
        if self.has_window and is_counted and self.counting.is_possible:
            counts, counted = self.counting.during(self.server, lambda: run(1))
        if "calls" in counts:
            figures["calls"] = counts["calls"] / counted["requests"]
        if "user" in counts:
            figures["instructions"] = (counts["user"] + counts.get("kernel", 0)) / counted["requests"] / 1000
        return figures


def medians(rows):
    """The median of each figure, among the rows that have it."""
    names = set().union(*rows)
    return {name: statistics.median(row[name] for row in rows if name in row) for name in names}


COLUMNS = [
    ("rate", "per second"), ("cpu", "CPU µs"), ("instructions", "thousand instructions"),
    ("switches", "context switches"), ("calls", "system calls"), ("p50", "p50 ms"), ("p99", "p99 ms")]


def number(value):
    """With three significant digits, but no fraction of large numbers."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(rows, heads):
    """Rows are the cells of `heads`, and the figures. Columns that no row has are left out."""
    columns = [(name, title) for name, title in COLUMNS if any(name in figures for *_, figures in rows)]
    lines = ["| " + " | ".join([*heads, *(title for _, title in columns)]) + " |",
             "|---" * len(heads) + "|---:" * len(columns) + "|"]
    for *cells, figures in rows:
        numbers = [number(figures.get(name)) for name, _ in columns]
        lines.append("| " + " | ".join([*map(str, cells), *numbers]) + " |")
    return "\n".join(lines)


def notes(rows):
    """What disturbed a table's figures."""
    found = []
    worst = max((figures.get("stolen", 0) for *_, figures in rows), default=0)
    if worst >= 0.02:
        found.append(f"Other guests of this machine's host took up to {worst:.0%} of its time, which raises times and "
                     "CPU time.")
    least = min((figures.get("new", 1) for *_, figures in rows), default=1)
    if least < 0.98:
        found.append(f"The carrier had too few new users for some loads: of the sign-ins of new users, as few as "
                     f"{least:.0%} were; the others signed in again.")
    return ["", *found] if found else []
