"""Measures the figures of docs/scaling.md; see scripts/scaling.

The tables are filled with rows like those of a real sign-in. Values that must differ between users are generated with
the same length; the other values are copied. Costs are CPU time from /proc, user and system. They are measured for
the instance and for all processes of PostgreSQL. Everything shares the cores of this machine, so the costs are
meaningful, but the rates are not.
"""
import argparse
import base64
import concurrent.futures
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from postgres import PostgresServer

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEY, CLIENT, SECRET, REDIRECT = (
    "key-of-the-scaling-0123456789",
    "ccid-scaling",
    "secret-of-the-scaling",
    "https://app.example/callback",
)
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
TABLES = ["users", "identities", "sessions"]
# Cached sessions of an instance: Sources/SignIn/Sessions/SessionCache.swift.
AT_HAND = 4_096

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--latchkey-dev", required=True)
parser.add_argument("--users", type=int, default=100_000)
parser.add_argument(
    "--calls", type=int, default=4_000, help="calls of each kind, at most 9000: the simulator keeps 10,000 codes"
)
parser.add_argument("--connections", type=int, default=16)
parser.add_argument("--write", action="store_true", help="write the figures into docs/scaling.md")
options = parser.parse_args()
if not 100 <= options.calls <= 9_000 or options.users < 1_000:
    raise SystemExit("scaling: --calls is 100 to 9000, and --users 1000 or more")


def say(text):
    print(f"scaling: {text}", file=sys.stderr, flush=True)


# Processes


def cpu_us(pid, reaped=False):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15] if reaped else fields[11:13])) * TICK_US


def resident(pid):
    """Bytes."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) * 1024


class Program:
    def __init__(self, words, log, pattern, **environment):
        with open(log, "w") as output:
            self.process = subprocess.Popen(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                                            env={"PATH": os.environ["PATH"], **environment})
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            found = re.search(pattern, pathlib.Path(log).read_text(), re.DOTALL)
            if found:
                self.found = found.group(1)
                return
            time.sleep(0.05)
        self.end()
        raise SystemExit(f"scaling: {words[0]} did not start:\n{pathlib.Path(log).read_text()[-2000:]}")

    @property
    def pid(self):
        return self.process.pid

    def cpu(self):
        return cpu_us(self.pid)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Postgres(PostgresServer):
    """A server whose cost is measured."""

    def cpu(self):
        """CPU time of all its processes, including those that have ended."""
        spent = cpu_us(self.pid, reaped=True)
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(path.read_text().rpartition(")")[2].split()[1]) == self.pid:
                    spent += cpu_us(path.parent.name)
            except OSError:
                pass
        return spent

    def bytes(self):
        return int(
            self.ask(f"SELECT sum(pg_total_relation_size(t)) FROM unnest('{{{','.join(TABLES)}}}'::regclass[]) t")
        )


# Rows


def token(kind, number):
    """A token of a generated session, `session` or `refresh`: 43 characters, like Latchkey's."""
    return base64.urlsafe_b64encode(hashlib.sha256(f"{kind}-{number}".encode()).digest()).decode().rstrip("=")


TOKENS = {"token_hash": "session", "refresh_hash": "refresh"}
UNIQUE = {"users": ["public_id"], "identities": ["subject"], "sessions": ["id"]}


