"""The programs and connections of load tests: Tests/Soak/soak.py, Tests/Chaos/chaos.py."""
import asyncio
import os
import pathlib
import re
import subprocess
import time

KEY, CLIENT, SECRET, REDIRECT = (
    "key-of-the-soak-0123456789",
    "ccid-soak",
    "secret-of-the-soak",
    "https://app.example/callback",
)


def environment(folder, carriers):
    """The server's configuration: HTTP and HTTPS on free ports, an SQLite database in the folder."""
    return dict(
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


def start(words, log, pattern, **environment):
    """Starts a program; returns it with the match of the pattern in its output."""
    output = open(log, "w+")
    process = subprocess.Popen(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                               env={"PATH": os.environ["PATH"], **environment})
    until = time.monotonic() + 300
    while time.monotonic() < until and process.poll() is None:
        found = re.search(pattern, pathlib.Path(log).read_text(), re.DOTALL)
        if found:
            return process, found.groups()
        time.sleep(0.05)
    process.kill()
    raise SystemExit(f"{words[0]} did not start:\n{pathlib.Path(log).read_text()[-2000:]}")


def start_simulator(latchkey_dev, folder):
    """Returns the simulated carriers' process and the URL of their discovery."""
    simulator, (carriers,) = start(
        [latchkey_dev, "carrier", "--client", f"{CLIENT}:{SECRET}:{REDIRECT}"], f"{folder}/simulator.log",
        r"discovery +(\S+).*a code")
    return simulator, carriers


def start_server(program, folder, **environment):
    """Returns the server's process and its ports, of HTTP and HTTPS."""
    server, ports = start(
        [program, "serve"], f"{folder}/server.log", r"http://127\.0\.0\.1:(\d+).*https://127\.0\.0\.1:(\d+)\s",
        **environment)
    return server, [int(port) for port in ports]


def memory(process):
    """Anonymous memory, in MiB: pages of the program's file are mapped with the first request that needs them."""
    return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()).group(1)) / 1024


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


class Line:
    """A connection for sequential requests. `head` is that of the last response."""

    def __init__(self, port, context=None, host="127.0.0.1"):
        self.port, self.context, self.host = port, context, host

    async def open(self):
        self.reader, self.writer = await asyncio.wait_for(asyncio.open_connection(
            self.host, self.port, ssl=self.context, server_hostname="localhost" if self.context else None), 120)

    async def send(self, method, path, fields=(), body=b""):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *fields]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        await self.writer.drain()

    async def call(self, method, path, fields=(), body=b""):
        await self.send(method, path, fields, body)
        head = self.head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 120)
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        content = await asyncio.wait_for(self.reader.readexactly(int(length.group(1))), 120) if length else b""
        return int(head[9:12]), content

    async def close(self):
        self.writer.close()
        try:
            await asyncio.wait_for(self.writer.wait_closed(), 30)
        except (OSError, asyncio.TimeoutError):
            pass
