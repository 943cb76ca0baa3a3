"""Measures the figures of docs/scaling.md; see scripts/scaling.

The tables are filled with rows like those of a real sign-in. Values that must differ between users are made anew with
the same length; the other values are copied. Costs are CPU time from /proc, user and system, of the instances and of
all processes of PostgreSQL. Everything shares the cores of this machine, so the costs are meaningful, and the rates and
latencies only beside each other.
"""
import argparse
import base64
import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import measuring  # noqa: E402
import users  # noqa: E402
from postgres import PostgresServer  # noqa: E402
from programs import (  # noqa: E402
    API_KEY, CLIENT, ROOT, TICK_US, carrier, fields, latchkey, require, say, tokens, tree)

CONNECTIONS = 32
INSTANCES = [1, 2, 4]
# The first filled session is so many seconds older than the last one.
AGE = 1_000_000

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True, type=pathlib.Path)
parser.add_argument("--users", type=int, default=100_000)
parser.add_argument("--seconds", type=int, default=3, help="of each load")
parser.add_argument("--rounds", type=int, default=5, help="of each load; the medians are reported")
parser.add_argument("--write", action="store_true", help="write the figures into docs/scaling.md")
options = parser.parse_args()
if options.users < 2_000 or options.seconds < 1 or options.rounds < 1:
    parser.error("--users is 2000 or more, --seconds and --rounds are 1 or more")


class Postgres(PostgresServer):
    """A server whose cost is measured."""

    def cpu(self):
        """CPU time of all its processes, including those that have ended."""
        spent = sum(map(int, fields(self.pid)[11:15]))
        for pid in tree(self.pid)[1:]:
            with contextlib.suppress(OSError):
                spent += sum(map(int, fields(pid)[11:13]))
        return spent * TICK_US

    def bytes(self):
        return int(
            self.ask(f"SELECT sum(pg_total_relation_size(t)) FROM unnest('{{{','.join(users.TABLES)}}}'::regclass[]) t")
        )


