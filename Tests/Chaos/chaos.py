"""Injects faults into a server under load, one after the other; see scripts/chaos. Ends after the time.

Apps sign in, refresh and sign out all the time. What the server acknowledges is noted: at the end each acknowledged
session that nobody ended is valid, and each session whose end was acknowledged is not, before and after a restart.
"""
import argparse
import asyncio
import collections
import json
import mmap
import os
import pathlib
import random
import signal
import socket
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "Tests" / "Soak"), str(ROOT / "Benchmarks")]

import programs  # noqa: E402
from postgres import PostgresServer, free_port  # noqa: E402
from programs import KEY, Line, descriptors, memory  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--latchkey-dev", required=True)
parser.add_argument("--disk", required=True, help="the library made of disk.c")
parser.add_argument("--seconds", type=int, default=3600, help="half of them for each kind of database")
parser.add_argument("--databases", nargs="+", choices=["sqlite", "postgres", "pooled"],
                    default=["sqlite", "postgres"])
parser.add_argument("--workers", type=int, default=10)
parser.add_argument("--cycles", type=float, default=30, help="sign-ins per second")
parser.add_argument("--kills", type=int, help="instead of all faults: kill the server so often, on each database; each "
                    "second time, PostgreSQL in its place")
options = parser.parse_args()
seconds = options.seconds / len(options.databases)

KEYED = [f"X-API-KEY: {KEY}"]
JSON = KEYED + ["Content-Type: application/json"]
FORM = KEYED + ["Content-Type: application/x-www-form-urlencoded"]
# A call without a response: the server was killed, or closed the connection.
LOST = (OSError, EOFError, asyncio.TimeoutError, asyncio.IncompleteReadError)


def say(text):
    print(f"chaos: {text}", flush=True)


def expect(holds, text):
    say(f"{'ok      ' if holds else 'PROBLEM '}{text}")
    return holds


# How many sessions have no user, how many identities have two, and how many users have none: a sign-in that made a user
# for an identity which another one had just stored has removed it.
WRONG_ROWS = """
    SELECT (SELECT count(*) FROM sessions WHERE user_id NOT IN (SELECT id FROM users))
        + (SELECT count(*) FROM identities WHERE user_id NOT IN (SELECT id FROM users))
        + (SELECT count(*) FROM (SELECT 1 FROM identities GROUP BY issuer, subject HAVING count(*) > 1) AS doubled)
        + (SELECT count(*) FROM users WHERE id NOT IN (SELECT user_id FROM identities))
"""


class Disk:
    """The faults of the server's disk (disk.c)."""

    FIELDS = ("events", "concerned", "write_error", "sync_error", "read_error", "skips_syncs", "sync_milliseconds",
              "skips_writes", "is_limited", "room", "faults")

    def __init__(self, library, folder):
        path = f"{folder}/control"
        pathlib.Path(path).write_bytes(bytes(4096))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 4096)
        os.mkdir(f"{folder}/data")
        self.folder = f"{folder}/data"
        self.environment = {"LD_PRELOAD": library, "LATCHKEY_DISK_FOLDER": self.folder, "LATCHKEY_DISK_CONTROL": path}

    def __setitem__(self, field, value):
        struct.pack_into("=q", self.page, 8 * self.FIELDS.index(field), value)

    def __getitem__(self, field):
        return struct.unpack_from("=q", self.page, 8 * self.FIELDS.index(field))[0]

    def set(self, **faults):
        """Sets these faults for all files, and ends all others."""
        self["concerned"] = 0
        for field in self.FIELDS[2:-1]:
            self[field] = faults.get(field, 0)
        self["concerned"] = 31 if faults else 0


class SQLite:
    """A database on a disk with faults."""

    FAULTS = {
        "full disk": dict(is_limited=1, room=0),
        "read-only disk": dict(write_error=30),
        "errors on writing": dict(write_error=5),
        "errors on syncing": dict(sync_error=5),
        "errors on reading": dict(read_error=5),
        "syncs of 2 s": dict(sync_milliseconds=2000),
    }
    # What is wrong while the server is killed.
    AT_KILL = "errors on syncing"

    def __init__(self, folder):
        self.disk = Disk(options.disk, folder)
        self.path = f"{self.disk.folder}/latchkey.db"
        self.environment = self.disk.environment | {"LATCHKEY_DATABASE_URL": f"sqlite:///{self.path}"}

    def begin(self, fault):
        self.disk.set(**self.FAULTS[fault])

    def end(self, fault):
        self.disk.set()

    def kill(self):
        """False: it is a part of the server."""
        return False

    def is_undamaged(self):
        try:
            with sqlite3.connect(self.path) as database:
                return (database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                        and database.execute(WRONG_ROWS).fetchall() == [(0,)])
        except sqlite3.DatabaseError:
            return False

    def close(self):
        pass


