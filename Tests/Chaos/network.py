"""Injects the faults of networks into a server and its connections to apps, carriers, DNS and PostgreSQL.

See scripts/network-faults, which runs it in namespaces of its own. Prints what is measured; fails if an expectation
does not hold. Two instances share a database: `near` is beside it, `far` is behind the wire, and all faults are the
wire's (wire.py) or the name server's (names.py).
"""
import argparse
import asyncio
import collections
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "Tests" / "Soak"), str(ROOT / "Benchmarks")]

import programs  # noqa: E402
from names import NameServer  # noqa: E402
from postgres import PostgresServer  # noqa: E402
from programs import CLIENT, KEY, REDIRECT, SECRET, Line  # noqa: E402
from wire import Wire  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--latchkey-dev", required=True)
parser.add_argument("--seconds", type=float, default=10, help="how long each fault of a connection lasts")
parser.add_argument("--only", help="the faults whose name contains this")
options = parser.parse_args()

# The carriers' address counts as public, so that the default address policy allows it. It is in a namespace of its own.
PEERS = {"apps": "10.99.1.1", "carriers": "20.0.2.1", "database": "10.99.3.1", "names": "10.99.4.1"}
HOST, SIMULATOR, PORT, DARK_PORT = "carriers.example", 8081, 8080, 8090
KEYED = [f"X-API-KEY: {KEY}"]
JSON = KEYED + ["Content-Type: application/json"]
FORM = KEYED + ["Content-Type: application/x-www-form-urlencoded"]
LOST = (OSError, EOFError, asyncio.TimeoutError, asyncio.IncompleteReadError)
problems = []


def say(text):
    print(f"network: {text}", flush=True)


def expect(holds, text):
    say(f"{'ok      ' if holds else 'PROBLEM '}{text}")
    if not holds:
        problems.append(text)
    return holds


# The programs


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", f"{folder}/key.pem", "-out",
         f"{folder}/chain.pem"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_carriers(folder):
    """Simulated carriers behind HTTPS."""
    simulator, _ = programs.start(
        [options.latchkey_dev, "carrier", "--port", str(SIMULATOR), "--base-url", f"https://{HOST}", "--client",
         f"{CLIENT}:{SECRET}:{REDIRECT}"], f"{folder}/simulator.log", r"discovery +(\S+).*a code")
    pathlib.Path(f"{folder}/nginx.conf").write_text(
        f"""
        daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
        events {{}}
        http {{
            access_log off; keepalive_timeout 600;
            client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
            uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
            server {{
                listen {PEERS["carriers"]}:443 ssl; ssl_certificate {folder}/chain.pem;
                ssl_certificate_key {folder}/key.pem;
                location / {{ proxy_pass http://127.0.0.1:{SIMULATOR}; }}
            }}
        }}""")
    nginx = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL)
    return [simulator, nginx]


def start_server(folder, name, prefix, host, port, **environment):
    server, _ = programs.start(
        [*prefix, options.latchkey, "serve"], f"{folder}/{name}.log", r"listening()", **{
            "LATCHKEY_HTTP_HOST": host,
            "LATCHKEY_HTTP_PORT": str(port),
            "LATCHKEY_HTTP_TIMEOUTS_IDLE": "10s",
            "LATCHKEY_HTTP_TIMEOUTS_WRITE": "5s",
            "LATCHKEY_API_KEYS": KEY,
            "LATCHKEY_ZENKEY_CLIENTS": f"{CLIENT}:{SECRET}",
            "LATCHKEY_ZENKEY_DISCOVERY_URL": f"https://{HOST}/.well-known/openid_configuration",
            "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": HOST,
            "LATCHKEY_OUTBOUND_CA_BUNDLE": f"{folder}/chain.pem",
            "LATCHKEY_DATABASE_STATEMENT_TIMEOUT": "1s",
            "LATCHKEY_DATABASE_MAX_WAIT": "2s",
            "LATCHKEY_SESSIONS_ACCESS_LIFETIME": "7d",
            "LATCHKEY_LOG_LEVEL": "notice",
            "LATCHKEY_DEBUG_MEMORY_DUMPS": "true",
            **environment})
    return server