class Notifications:
    """Counts the notifications that instances get."""

    def __init__(self, postgres):
        self.psql = subprocess.Popen(
            [postgres.programs / "psql", postgres.url, "-qAtX"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        self.psql.stdin.write("LISTEN latchkey;\n")
        self.count()

    def count(self):
        """Those since the last call."""
        # psql prints notifications after the rows of a statement.
        self.psql.stdin.write("SELECT;\nSELECT 'end';\n")
        self.psql.stdin.flush()
        lines = iter(self.psql.stdout.readline, "end\n")
        return sum("Asynchronous notification" in line for line in lines)

    def end(self):
        self.psql.stdin.close()
        self.psql.wait(10)


# Rows


def token(kind, number):
    """The `session` or `refresh` token of a filled session: a time, which orders the hashes, and random bytes."""
    time_of_issue = (number * AGE << 16) // options.users
    return base64.urlsafe_b64encode(
        time_of_issue.to_bytes(6, "big") + hashlib.sha256(f"{kind}-{number}".encode()).digest()[:30]).decode()


TOKENS = {"token_hash": "session", "refresh_hash": "refresh"}
UNIQUE = {"users": ["public_id"], "identities": ["subject"], "sessions": ["id"]}


def fill(postgres, count):
    """Replaces the users by `count` others with an identity and a session each, modelled on the newest rows."""
    made_time = f"substring(int8send((g * {AGE}::bigint << 16) / {options.users}) FROM 3)"
    made_token = f"{made_time} || substring(sha256(convert_to('{{}}-' || g, 'UTF8')) FOR 30)"
    made_text = f"translate(encode({made_token}, 'base64'), '+/', '-_')"
    for table, order in users.TABLES.items():
        postgres.ask(f"CREATE TABLE model_{table} AS SELECT * FROM {table} ORDER BY {order} DESC LIMIT 1")
    # Those of real sign-ins are younger than the others, and would be after them in the indexes.
    postgres.ask("TRUNCATE users, identities, sessions CASCADE")
    for table in users.TABLES:
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
                value = "g"
            elif name in TOKENS:
                hashed = f"sha256(convert_to({made_text.format(TOKENS[name])}, 'UTF8'))"
                value = f"{made_time} || substring({hashed} FROM 7)"
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
            f"model_{table} t; DROP TABLE model_{table}"
        )
    postgres.ask("SELECT setval(pg_get_serial_sequence('users', 'id'), (SELECT max(id) FROM users))")
    postgres.ask("VACUUM ANALYZE")


# Loads


class Meter:
    """Measures loads that are spread over some instances."""

    def __init__(self, postgres, folder, notifications):
        self.postgres, self.folder, self.notifications = postgres, folder, notifications

    def measure(self, name, instances, script, shares):
        """The figures of a load, of which each instance gets a share: the arguments of the script."""
        say(name)
        self.notifications.count()
        spent, database = sum(instance.cpu_us() for instance in instances), self.postgres.cpu()
        with concurrent.futures.ThreadPoolExecutor(len(instances)) as pool:
            reports = list(pool.map(
                lambda instance, share: measuring.wrk(
                    instance, script, [API_KEY, *share], CONNECTIONS // len(instances), options.seconds),
                instances, shares))
        calls = sum(report["requests"] for report in reports)
        return {
            "calls": calls,
            "instance": (sum(instance.cpu_us() for instance in instances) - spent) / calls,
            "postgres": (self.postgres.cpu() - database) / calls,
            "rate": sum(report["requests"] / report["seconds"] for report in reports),
            "p50": statistics.median(report["p50_ms"] for report in reports),
            "p99": max(report["p99_ms"] for report in reports),
            "notified": self.notifications.count() / calls,
        }

    def file(self, lines, *more):
        """The share of the only instance: a file with these tokens, and further arguments."""
        path = pathlib.Path(self.folder) / "tokens"
        path.write_text("\n".join(lines) + "\n")
        return [[path, *more]]


class NewUsers:
    """The users of the carrier who have not signed in yet."""

    def __init__(self, loads):
        # More than a core can do: a load that has no new users left begins again.
        self.each = options.seconds * 6_000
        self.count, self.next = loads * self.each + 200, 200

    def shares(self, instances):
        each = self.each // len(instances)
        firsts = [self.next + number * each for number in range(len(instances))]
        self.next += self.each
        return [[CLIENT, f"r{self.next}", first, first + each - 1, "carrier"] for first in firsts]


def measure(folder):
    """The figures by name."""
    os.chmod(folder, 0o755)
    os.mkdir(f"{folder}/postgres")
    rounds = range(options.rounds)
    new = NewUsers(options.rounds * (1 + len(INSTANCES)))
    with contextlib.ExitStack() as programs:
        postgres = Postgres(f"{folder}/postgres")
        programs.callback(postgres.end)
        provider = programs.enter_context(carrier(new.count))
        first = programs.enter_context(latchkey(options.latchkey, postgres.url, provider.port))
        tokens(first, 0, 200, "warm", is_kept_alive=True)
        notifications = Notifications(postgres)
        programs.callback(notifications.end)
        meter = Meter(postgres, folder, notifications)
        rows = {}

        def load(name, count, instances, script, shares):
            rows.setdefault((name, count), []).append(
                meter.measure(f"{name}, {len(instances)} instances", instances, script, shares))

        for _ in rounds:
            load("sign-in, few users", 1, [first], "sign_in.lua", new.shares([first]))
        say(f"filling PostgreSQL with {options.users} users")
        fill(postgres, options.users)
        per_user = postgres.bytes() / options.users
        instances = [first] + [
            programs.enter_context(latchkey(options.latchkey, postgres.url, provider.port))
            for _ in range(max(INSTANCES) - 1)]
        for _ in rounds:
            for count in INSTANCES:
                load("sign-in", count, instances[:count], "sign_in.lua", new.shares(instances[:count]))
        # Sessions spread over the table, as in practice: neighbours would meet in its indexes.
        numbers = random.Random(1).sample(range(1, options.users + 1), options.users)
        third = options.users // 3
        refreshed = [token("refresh", number) for number in numbers[:third]]
        for turn in rounds:
            share = third // options.rounds
            load("refresh", 1, [first], "use_once.lua", meter.file(refreshed[turn * share:][:share], "refresh"))
        size = "SELECT pg_total_relation_size('spent_refresh_tokens') / greatest(count(*), 1) FROM spent_refresh_tokens"
        family = int(postgres.ask(size))
        # Sessions that were not refreshed: 1,000 are cached; the others are each new to the instance, and then ended.
        others = [token("session", number) for number in numbers[third:]]
        for _ in rounds:
            load("session check, cached", 1, [first], "session_check.lua", meter.file(others[:1_000], "me"))
        share = (len(others) - 1_000) // options.rounds
        for turn in rounds:
            some = others[1_000 + turn * share:][:share]
            load("session check, not cached", 1, [first], "session_check.lua", meter.file(some, "me"))
        for turn in rounds:
            ended = others[1_000 + turn * share:][:share]
            load("sign-out", 1, [first], "use_once.lua", meter.file(ended, "end"))
        memory = first.memory()["end"]
        version = postgres.ask("SHOW server_version").split()[0]
    return {
        "rows": {key: measuring.medians(found) for key, found in rows.items()}, "per_user": per_user, "family": family,
        "memory": memory, "version": version, "sqlite": sqlite_bytes()}


def sqlite_bytes():
    """Bytes of a user with an identity and a session."""
    path = users.database(options.latchkey, options.users)
    with contextlib.closing(sqlite3.connect(path)) as database:
        pages, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return pages * size / options.users


# Report


def hundred_millions(figures):
    """The arithmetic of docs/scaling.md with these figures."""
    count = 100e6
    rates = {"sign-in": 93, "refresh": 2_500, "session check, not cached": 8_333, "session check, cached": 8_333}
    instance, database = (
        sum(rate * figures["rows"][name, 1][whose] for name, rate in rates.items()) / 1e6
        for whose in ("instance", "postgres")
    )
    return [
        "| PostgreSQL: users, each with a refreshed session "
        f"| 100 million × ({figures['per_user']:.0f} + {figures['family']}) B | "
        f"{count * (figures['per_user'] + figures['family']) / 1e9:.0f} GB |",
        f"| cores of the instances, at the peak | rates × µs of an instance | {instance:.2f} |",
        f"| cores of PostgreSQL, at the peak | rates × µs of PostgreSQL | {database:.2f} |",
    ]


def processor():
    return next((line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")), "unknown")


def report(figures):
    lines = [
        f"{time.strftime('%Y-%m-%d')}; {options.users:,} users, PostgreSQL {figures['version']} with default settings; "
        f"medians of {options.rounds} loads, each of {options.seconds} s on {CONNECTIONS} connections in all; "
        f"{os.cpu_count()} cores ({processor()}), shared by the instances, PostgreSQL, the load and the carrier.",
        "",
        "| sign-ins of new users | per second | CPU µs of the instances | CPU µs of PostgreSQL | p50 ms | p99 ms |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {count} instance{'s' if count > 1 else ''} | {row['rate']:.0f} | {row['instance']:.0f} | "
        f"{row['postgres']:.0f} | {row['p50']:.1f} | {row['p99']:.1f} |"
        for (name, count), row in figures["rows"].items() if name == "sign-in"]
    lines += [
        "", "| call, one instance | CPU µs of the instance | CPU µs of PostgreSQL | notifications |",
        "|---|---:|---:|---:|"]
    lines += [
        f"| {name} | {row['instance']:.0f} | {row['postgres']:.0f} | {row['notified']:.2f} |"
        for (name, count), row in figures["rows"].items() if count == 1]
    lines += ["", "| what | bytes |", "|---|---:|",
              f"| a user with an identity and a session, in PostgreSQL | {figures['per_user']:.0f} |",
              f"| an additional row for a refreshed session, in PostgreSQL | {figures['family']} |",
              f"| a user with an identity and a session, in SQLite | {figures['sqlite']:.0f} |",
              f"| memory of an instance, at the end | {figures['memory']:.0f} MiB |",
              "", "| 100 million users | from | |", "|---|---|---:|", *hundred_millions(figures)]
    return "\n".join(lines)


def write(text):
    path = ROOT / "docs" / "scaling.md"
    document = path.read_text()
    start, end = "<!-- figures: begin -->\n", "<!-- figures: end -->"
    head, rest = document.split(start)
    path.write_text(f"{head}{start}{text}\n{end}{rest.split(end)[1]}")
    say("written into docs/scaling.md")


def main():
    require(options.latchkey, "run make build")
    require("wrk", "run scripts/setup --bench")
    # PostgreSQL's user must be able to access it, too.
    with tempfile.TemporaryDirectory(prefix="latchkey-scaling-", dir="/tmp") as folder:
        text = report(measure(folder))
    print(text)
    if options.write:
        write(text)


main()