class Postgres:
    """A database on a server with faults."""

    FAULTS = ["database hangs", "connections cut", "no connections", "database crashes"]
    AT_KILL = "connections cut"
    CUT = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'app'"

    def __init__(self, folder):
        os.mkdir(f"{folder}/postgres")
        # The server's user must reach its folder.
        os.chmod(folder, 0o755)
        self.server = PostgresServer(f"{folder}/postgres")
        self.server.ask("CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app")
        self.environment = {
            "LATCHKEY_DATABASE_URL": self.server.url.replace("latchkey@", "app@"),
            "LATCHKEY_DATABASE_STATEMENT_TIMEOUT": "1s",
        }

    def begin(self, fault):
        if fault == "database hangs":
            self.server.send(signal.SIGSTOP)
        elif fault == "connections cut":
            self.server.ask(self.CUT)
        elif fault == "no connections":
            self.server.ask("ALTER ROLE app CONNECTION LIMIT 0; " + self.CUT)
        else:
            self.server.end("immediate")

    def end(self, fault):
        if fault == "database hangs":
            self.server.send(signal.SIGCONT)
        elif fault == "no connections":
            self.server.ask("ALTER ROLE app CONNECTION LIMIT -1")
        elif fault == "database crashes":
            self.server.begin()

    def kill(self):
        """Kills it, and starts it again."""
        self.server.kill()
        self.server.begin()
        return True

    def is_undamaged(self):
        return self.server.ask("SET search_path = app; " + WRONG_ROWS) == "0"

    def close(self):
        self.server.send(signal.SIGCONT)
        self.server.end("immediate")