def fill_postgres(postgres, count):
    """Adds `count` users with an identity and a session each, modelled on the newest rows."""
    first = int(postgres.ask("SELECT max(id) FROM users"))
    made_token = "rtrim(translate(encode(sha256(convert_to('{}-' || g, 'UTF8')), 'base64'), '+/', '-_'), '=')"
    for table in TABLES:
        order = {"users": "id", "identities": "user_id", "sessions": "serial"}[table]
        columns = postgres.ask(
            "SELECT attname || ' ' || format_type(atttypid, NULL) FROM pg_attribute "
            f"WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        ).split("\n")
        names, values = [], []
        for name, kind in (column.split(" ", 1) for column in columns):
            value = f"t.{name}"
            if (table, name) == ("sessions", "serial"):
                continue
            if name in ("id", "user_id") and kind == "bigint":
                value = f"{first} + g"
            elif name in TOKENS:
                value = f"sha256(convert_to({made_token.format(TOKENS[name])}, 'UTF8'))"
            elif name in UNIQUE[table]:
                made = f"sha256(convert_to('{table}-{name}-' || g, 'UTF8'))"
                value = (
                    f"substring({made} for length(t.{name}))"
                    if kind == "bytea"
                    else f"left(rtrim(translate(encode({made} || {made}, 'base64'), E'+/\\n', '-_'), '='), "
                    f"length(t.{name}))"
                )
            names.append(name)
            values.append(value)
        postgres.ask(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM generate_series(1, {count}) g, "
            f"(SELECT * FROM {table} ORDER BY {order} DESC LIMIT 1) t"
        )
    postgres.ask("SELECT setval(pg_get_serial_sequence('users', 'id'), (SELECT max(id) FROM users))")
    postgres.ask("VACUUM ANALYZE")


def fill_sqlite(path, count):
    """Like fill_postgres; returns the growth in bytes."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")

    def size():
        return database.execute("PRAGMA page_count").fetchone()[0] * database.execute("PRAGMA page_size").fetchone()[0]

    before, first = size(), database.execute("SELECT max(id) FROM users").fetchone()[0]
    patterns = {}
    for table, order in (("users", "id"), ("identities", "user_id"), ("sessions", "serial")):
        cursor = database.execute(f"SELECT * FROM {table} ORDER BY {order} DESC LIMIT 1")
        patterns[table] = ([column[0] for column in cursor.description], cursor.fetchone())
    # In steps of 1,000 users, because real sign-ins interleave the pages of the three tables.
    for start in range(1, count + 1, 1_000):
        for table, (names, row) in patterns.items():
            rows = [[sqlite_value(table, name, value, first, number) for name, value in zip(names, row)]
                    for number in range(start, min(start + 1_000, count + 1))]
            database.executemany(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", rows
            )
        database.commit()
    grown = size() - before
    database.close()
    return grown


def sqlite_value(table, name, value, first, number):
    if (table, name) == ("sessions", "serial"):
        return None
    if (table, name) == ("users", "id") or name == "user_id":
        return first + number
    if name in TOKENS:
        return hashlib.sha256(token(TOKENS[name], number).encode()).digest()
    if name in UNIQUE[table]:
        made = hashlib.sha512(f"{table}-{name}-{number}".encode()).digest()
        return made[:len(value)] if isinstance(value, bytes) else base64.urlsafe_b64encode(made).decode()[:len(value)]
    return value


# Calls


def codes(simulator, count):
    port = urllib.parse.urlsplit(simulator.found).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    bodies = []
    for number in range(count):
        form = urllib.parse.urlencode(
            {"scope": "openid", "mccmnc": ["310010", "310260", "310410", "311870"][number % 4]}
        )
        connection.request("POST", "/demo/codes", form, {"Content-Type": "application/x-www-form-urlencoded"})
        bodies.append(connection.getresponse().read().decode())
    return bodies


class Caller(threading.local):
    connection = None


def call(port, callers, method, path, body=None, **headers):
    if callers.connection is None:
        callers.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    callers.connection.request(method, path, body, {"X-API-KEY": KEY, **headers})
    answer = callers.connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"scaling: {method} {path} got {answer.status}: {content.decode()}")
    return json.loads(content)


def each(ports, items, one):
    """Runs a call for each item, distributed over the ports, on kept-alive connections; returns the results."""
    shares = [items[number::len(ports)] for number in range(len(ports))]
    results = []
    per_port = max(1, options.connections // len(ports))
    pools = [concurrent.futures.ThreadPoolExecutor(per_port) for _ in ports]
    try:
        running = []
        for port, share, pool in zip(ports, shares, pools):
            callers = Caller()
            running += [pool.submit(one, port, callers, item) for item in share]
        for result in running:
            results.append(result.result())
    finally:
        for pool in pools:
            pool.shutdown(cancel_futures=True)
    return results


def sign_in(port, callers, body):
    return call(port, callers, "POST", "/auth/zenkey-signin", body, **{"Content-Type": "application/json"})


def refresh(port, callers, refresh_token):
    form = urllib.parse.urlencode({"grant_type": "refresh_token", "refresh_token": refresh_token})
    return call(port, callers, "POST", "/auth/token", form, **{"Content-Type": "application/x-www-form-urlencoded"})


def me(port, callers, bearer):
    return call(port, callers, "GET", "/users/me", Authorization=f"Bearer {bearer}")


class Meter:
    """Measures the cost per call for the instances and the database."""

    def __init__(self, instances, postgres):
        self.instances, self.postgres, self.rows = instances, postgres, []

    def measure(self, name, items, one):
        say(name)
        ports = [urllib.parse.urlsplit(instance.found).port for instance in self.instances]
        before, database = [instance.cpu() for instance in self.instances], self.postgres.cpu()
        began = time.monotonic()
        results = each(ports, items, one)
        took = time.monotonic() - began
        spent = sum(instance.cpu() for instance in self.instances) - sum(before)
        row = {"name": name, "instance": spent / len(items), "postgres": (self.postgres.cpu() - database) / len(items),
               "rate": len(items) / took}
        self.rows.append(row)
        return results, row


def start_instance(folder, name, simulator, database):
    return Program([options.latchkey, "serve"], f"{folder}/{name}.log", r"listening.*?(http://127\.0\.0\.1:\d+)\s",
                   LATCHKEY_HTTP_PORT="0", LATCHKEY_API_KEYS=KEY, LATCHKEY_ALLOW_LOOPBACK_HTTP="true",
                   LATCHKEY_ZENKEY_CLIENTS=f"{CLIENT}:{SECRET}", LATCHKEY_ZENKEY_DISCOVERY_URL=simulator.found,
                   LATCHKEY_ZENKEY_TRUSTED_ISSUERS="127.0.0.1", LATCHKEY_DATABASE_URL=database,
                   LATCHKEY_RATE_LIMITS="off", LATCHKEY_LOG_LEVEL="notice")


def measure(folder):
    running = []
    try:
        simulator = Program([options.latchkey_dev, "carrier", "--client", f"{CLIENT}:{SECRET}:{REDIRECT}"],
                            f"{folder}/simulator.log", r"discovery +(\S+)")
        running.append(simulator)
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/postgres")
        postgres = Postgres(f"{folder}/postgres")
        running.append(postgres)
        first = start_instance(folder, "first", simulator, postgres.url)
        running.append(first)
        figures = measure_postgres(folder, simulator, postgres, first, running)
        figures["sqlite"] = measure_sqlite(folder, simulator)
        return figures
    finally:
        for program in reversed(running):
            program.end()


def measure_postgres(folder, simulator, postgres, first, running):
    count = options.calls
    meter = Meter([first], postgres)
    each([urllib.parse.urlsplit(first.found).port], codes(simulator, 100), sign_in)
    _, few = meter.measure("sign-in, few users", codes(simulator, count), sign_in)
    say(f"filling PostgreSQL with {options.users} users")
    postgres.ask("VACUUM ANALYZE")
    before = postgres.bytes()
    fill_postgres(postgres, options.users)
    per_user = (postgres.bytes() - before) / options.users
    _, many = meter.measure("sign-in, many users", codes(simulator, count), sign_in)
    # Sessions spread over the table, as in practice: neighbours would conflict in its indexes.
    some = random.Random(1).sample(range(1, options.users + 1), min(count, options.users))
    refreshed, refreshes = meter.measure("refresh", [token("refresh", number) for number in some], refresh)
    family = int(
        postgres.ask("SELECT pg_total_relation_size('spent_refresh_tokens') / count(*) FROM spent_refresh_tokens")
    )
    near = [tokens["token"] for tokens in refreshed[:min(count, AT_HAND // 4)]]
    _, at_hand = meter.measure("session check, cached", near * max(1, count // len(near)), me)
    # Each session once, so that none is cached.
    filled = [token("session", number) for number in sorted(set(range(1, options.users + 1)) - set(some))][
        : AT_HAND // 2
    ]
    _, away = meter.measure("session check, not cached", filled, me)
    second = start_instance(folder, "second", simulator, postgres.url)
    running.append(second)
    each([urllib.parse.urlsplit(second.found).port], codes(simulator, 100), sign_in)
    both = Meter([first, second], postgres)
    _, two = both.measure("sign-in, many users, two instances", codes(simulator, count), sign_in)
    return {
        "rows": meter.rows + both.rows,
        "per_user": per_user,
        "family": family,
        "few": few,
        "many": many,
        "refresh": refreshes,
        "at_hand": at_hand,
        "away": away,
        "two": two,
        "resident": resident(first.pid),
        "version": postgres.ask("SHOW server_version").split()[0],
    }


def measure_sqlite(folder, simulator):
    say(f"filling an SQLite file with {options.users} users")
    path = f"{folder}/latchkey.db"
    instance = start_instance(folder, "sqlite", simulator, f"sqlite:///{path}")
    try:
        each([urllib.parse.urlsplit(instance.found).port], codes(simulator, 20), sign_in)
    finally:
        instance.end()
    return fill_sqlite(path, options.users) / options.users


# Report


def hundred_millions(figures):
    """The arithmetic of docs/scaling.md with these figures."""
    users, rates = 100e6, {"many": 93, "refresh": 2_500, "away": 8_333, "at_hand": 8_333}
    instance, database = (
        sum(rate * figures[kind][whose] for kind, rate in rates.items()) / 1e6 for whose in ("instance", "postgres")
    )
    return [
        "| PostgreSQL: users, each with a refreshed session "
        f"| 100 million × ({figures['per_user']:.0f} + {figures['family']}) B | "
        f"{users * (figures['per_user'] + figures['family']) / 1e9:.0f} GB |",
        f"| cores of the instances, at the peak | rates × µs of an instance | {instance:.2f} |",
        f"| cores of PostgreSQL, at the peak | rates × µs of PostgreSQL | {database:.2f} |",
    ]


def report(figures):
    lines = [
        f"{options.users} users, PostgreSQL {figures['version']}, {options.calls} calls of each kind "
        f"on {options.connections} connections, {os.cpu_count()} cores shared by all:",
        "",
        "| call | CPU µs of the instance | CPU µs of PostgreSQL | per second, on one core of an instance |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {row['name']} | {row['instance']:.0f} | {row['postgres']:.0f} | {1e6 / max(row['instance'], 1):.0f} |"
        for row in figures["rows"]
    ]
    lines += ["", "| what | bytes |", "|---|---:|",
              f"| a user with an identity and a session, in PostgreSQL | {figures['per_user']:.0f} |",
              f"| an additional row for a refreshed session, in PostgreSQL | {figures['family']} |",
              f"| a user with an identity and a session, in SQLite | {figures['sqlite']:.0f} |",
              f"| memory of an instance, at the end | {figures['resident']:.0f} |",
              "", "| 100 million users | from | |", "|---|---|---:|", *hundred_millions(figures)]
    return "\n".join(lines)


def write(text):
    path = ROOT / "docs" / "scaling.md"
    document = path.read_text()
    start, end = "<!-- figures: begin -->\n", "<!-- figures: end -->"
    head, rest = document.split(start)
    tail = rest.split(end)[1]
    path.write_text(f"{head}{start}{text}\n{end}{tail}")
    say("written into docs/scaling.md")


def main():
    for program in (options.latchkey, options.latchkey_dev):
        if not shutil.which(program):
            raise SystemExit(f"scaling: {program} does not exist; run make build")
    # PostgreSQL's user must be able to access it, too.
    with tempfile.TemporaryDirectory(prefix="latchkey-scaling-", dir="/tmp") as folder:
        text = report(measure(folder))
    print(text)
    if options.write:
        write(text)


main()
