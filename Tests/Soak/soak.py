"""Runs the load of an hour in minutes; see scripts/soak. Stops after the time, or when the sign-ins are done.

A cycle is the work of an app: a code of a simulated carrier, a sign-in, the user twice, a refresh, the user, a
sign-out. One cycle in fifty sends an invalid code, and one in fifty disconnects in the middle of its request. A
connection serves ten cycles; every second connection uses TLS.
"""
import argparse
import asyncio
import collections
import json
import os
import pathlib
import re
import signal
import ssl
import statistics
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--simulator", required=True)
parser.add_argument("--seconds", type=int, default=300, help="maximum duration")
parser.add_argument("--sign-ins", type=int, help="maximum number; default: 120 per second")
parser.add_argument("--workers", type=int, default=24)
parser.add_argument("--growth", type=float, default=8, help="allowed growth of memory after the warm-up, in MiB")
options = parser.parse_args()
sign_ins = options.sign_ins or 120 * options.seconds

KEY, CLIENT, SECRET, REDIRECT = (
    "key-of-the-soak-0123456789",
    "ccid-soak",
    "secret-of-the-soak",
    "https://app.example/callback",
)
outcomes = collections.Counter()


def expect(holds, text):
    print(f"soak: {'ok      ' if holds else 'PROBLEM '}{text}", flush=True)
    return holds


# Processes


def start(words, log, pattern, **environment):
    """Starts a program; returns it with the match of the pattern in its output."""
    output = open(log, "w+")
    process = subprocess.Popen(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                               env={"PATH": os.environ["PATH"], **environment})
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        found = re.search(pattern, pathlib.Path(log).read_text(), re.DOTALL)
        if found:
            return process, found.groups()
        time.sleep(0.05)
    process.kill()
    raise SystemExit(f"soak: {words[0]} did not start:\n{pathlib.Path(log).read_text()[-2000:]}")


