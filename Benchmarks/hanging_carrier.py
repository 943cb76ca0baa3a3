"""Measures how a hanging carrier affects session checks and sign-ins at another carrier.

The hanging carrier accepts requests without responding. The figures are measured before and while it hangs. Each
request is due at a fixed time, and its latency counts from that time, so that a stalled server does not reduce the
load. One thread sends all requests; its cost is the same in all figures.
"""
import asyncio
import collections
import json

# Far below any machine's capacity, because latency is measured.
SIGN_INS, CHECKS, HANGING_SIGN_INS = 20, 100, 20


class Connections:
    """Kept-alive connections to a server, opened on demand."""

    def __init__(self, port):
        self.port = port
        self.idle = []

    async def request(self, method, path, headers, body=b""):
        reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
        fields = {"Host": f"127.0.0.1:{self.port}", "Content-Length": str(len(body)), **headers}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        try:
            writer.write(head.encode() + b"\r\n" + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            lines = answer.decode().lower().split("\r\n")
            length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
            content = await reader.readexactly(length)
        except BaseException:
            writer.close()
            raise
        self.idle.append((reader, writer))
        return int(lines[0].split()[1]), content

    def close(self):
        for _, writer in self.idle:
            writer.close()


async def steadily(rate, seconds, send):
    """Sends `rate` requests per second; returns their latencies in milliseconds, from their due times."""
    start = asyncio.get_running_loop().time()

    async def one(due):
        await send()
        return (asyncio.get_running_loop().time() - due) * 1000

    tasks = []
    for number in range(int(rate * seconds)):
        due = start + number / rate
        await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))
        tasks.append(asyncio.create_task(one(due)))
    return await asyncio.gather(*tasks)


class Load:
    def __init__(self, port, api_key, tokens):
        self.connections, self.hanging_connections = Connections(port), Connections(port)
        self.headers = {"X-API-KEY": api_key, "Content-Type": "application/json"}
        self.checks = [{"X-API-KEY": api_key, "Authorization": f"Bearer {token}"} for token in tokens]
        self.last_check = 0
        self.hanging_answers = collections.Counter()

    async def sign_in(self, bodies):
        self.expect(*await self.connections.request("POST", "/auth/zenkey-signin", self.headers, next(bodies)))

    async def check(self):
        self.last_check = (self.last_check + 1) % len(self.checks)
        self.expect(*await self.connections.request("GET", "/users/me", self.checks[self.last_check]))

    async def sign_in_at_hanging(self, bodies):
        status, content = await self.hanging_connections.request(
            "POST", "/auth/zenkey-signin", self.headers, next(bodies))
        self.hanging_answers[f"{status} {json.loads(content).get('error', '')}".strip()] += 1

    @staticmethod
    def expect(status, content):
        if status != 200:
            raise SystemExit(f"bench: while another carrier hung, a request got {status}: {content.decode()}")

    async def phase(self, seconds, bodies):
        return await asyncio.gather(
            steadily(SIGN_INS, seconds, lambda: self.sign_in(bodies)), steadily(CHECKS, seconds, self.check))

    def close(self):
        self.connections.close()
        self.hanging_connections.close()


async def compare(load, before, during, bodies, hanging_bodies, hang):
    quiet = await load.phase(before, bodies)
    hang()
    bodies_of_hanging = iter(hanging_bodies)
    stream = asyncio.create_task(
        steadily(HANGING_SIGN_INS, during, lambda: load.sign_in_at_hanging(bodies_of_hanging)))
    disturbed = await load.phase(during, bodies)
    waiting = HANGING_SIGN_INS * during - load.hanging_answers.total()
    stream.cancel()
    await asyncio.gather(stream, return_exceptions=True)
    load.close()
    return quiet, disturbed, waiting


def percentile(values, hundredths):
    values = sorted(values)
    return values[min(len(values) - 1, len(values) * hundredths // 100)]


def measure(port, api_key, tokens, codes, hanging_codes, hang, before, during):
    """Returns a report.

    codes(count), hanging_codes(count): bodies of sign-ins at the responding carrier and at the other one.
    hang(): makes the other one hang. before, during: seconds.
    """
    bodies = [body.encode() for body in codes(SIGN_INS * (before + during))]
    hanging_bodies = [body.encode() for body in hanging_codes(HANGING_SIGN_INS * during)]
    load = Load(port, api_key, tokens)
    quiet, disturbed, waiting = asyncio.run(compare(load, before, during, iter(bodies), hanging_bodies, hang))
    rows = [row(*figures) for figures in zip(("sign-in", "session check"), quiet, disturbed)]
    answers = ", ".join(f"{count} × {answer}" for answer, count in sorted(load.hanging_answers.items()))
    return "\n".join(
        [
            "",
            f"One carrier responds; {SIGN_INS} users per second sign in there, "
            f"with {CHECKS} session checks per second.",
            f"For {before} s there is no other load; then, for {during} s, another carrier hangs, where "
            f"{HANGING_SIGN_INS} users per second try to sign in:",
            "",
            "| what | p50 ms before | p50 ms meanwhile | p99 ms before | p99 ms meanwhile |",
            "|---|---:|---:|---:|---:|",
            *rows,
            "",
            f"At the carrier that hung: {answers or 'no response'}; {waiting} still waiting at the end.",
        ]
    )


def row(name, quiet, disturbed):
    """A row of the table. Fails if the hanging carrier clearly affected the other requests."""
    if percentile(disturbed, 50) > 1000:
        raise SystemExit(f"bench: while another carrier hung, half of all requests for a {name} took over a second")
    figures = [percentile(values, share) for share in (50, 99) for values in (quiet, disturbed)]
    return f"| {name} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |"