def connections(process, local_port=None, remote=None):
    """How many established TCP connections a process's namespace has, at a port of its own or to an address."""
    count = 0
    for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        address, port = fields[2].split(":")
        peer = socket.inet_ntoa(bytes.fromhex(address)[::-1])
        if fields[3] == "01" and (local_port is None or int(fields[1].split(":")[1], 16) == local_port) and (
                remote is None or peer == remote):
            count += 1
    return count


# The apps


class App:
    """Calls of one instance, each on a connection that is kept."""

    def __init__(self, host, port=PORT):
        self.host, self.port, self.line = host, port, None

    async def call(self, method, path, fields=KEYED, body=b"", within=30):
        async def once():
            if self.line is None:
                line = Line(self.port, host=self.host)
                await line.open()
                self.line = line
            return await self.line.call(method, path, fields, body)

        try:
            return await asyncio.wait_for(once(), within)
        except LOST:
            await self.close()
            raise

    async def close(self):
        line, self.line = self.line, None
        if line and hasattr(line, "writer"):
            line.writer.transport.abort()

    async def sign_in(self, within=30):
        """The status and the content."""
        line = Line(SIMULATOR)
        await line.open()
        _, fields = await line.call("POST", "/demo/codes", FORM)
        await line.close()
        return await self.call("POST", "/auth/zenkey-signin", JSON, fields, within)

    async def me(self, token, within=30):
        return (await self.call("GET", "/users/me", KEYED + [f"Authorization: Bearer {token}"], within=within))[0]

    async def sign_out(self, token):
        return (await self.call("DELETE", "/auth/token", KEYED + [f"Authorization: Bearer {token}"]))[0]


class Load:
    """Apps that sign in, one after the other, at an instance; what was acknowledged is noted."""

    def __init__(self, host, workers=4, port=PORT):
        self.host, self.port, self.workers, self.is_over = host, port, workers, False
        self.outcomes, self.took, self.live = collections.Counter(), [], []
        self.without_retry_after = 0

    async def __aenter__(self):
        self.tasks = [asyncio.create_task(self.work()) for _ in range(self.workers)]
        return self

    async def __aexit__(self, *_):
        self.is_over = True
        await asyncio.gather(*self.tasks)

    async def work(self):
        app = App(self.host, self.port)
        while not self.is_over:
            began = time.monotonic()
            try:
                status, content = await app.sign_in()
                self.outcomes[status] += 1
                if status == 200:
                    self.live.append(json.loads(content)["token"])
                if status == 503:
                    self.without_retry_after += b"\r\nretry-after:" not in app.line.head.lower()
            except LOST:
                self.outcomes["no response"] += 1
            self.took.append(time.monotonic() - began)
            await asyncio.sleep(0.1)
        await app.close()

    def __str__(self):
        middle = statistics.median(self.took) if self.took else 0
        return (f"sign-ins {dict(self.outcomes)}, median {middle:.2f} s, slowest {max(self.took, default=0):.2f} s")


async def recovery(host, port=PORT):
    """Seconds until a sign-in is acknowledged, and its token."""
    began = time.monotonic()
    while time.monotonic() < began + 180:
        app = App(host, port)
        try:
            status, content = await app.sign_in()
            if status == 200:
                return time.monotonic() - began, json.loads(content)["token"]
        except LOST:
            pass
        finally:
            await app.close()
        await asyncio.sleep(0.02)
    return 180, None


async def until(condition, seconds):
    """Waits for a condition; returns after how many seconds it held, or None."""
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        if condition():
            return time.monotonic() - began
        await asyncio.sleep(0.1)
    return None


async def refusal(app, path, within):
    """The status of an operational path, and how long it took."""
    began = time.monotonic()
    status, _ = await app.call("GET", path, within=within)
    return status, time.monotonic() - began