def memory(process):
    """MiB."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()).group(1)) / 1024


def descriptors(process, carriers):
    """The numbers of connections to carriers, which are kept for the next request, of timers, and of the others."""
    outbound = set()
    for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].split(":")[1], 16) == carriers:
            outbound.add(f"socket:[{fields[9]}]")
    kept = timers = others = 0
    for name in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            target = os.readlink(f"/proc/{process.pid}/fd/{name}")
        except OSError:
            continue
        if target in outbound:
            kept += 1
        elif target == "anon_inode:[timerfd]":
            timers += 1
        else:
            others += 1
    return kept, timers, others


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def certificate(folder):
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-nodes",
            "-days",
            "2",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-keyout",
            f"{folder}/key.pem",
            "-out",
            f"{folder}/chain.pem",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


# Calls


class Line:
    """A connection for sequential requests."""

    def __init__(self, port, context=None):
        self.port, self.context = port, context

    async def open(self):
        self.reader, self.writer = await asyncio.wait_for(asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.context, server_hostname="localhost" if self.context else None), 30)

    async def send(self, method, path, fields=(), body=b""):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *fields]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        await self.writer.drain()

    async def call(self, method, path, fields=(), body=b""):
        await self.send(method, path, fields, body)
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 30)
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        content = await asyncio.wait_for(self.reader.readexactly(int(length.group(1))), 30) if length else b""
        return int(head[9:12]), content

    async def close(self):
        self.writer.close()
        try:
            await asyncio.wait_for(self.writer.wait_closed(), 5)
        except (OSError, asyncio.TimeoutError):
            pass


class Load:
    def __init__(self, ports, simulator, context):
        self.ports, self.simulator, self.context = ports, simulator, context
        self.begun, self.is_over, self.latencies, self.start = 0, False, [], time.monotonic()

    async def next(self):
        """The number of the next cycle, at its time; None at the end."""
        if self.is_over or self.begun >= sign_ins:
            return None
        self.begun += 1
        number = self.begun
        await asyncio.sleep(max(0, self.start + number * options.seconds / sign_ins - time.monotonic()))
        return number

    async def worker(self, number):
        carrier = Line(self.simulator)
        await carrier.open()
        round = number
        while not self.is_over:
            round += 1
            secure = round % 2 == 0
            line = Line(self.ports[1] if secure else self.ports[0], self.context if secure else None)
            await line.open()
            for _ in range(10):
                cycle = await self.next()
                if cycle is None:
                    self.is_over = True
                    break
                if not await self.cycle(cycle, line, carrier):
                    break
            await line.close()
        await carrier.close()

    async def cycle(self, number, line, carrier):
        """Returns whether the connection can be used again."""
        _, body = await carrier.call("POST", "/demo/codes", ["Content-Type: application/x-www-form-urlencoded"])
        keyed = [f"X-API-KEY: {KEY}"]
        json_type = keyed + ["Content-Type: application/json"]
        if number % 50 == 0:
            await line.send("POST", "/auth/zenkey-signin", json_type, body)
            outcomes["went away"] += 1
            return False
        if number % 50 == 25:
            fields = json.loads(body) | {"code": "no-code"}
            status, _ = await line.call("POST", "/auth/zenkey-signin", json_type, json.dumps(fields).encode())
            outcomes["refused" if status == 401 or status == 400 else f"a bad code: {status}"] += 1
            return True
        began = time.monotonic()
        status, content = await line.call("POST", "/auth/zenkey-signin", json_type, body)
        self.latencies.append(time.monotonic() - began)
        outcomes["signed in" if status == 200 else f"sign-in: {status}"] += 1
        if status != 200:
            return True
        tokens = json.loads(content)
        for path in ["/users/me", "/users/me"]:
            await self.expect(line, "GET", path, keyed + [f"Authorization: Bearer {tokens['token']}"])
        form = f"grant_type=refresh_token&refresh_token={tokens['refresh_token']}".encode()
        status, content = await line.call(
            "POST", "/auth/token", keyed + ["Content-Type: application/x-www-form-urlencoded"], form)
        outcomes["refreshed" if status == 200 else f"refresh: {status}"] += 1
        if status == 200:
            bearer = [f"Authorization: Bearer {json.loads(content)['token']}"]
            await self.expect(line, "GET", "/users/me", keyed + bearer)
            await self.expect(line, "DELETE", "/auth/token", keyed + bearer)
        return True

    async def expect(self, line, method, path, fields):
        status, _ = await line.call(method, path, fields)
        outcomes["answered" if status in (200, 204) else f"{method} {path}: {status}"] += 1


async def watch(load, server, samples, began):
    while not load.is_over:
        await asyncio.sleep(0.5)
        samples.append((time.monotonic() - began, memory(server)))
        if time.monotonic() - began > options.seconds:
            load.is_over = True


async def soak(server, ports, simulator, context):
    load, samples = Load(ports, simulator, context), []
    first = Line(ports[0])
    await first.open()
    await first.call("GET", "/healthz")
    await first.close()
    await asyncio.sleep(0.5)
    before, began, spent = descriptors(server, simulator), time.monotonic(), processor_seconds(server)
    watching = asyncio.create_task(watch(load, server, samples, began))
    await asyncio.gather(*(load.worker(number) for number in range(options.workers)))
    load.is_over = True
    await watching
    took, spent = time.monotonic() - began, processor_seconds(server) - spent
    load.latencies.sort()
    count = max(1, len(load.latencies))
    print(f"soak: {load.begun} cycles in {took:.0f} s: {dict(outcomes)}", flush=True)
    print(
        f"soak: sign-ins: median {1000 * statistics.median(load.latencies or [0]):.1f} ms, 99th percentile "
        f"{1000 * load.latencies[int(0.99 * (count - 1))]:.1f} ms; {1e3 * spent / count:.2f} ms of CPU time per cycle",
        flush=True,
    )
    good = expect(
        not set(outcomes) - {"signed in", "refreshed", "answered", "refused", "went away"}
        and outcomes["signed in"] > 0,
        "every call got the expected response",
    )
    return judge(samples, took) and await settles(server, simulator, before) and good


def judge(samples, took):
    """Compares the memory at the end with that after the first third."""
    def level(since, until):
        return statistics.median([size for at, size in samples if since * took <= at <= until * took] or [0])
    warm, late = level(1 / 3, 1 / 2), level(5 / 6, 1)
    return expect(
        late - warm <= options.growth,
        f"memory: {samples[0][1]:.1f} MiB at the start, {warm:.1f} after the warm-up, {late:.1f} at the end, "
        f"{max(size for _, size in samples):.1f} at most",
    )


async def settles(server, carriers, before):
    until = time.monotonic() + 30
    while descriptors(server, carriers)[2] > before[2] and time.monotonic() < until:
        await asyncio.sleep(0.5)
    kept, timers, after = descriptors(server, carriers)
    good = expect(after <= before[2], f"descriptors: {before[2]} before, {after} after")
    # The outbound client has one timer for each event loop, and one for its own, from the first request on.
    most = before[1] + (os.cpu_count() or 1) + 1
    return (
        expect(timers <= most, f"timers: {before[1]} before, {timers} after, at most {most}")
        and expect(kept <= 64, f"connections kept to carriers: {kept}, at most 64 (outbound.max_connections_per_host)")
        and good
    )


def main():
    good = False
    with tempfile.TemporaryDirectory() as folder:
        certificate(folder)
        simulator, (carriers,) = start(
            [options.simulator, "--client", f"{CLIENT}:{SECRET}:{REDIRECT}"], f"{folder}/simulator.log",
            r"discovery +(\S+).*a code")
        server = None
        try:
            server, ports = start(
                [options.latchkey, "serve"],
                f"{folder}/server.log",
                r"http://127\.0\.0\.1:(\d+).*https://127\.0\.0\.1:(\d+)",
                LATCHKEY_HTTP_PORT="0",
                LATCHKEY_TLS_PORT="0",
                LATCHKEY_TLS_CERTIFICATE_FILE=f"{folder}/chain.pem",
                LATCHKEY_TLS_PRIVATE_KEY_FILE=f"{folder}/key.pem",
                LATCHKEY_API_KEYS=KEY,
                LATCHKEY_ALLOW_LOOPBACK_HTTP="true",
                LATCHKEY_ZENKEY_CLIENTS=f"{CLIENT}:{SECRET}",
                LATCHKEY_ZENKEY_DISCOVERY_URL=carriers,
                LATCHKEY_ZENKEY_TRUSTED_ISSUERS="127.0.0.1",
                LATCHKEY_DATABASE_URL=f"sqlite:///{folder}/latchkey.db",
                LATCHKEY_LOG_LEVEL="notice",
                # For the files of the process in /proc.
                LATCHKEY_DEBUG_MEMORY_DUMPS="true",
            )
            context = ssl.create_default_context(cafile=f"{folder}/chain.pem")
            port = int(re.search(r":(\d+)", carriers[6:]).group(1))
            good = asyncio.run(soak(server, [int(port) for port in ports], port, context))
            server.send_signal(signal.SIGTERM)
            good = expect(server.wait(60) == 0, "SIGTERM makes it exit with 0") and good
            log = pathlib.Path(f"{folder}/server.log").read_text()
            errors = [line for line in log.splitlines() if re.search(r"\b(error|critical)\b", line)]
            good = expect(not errors, f"no errors in its log {errors[:3] if errors else ''}") and good
        finally:
            for process in [server, simulator]:
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
    if not good:
        raise SystemExit(1)


main()
