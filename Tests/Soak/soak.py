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
import tempfile
import time

import programs
from programs import KEY, Line, descriptors, memory

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--latchkey-dev", required=True)
parser.add_argument("--seconds", type=int, default=300, help="maximum duration")
parser.add_argument("--sign-ins", type=int, help="maximum number; default: 120 per second")
parser.add_argument("--workers", type=int, default=24)
parser.add_argument("--growth", type=float, default=8, help="allowed growth of memory after the warm-up, in MiB")
options = parser.parse_args()
sign_ins = options.sign_ins or 120 * options.seconds

outcomes = collections.Counter()


def expect(holds, text):
    print(f"soak: {'ok      ' if holds else 'PROBLEM '}{text}", flush=True)
    return holds


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    until = time.monotonic() + 120
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
        programs.certificate(folder)
        simulator, carriers = programs.start_simulator(options.latchkey_dev, folder)
        server = None
        try:
            server, ports = programs.start_server(
                options.latchkey, folder, **programs.environment(folder, carriers))
            context = ssl.create_default_context(cafile=f"{folder}/chain.pem")
            port = int(re.search(r":(\d+)", carriers[6:]).group(1))
            good = asyncio.run(soak(server, ports, port, context))
            server.send_signal(signal.SIGTERM)
            good = expect(server.wait(240) == 0, "SIGTERM makes it exit with 0") and good
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