class Faults:
    def __init__(self, folder, wire, database, names):
        self.folder, self.wire, self.database, self.names = folder, wire, database, names
        self.live = []
        url = database.url.replace("127.0.0.1", PEERS["database"])
        self.near = start_server(folder, "near", [], PEERS["apps"], PORT, LATCHKEY_DATABASE_URL=url)
        self.far = start_server(folder, "far", wire.server_side, Wire.SERVER, PORT, LATCHKEY_DATABASE_URL=url)

    async def check(self, name):
        """All that was acknowledged lives, on both instances."""
        lost = 0
        for host in (PEERS["apps"], Wire.SERVER):
            app = App(host)
            for token in self.live:
                lost += await app.me(token) != 200
            await app.close()
        expect(lost == 0, f"{name}: {lost} of {len(self.live)} acknowledged sessions are lost")

    async def ended(self, name):
        """After a fault: the first sign-in."""
        took, token = await recovery(Wire.SERVER)
        if expect(token is not None, f"{name}: a sign-in {took:.2f} s after the fault"):
            self.live.append(token)
        await self.check(name)

    # Packets that are lost, late, repeated, out of order

    async def bad_line(self, peer, **faults):
        name = f"{peer}: " + ", ".join(f"{fault} {value}" for fault, value in faults.items())
        self.wire.set(peer, **faults)
        async with Load(Wire.SERVER) as load:
            await asyncio.sleep(options.seconds)
        self.wire.set(peer)
        self.live += load.live
        say(f"{name}: {load}")
        expect(set(load.outcomes) <= {200, 503, 504} and load.outcomes[200] > 0, f"{name}: sign-ins continue")
        await self.ended(name)

    async def bad_line_to_apps(self):
        await self.bad_line("apps", loss=0.05, delay=0.05, jitter=0.05, repeat=0.02)

    async def bad_line_to_carriers(self):
        await self.bad_line("carriers", loss=0.05, delay=0.05, jitter=0.05, repeat=0.02)

    async def bad_line_to_database(self):
        await self.bad_line("database", loss=0.02, delay=0.01, jitter=0.01, repeat=0.02)

    # Partitions

    async def partition(self, cut):
        name = f"partition from the database ({cut})"
        far, near = App(Wire.SERVER), App(PEERS["apps"])
        tokens = []
        for _ in range(2):
            tokens.append(json.loads((await near.sign_in())[1])["token"])
        for token in tokens:
            expect(await far.me(token) == 200, f"{name}: before it, both instances know the session")
        stays, ends = tokens
        self.wire.set("database", cut=cut)
        began = time.monotonic()
        async with Load(Wire.SERVER) as load, Load(PEERS["apps"], workers=1) as other:
            # What it says may be a second old.
            while (await refusal(far, "/readyz", 30))[0] == 200 and time.monotonic() < began + 30:
                await asyncio.sleep(0.1)
            took = time.monotonic() - began
            expect(took < 30, f"{name}: /readyz is 503 after {took:.2f} s")
            status, took = await refusal(far, "/healthz", 30)
            expect(status == 200, f"{name}: /healthz is {status}")
            expect(await near.sign_out(ends) == 200, f"{name}: the other instance signs a user out")
            ended_at = time.monotonic()
            # When the last request was sent that was accepted: its answer may come later by any time.
            accepted, asked = 0, time.monotonic()
            while await far.me(ends) == 200:
                accepted = asked - ended_at
                await asyncio.sleep(0.1)
                asked = time.monotonic()
            expect(accepted <= 5.5, f"{name}: here the ended session is accepted for {accepted:.1f} s (at most 5)")
            await asyncio.sleep(max(0, began + options.seconds - time.monotonic()))
            expect(await far.me(ends) != 200, f"{name}: the ended session is not accepted")
        say(f"{name}: here {load}; at the other instance {other}")
        expect(set(load.outcomes) <= {503} or cut == "from" and set(load.outcomes) <= {200, 503},
               f"{name}: sign-ins here are refused with 503")
        expect(load.without_retry_after == 0, f"{name}: {load.without_retry_after} refusals have no Retry-After")
        # A lost connection ends after 30 s.
        expect(max(load.took) < 25, f"{name}: the slowest refusal took {max(load.took):.1f} s")
        expect(set(other.outcomes) == {200}, f"{name}: sign-ins at the other instance succeed")
        self.live += load.live + other.live + [stays]
        self.wire.set("database")
        await self.ended(name)
        status, took = await refusal(far, "/readyz", 30)
        expect(status == 200, f"{name}: /readyz is {status} afterwards")
        expect(await far.me(ends) == 401, f"{name}: afterwards the ended session is 401 here, too")

    async def partition_from_database(self):
        for cut in ("both", "from", "to"):
            await self.partition(cut)

    async def partition_from_carriers(self):
        name = "partition from the carriers"
        app = App(Wire.SERVER)
        token = json.loads((await app.sign_in())[1])["token"]
        self.live.append(token)
        self.wire.set("carriers", cut="both")
        async with Load(Wire.SERVER) as load:
            slowest = 0
            for _ in range(20):
                began = time.monotonic()
                expect_status = await app.me(token)
                slowest = max(slowest, time.monotonic() - began)
                if expect_status != 200:
                    expect(False, f"{name}: a session check was answered {expect_status}")
                await asyncio.sleep(options.seconds / 20)
            status, _ = await refusal(app, "/readyz", 30)
        say(f"{name}: {load}")
        expect(slowest < 10, f"{name}: session checks are answered, the slowest in {slowest:.2f} s; /readyz {status}")
        expect(set(load.outcomes) <= {502, 503, 504}, f"{name}: sign-ins are refused")
        expect(max(load.took) < 25, f"{name}: the slowest refusal took {max(load.took):.1f} s")
        self.wire.set("carriers")
        await self.ended(name)

    # Half-open connections: the other side is gone without a word, and new connections work

    async def half_open_to_carriers(self):
        name = "connections to carriers forgotten"
        async with Load(Wire.SERVER, workers=8) as load:
            await asyncio.sleep(1)
        self.live += load.live
        kept = connections(self.far, remote=PEERS["carriers"])
        self.wire.forget("carriers")
        took, token = await recovery(Wire.SERVER)
        if expect(token is not None and took < 20, f"{name}: {kept} were kept; a sign-in {took:.2f} s afterwards"):
            self.live.append(token)
        async with Load(Wire.SERVER, workers=8) as load:
            await asyncio.sleep(options.seconds)
        self.live += load.live
        say(f"{name}: {load}")
        expect(load.outcomes[200] > 0 and sum(load.outcomes.values()) == load.outcomes[200],
               f"{name}: then all sign-ins succeed")
        await self.check(name)

    async def idle_half_open_to_carriers(self):
        name = "idle connections to carriers forgotten"
        async with Load(Wire.SERVER, workers=8) as load:
            await asyncio.sleep(1)
        self.live += load.live
        kept = connections(self.far, remote=PEERS["carriers"])
        self.wire.forget("carriers")
        took = await until(lambda: connections(self.far, remote=PEERS["carriers"]) == 0, 70)
        expect(took is not None and took < 45, f"{name}: {kept} were kept; none after {took and round(took)} s")
        async with Load(Wire.SERVER, workers=8) as load:
            await asyncio.sleep(2)
        self.live += load.live
        expect(set(load.outcomes) == {200}, f"{name}: then {load}")

    async def half_open_to_database(self):
        name = "connections to the database forgotten"
        count = "SELECT count(*) FROM pg_stat_activity WHERE client_addr = '10.99.0.1'"
        async with Load(Wire.SERVER) as load:
            await asyncio.sleep(1)
        self.live += load.live
        before = int(self.database.ask(count))
        self.wire.forget("database")
        async with Load(Wire.SERVER) as load:
            await asyncio.sleep(options.seconds)
        self.live += load.live
        say(f"{name}: {load}")
        expect(set(load.outcomes) <= {200, 503}, f"{name}: nothing else than 200 and 503")
        await self.ended(name)
        took = await until(lambda: int(self.database.ask(count)) <= before, 90)
        expect(took is not None, f"{name}: PostgreSQL has {self.database.ask(count)} instead of {before} connections "
               f"of it {took and round(took + options.seconds)} s later")

    async def vanished_instance(self):
        name = "the instance vanishes"
        count = "SELECT count(*) FROM pg_stat_activity WHERE client_addr = '10.99.0.1'"
        # The instance goes on, but its connections are dead for PostgreSQL.
        self.wire.set("database", cut="both")
        took = await until(lambda: int(self.database.ask(count)) == 0, 90)
        expect(took is not None, f"{name}: PostgreSQL frees its connections after {took and round(took)} s")
        self.wire.set("database")
        await self.ended(name)

    async def half_open_to_apps(self):
        name = "apps vanish"
        before = connections(self.far, local_port=PORT)
        lines = []
        kinds = {"idle": 100, "in a header": 50, "in a body": 50, "reading nothing": 20, "watching": 4}
        for kind, number in kinds.items():
            for _ in range(number):
                line = Line(PORT, host=Wire.SERVER)
                await line.open()
                lines.append(line)
                line.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                if kind == "idle":
                    await line.call("GET", "/healthz")
                elif kind == "in a header":
                    line.writer.write(b"GET / HTTP/1.1\r\nHost: loc")
                elif kind == "in a body":
                    line.writer.write(b"POST /auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx")
                elif kind == "reading nothing":
                    line.writer.transport.pause_reading()
                    for _ in range(20):
                        await line.send("GET", "/openapi.json")
                else:
                    await line.send("GET", "/status/events", KEYED)
        await asyncio.sleep(0.5)
        there = connections(self.far, local_port=PORT) - before
        expect(there >= sum(kinds.values()) - 4, f"{name}: {there} connections ({kinds})")
        self.wire.forget("apps")
        took = await until(lambda: connections(self.far, local_port=PORT) <= before, 90)
        expect(took is not None and took < 45, f"{name}: the server has closed all after {took and round(took)} s")
        for line in lines:
            line.writer.transport.abort()
        took, token = await recovery(Wire.SERVER)
        expect(token is not None, f"{name}: a sign-in on a new connection takes {took:.2f} s")

    # Names

    async def wrong_names(self):
        self.names.set("silent")
        url = self.database.url.replace("127.0.0.1", PEERS["database"])
        dark = start_server(self.folder, "dark", self.wire.server_side, Wire.SERVER, DARK_PORT,
                            LATCHKEY_DATABASE_URL=url, LATCHKEY_OUTBOUND_CIRCUIT_BREAKER_FAILURES="1000",
                            LATCHKEY_OUTBOUND_TIMEOUTS_DISCOVERY="3s", LATCHKEY_OUTBOUND_TIMEOUTS_TOKEN="3s")
        trap = Trap(PEERS["database"])
        app = App(Wire.SERVER, DARK_PORT)
        try:
            for mode in NameServer.MODES[:-1]:
                self.names.set(mode, PEERS["carriers"])
                began = time.monotonic()
                status, content = await app.sign_in()
                took = time.monotonic() - began
                expected = (200,) if mode in ("slow", "truncated") else (502, 503, 504)
                expect(status in expected and took < 8, f"DNS, {mode}: a sign-in is answered {status} in {took:.1f} s")
                if status == 200:
                    await self.forget_name(app)
            for kind, addresses in [
                    ("a private address", [PEERS["database"]]), ("a loopback address", ["127.0.0.1"]),
                    ("the address of cloud metadata", ["169.254.169.254"]),
                    ("many private addresses", [f"10.99.3.{number}" for number in range(1, 30)])]:
                self.names.set("addresses", *addresses)
                status, content = await app.sign_in()
                expect(status in (502, 503) and trap.count == 0,
                       f"DNS, {kind}: a sign-in is answered {status}, and nothing connects to it ({trap.count})")
            self.names.set("addresses", PEERS["carriers"])
            took, token = await recovery(Wire.SERVER, DARK_PORT)
            expect(token is not None, f"DNS: with the right answer, a sign-in after {took:.2f} s")
            await self.forget_name(app)
            self.names.set("addresses", PEERS["database"])
            status, content = await app.sign_in()
            expect(status in (502, 503) and trap.count == 0,
                   f"DNS, a private address after a public one: {status}, and nothing connects to it ({trap.count})")
            self.names.set("addresses", PEERS["database"], PEERS["carriers"])
            status, content = await app.sign_in()
            expect(status == 200 and trap.count == 0,
                   f"DNS, a private address beside a public one: {status}, only to the public one ({trap.count})")
        finally:
            self.names.set("addresses", PEERS["carriers"])
            dark.send_signal(signal.SIGTERM)
            expect(dark.wait(240) == 0, "DNS: the server exits with 0")

    async def forget_name(self, app):
        """Has the server look the name up again: its kept connections die, and no new one succeeds."""
        self.wire.forget("carriers")
        self.wire.set("carriers", cut="both")
        for _ in range(2):
            await app.sign_in()
        self.wire.set("carriers")

    async def run(self):
        took, token = await recovery(Wire.SERVER)
        expect(token is not None, f"without a fault, the first sign-in takes {took:.2f} s")
        for fault in (self.bad_line_to_apps, self.bad_line_to_carriers, self.bad_line_to_database,
                      self.partition_from_database, self.partition_from_carriers, self.half_open_to_carriers,
                      self.idle_half_open_to_carriers, self.half_open_to_database, self.vanished_instance,
                      self.half_open_to_apps, self.wrong_names):
            if not options.only or options.only in fault.__name__:
                say(f"--- {fault.__name__}")
                await fault()
        self.far.send_signal(signal.SIGTERM)
        expect(self.far.wait(240) == 0, "SIGTERM makes the server exit with 0")
        say(f"packets: {self.wire.counts()}")