class Pooled(Postgres):
    """The same by PgBouncer in transaction mode alone, which is killed with the server."""

    def __init__(self, folder):
        super().__init__(folder)
        self.port, self.settings = free_port(), f"{folder}/pgbouncer.ini"
        pathlib.Path(self.settings).write_text(
            f"[databases]\npostgres = host=127.0.0.1 port={self.server.port} user=app\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = transaction\ndefault_pool_size = 4\nserver_round_robin = 1\nserver_login_retry = 1\n")
        url = self.environment["LATCHKEY_DATABASE_URL"].replace(str(self.server.port), str(self.port))
        self.environment |= {"LATCHKEY_DATABASE_URL": url, "LATCHKEY_DATABASE_POOLER_URL": url}
        self.pooler = None
        self.begin_pooler()

    def begin_pooler(self):
        self.pooler = subprocess.Popen([*self.server.prefix, "pgbouncer", "-q", self.settings], cwd="/",
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                if self.pooler.poll() is not None:
                    raise SystemExit("PgBouncer did not start; run scripts/setup --test")
                time.sleep(0.01)

    def kill(self):
        self.pooler.kill()
        self.pooler.wait()
        super().kill()
        self.begin_pooler()
        return True

    def close(self):
        self.pooler.kill()
        self.pooler.wait()
        super().close()


class Ledger:
    """What the server has acknowledged."""

    def __init__(self):
        self.live, self.ended, self.outcomes, self.problems = {}, [], collections.Counter(), []

    def note(self, call, status):
        self.outcomes[f"{call} {status}"] += 1

    def problem(self, text):
        self.problems.append(text)
        say(f"PROBLEM {text}")


class Load:
    """Apps that use the server until it is over. They open their connections anew when it is gone."""

    def __init__(self, ledger, carriers):
        self.ledger, self.carriers, self.port = ledger, carriers, None
        self.is_over, self.begun, self.start = False, 0, time.monotonic()

    async def worker(self):
        carrier, line = Line(self.carriers), None
        await carrier.open()
        while not self.is_over:
            self.begun += 1
            await asyncio.sleep(max(0, self.start + self.begun / options.cycles - time.monotonic()))
            try:
                if line is None or line.port != self.port:
                    line = Line(self.port)
                    await line.open()
                await self.cycle(line, carrier)
            except LOST:
                self.ledger.outcomes["no response"] += 1
                line = None
                await asyncio.sleep(0.2)
        for opened in filter(None, [line, carrier]):
            await opened.close()

    async def code(self, carrier):
        return (await carrier.call("POST", "/demo/codes", FORM))[1]

    async def sign_in(self, line, carrier):
        """The tokens, if it was acknowledged."""
        status, content = await line.call("POST", "/auth/zenkey-signin", JSON, await self.code(carrier))
        self.ledger.note("sign-in", status)
        if status not in (200, 503):
            self.ledger.problem(f"a sign-in was answered {status}: {content[:200]}")
        if status != 200:
            return None
        tokens = json.loads(content)
        self.ledger.live[tokens["token"]] = True
        return tokens

    async def cycle(self, line, carrier):
        tokens = await self.sign_in(line, carrier)
        if not tokens:
            return
        token, number = tokens["token"], self.begun
        if number % 3 == 1:
            # From here on the former token may be replaced, whether or not there is a response.
            del self.ledger.live[token]
            form = f"grant_type=refresh_token&refresh_token={tokens['refresh_token']}".encode()
            status, content = await line.call("POST", "/auth/token", FORM, form)
            self.ledger.note("refresh", status)
            if status not in (200, 503):
                self.ledger.problem(f"a refresh was answered {status}: {content[:200]}")
            if status != 200:
                return
            token = json.loads(content)["token"]
            self.ledger.live[token] = True
        if number % 3 != 0:
            del self.ledger.live[token]
            status, content = await line.call("DELETE", "/auth/token", KEYED + [f"Authorization: Bearer {token}"])
            self.ledger.note("sign-out", status)
            if status == 200:
                self.ledger.ended.append(token)
            elif status != 503:
                self.ledger.problem(f"a sign-out was answered {status}: {content[:200]}")


class Server:
    """The server, its load, and its database."""

    def __init__(self, folder, carriers_url, database):
        self.folder, self.database, self.ledger = folder, database, Ledger()
        self.environment = programs.environment(folder, carriers_url) | database.environment | {
            "LATCHKEY_SESSIONS_ACCESS_LIFETIME": "7d",
        }
        self.carriers = int(carriers_url[6:].split(":")[1].split("/")[0])
        self.load = Load(self.ledger, self.carriers)
        self.process, self.samples = None, []

    def begin(self):
        self.process, ports = programs.start_server(options.latchkey, self.folder, **self.environment)
        self.load.port = ports[0]

    async def recovery(self):
        """Seconds until a sign-in is acknowledged."""
        began = time.monotonic()
        carrier = Line(self.carriers)
        await carrier.open()
        while time.monotonic() < began + 180:
            line = Line(self.load.port)
            try:
                await line.open()
                if await self.load.sign_in(line, carrier):
                    return time.monotonic() - began
            except LOST:
                pass
            finally:
                if hasattr(line, "writer"):
                    await line.close()
            await asyncio.sleep(0.02)
        self.ledger.problem("no sign-in within three minutes after a fault")
        return 180

    async def session(self, line, token):
        """The status of a session check. A refusal with 503 does not say whether the session lives: asks again."""
        until = time.monotonic() + 120
        while True:
            status, _ = await line.call("GET", "/users/me", KEYED + [f"Authorization: Bearer {token}"])
            if status != 503 or time.monotonic() > until:
                return status
            await asyncio.sleep(0.2)

    async def check(self, live, ended):
        """Asks for sessions; returns how many are lost, and how many live after their end."""
        line, wrong = Line(self.load.port), [0, 0]
        await line.open()
        for place, tokens, expected in [(0, live, 200), (1, ended, 401)]:
            for token in tokens:
                wrong[place] += await self.session(line, token) != expected
        await line.close()
        if any(wrong):
            self.ledger.problem(f"{wrong[0]} acknowledged sessions are lost, {wrong[1]} ended ones live")
        return wrong

    async def check_some(self):
        live, ended = list(self.ledger.live)[-2000:], self.ledger.ended[-2000:]
        live = [token for token in random.sample(live, min(50, len(live))) if token in self.ledger.live]
        await self.check_settled(live, random.sample(ended, min(50, len(ended))))

    async def check_settled(self, live, ended):
        # What the load ends meanwhile is not asked for.
        line = Line(self.load.port)
        await line.open()
        lost = 0
        for token in live:
            lost += await self.session(line, token) != 200 and token in self.ledger.live
        await line.close()
        if lost:
            self.ledger.problem(f"{lost} acknowledged sessions are lost")
        await self.check([], ended)


# Faults


async def restart(server, hold, kind):
    """Ends the process in one of several ways, and starts it again."""
    if kind == "killed in a fault":
        server.database.begin(server.database.AT_KILL)
        await asyncio.sleep(hold / 2)
    server.process.send_signal(signal.SIGTERM if kind == "stopped" else signal.SIGKILL)
    server.process.wait(240)
    if kind == "killed in a fault":
        server.database.end(server.database.AT_KILL)
    began = time.monotonic()
    server.begin()
    return time.monotonic() - began


async def endure(server, name, hold):
    """One fault; returns the seconds from its end to the first acknowledged sign-in."""
    before = sum(count for call, count in server.ledger.outcomes.items() if call.endswith(" 503"))
    if name == "paused":
        server.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(hold)
        server.process.send_signal(signal.SIGCONT)
        started = 0
    elif name in server.database.FAULTS:
        server.database.begin(name)
        await asyncio.sleep(max(hold, 5) if "2 s" in name else hold)
        server.database.end(name)
        started = 0
    else:
        started = await restart(server, hold, name)
    took = started + await server.recovery()
    await server.check_some()
    refused = sum(count for call, count in server.ledger.outcomes.items() if call.endswith(" 503")) - before
    say(f"{time.monotonic() - server.load.start:5.0f} s: {name}: {refused} times 503; a sign-in {took:.2f} s after it; "
        f"{len(server.ledger.live)} sessions live, {len(server.ledger.ended)} ended")


async def kill_often(server):
    """Kills the server, or the database's, again and again, at any moment of its start and of its work."""
    workers = [asyncio.create_task(server.load.worker()) for _ in range(options.workers)]
    for number in range(1, options.kills + 1):
        await asyncio.sleep(random.uniform(0, 1))
        if number % 2 or not await asyncio.to_thread(server.database.kill):
            await restart(server, 0, "killed")
        if number % 4 in (1, 2):
            await server.recovery()
            await server.check_some()
        if number % 10 == 0:
            say(f"{number} kills: {len(server.ledger.live)} sessions live, {len(server.ledger.ended)} ended")
    server.load.is_over = True
    await asyncio.gather(*workers)
    await server.recovery()
    return await judge(server)


async def watch(server):
    while not server.load.is_over:
        await asyncio.sleep(0.5)
        try:
            server.samples.append((time.monotonic(), memory(server.process)))
        except (OSError, AttributeError):
            pass


async def run(server):
    hold = min(10, max(1.5, seconds / 40))
    end = time.monotonic() + seconds
    workers = [asyncio.create_task(server.load.worker()) for _ in range(options.workers)]
    watching = asyncio.create_task(watch(server))
    await asyncio.sleep(hold)
    for kind in ["killed", "killed in a fault", "stopped"]:
        await endure(server, kind, hold)
        await asyncio.sleep(hold)
    # The rest of the time is one process's, whose memory and descriptors are compared.
    before, warm, rounds = None, None, 0
    while time.monotonic() < end:
        for name in [*server.database.FAULTS, "paused"]:
            await endure(server, name, hold)
            await asyncio.sleep(hold)
            if rounds and time.monotonic() > end:
                break
        rounds += 1
        if warm is None:
            warm = time.monotonic()
            before = descriptors(server.process, server.carriers)[2]
            await asyncio.sleep(hold)
    server.load.is_over = True
    await asyncio.gather(*workers, watching)
    good = await judge_resources(server, warm, before)
    return await judge(server) and good


async def judge_resources(server, warm, before):
    sizes = [size for at, size in server.samples if at >= warm]
    third = max(1, len(sizes) // 3)
    first, last = statistics.median(sizes[:third]), statistics.median(sizes[-third:])
    # A short run has few samples, and the first of them is of a server that is not warm.
    good = expect(
        last <= max(1.2 * first, first + 8), f"memory: {first:.1f} MiB after the first faults, {last:.1f} at the end")
    until = time.monotonic() + 120
    # The load's connections were there before, and are closed now.
    while descriptors(server.process, server.carriers)[2] > before and time.monotonic() < until:
        await asyncio.sleep(0.5)
    after = descriptors(server.process, server.carriers)[2]
    return expect(after <= before, f"descriptors: {before} after the first faults, {after} at the end") and good


def ends(process):
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(240) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


async def judge(server):
    ledger, good = server.ledger, True
    say(f"{dict(ledger.outcomes)}")
    for moment in ["at the end", "after a kill"]:
        lost, alive = await server.check(ledger.live, ledger.ended)
        good = expect(
            lost == alive == 0, f"{moment}: {lost} of {len(ledger.live)} acknowledged sessions are lost, "
            f"{alive} of {len(ledger.ended)} ended sessions live") and good
        if moment == "at the end":
            await restart(server, 0, "killed")
    good = expect(ends(server.process), "SIGTERM makes it exit with 0") and good
    good = expect(server.database.is_undamaged(), "the database is undamaged") and good
    return expect(not ledger.problems, f"{len(ledger.problems)} unexpected responses or lost sessions") and good


def try_database(kind):
    with tempfile.TemporaryDirectory() as folder:
        programs.certificate(folder)
        simulator, carriers = programs.start_simulator(options.latchkey_dev, folder)
        server = database = None
        try:
            database = {"sqlite": SQLite, "postgres": Postgres, "pooled": Pooled}[kind](folder)
            server = Server(folder, carriers, database)
            server.begin()
            return asyncio.run(kill_often(server) if options.kills else run(server))
        finally:
            for process in [server and server.process, simulator]:
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
            if database:
                database.close()


def main():
    results = []
    for kind in options.databases:
        say(f"{kind}, {f'{options.kills} kills' if options.kills else f'{seconds:.0f} s'}")
        results.append(try_database(kind))
    if not all(results):
        raise SystemExit(1)


main()