class Trap:
    """Counts the connections to port 443 of an address that nobody must connect to."""

    def __init__(self, address):
        self.count = 0
        self.socket = socket.create_server((address, 443))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            connection, _ = self.socket.accept()
            self.count += 1
            connection.close()


def use_name_server(folder):
    """Has all programs of this mount namespace ask the name server."""
    for path, text in {
            "/etc/resolv.conf": f"nameserver {PEERS['names']}\noptions timeout:1 attempts:1\n",
            "/etc/nsswitch.conf": "hosts: files dns\n",
            "/etc/hosts": "127.0.0.1 localhost\n"}.items():
        file = f"{folder}/{path.rpartition('/')[2]}"
        pathlib.Path(file).write_text(text)
        if not os.path.exists(path):
            raise SystemExit(f"network: {path} is missing")
        subprocess.run(["mount", "--bind", file, os.path.realpath(path)], check=True)


def main():
    # So that nothing is left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    running = []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        use_name_server(folder)
        wire = Wire(PEERS)
        database = None
        try:
            names = NameServer(PEERS["names"], HOST)
            names.set("addresses", PEERS["carriers"])
            certificate(folder)
            os.mkdir(f"{folder}/postgres")
            database = PostgresServer(f"{folder}/postgres", f"{PEERS['database']}/8")
            database.ask("CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app")
            running += start_carriers(folder)
            faults = Faults(folder, wire, database, names)
            running += [faults.near, faults.far]
            asyncio.run(faults.run())
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            if database:
                database.end("immediate")
            wire.end()
            if problems:
                for name in ("far", "near", "dark"):
                    log = pathlib.Path(f"{folder}/{name}.log")
                    if log.exists():
                        print(f"--- the end of {name}.log\n" + "\n".join(log.read_text().splitlines()[-15:]))
    if problems:
        raise SystemExit(f"network: {len(problems)} problems")


main()
