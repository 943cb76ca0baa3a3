"""A running `latchkey-dev demo`, for all tests in Python."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Benchmarks"))

from ports import free_port  # noqa: E402

Demonstration = collections.namedtuple("Demonstration", "base carriers")


@contextlib.contextmanager
def demonstration(latchkey_dev, **environment):
    """A running `latchkey-dev demo`: the base URLs of the server and of what it simulates."""
    port, carriers = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [
                latchkey_dev,
                "demo",
                "--port",
                str(port),
                "--simulator-port",
                str(carriers),
                "--database",
                f"{folder}/demo.db",
            ],
            env=dict(os.environ, LATCHKEY_LOG_LEVEL="error", **environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        with running(process, f"http://127.0.0.1:{port}") as base:
            yield Demonstration(base, f"http://127.0.0.1:{carriers}")


@contextlib.contextmanager
def production(latchkey, carriers):
    """The base URL of a running `latchkey serve` with one provider of a demonstration, and the defaults otherwise."""
    port = free_port()
    client = {"id": "demo-app", "secret": "secret", "redirect_uris": ["http://127.0.0.1/sign-in"]}
    provider = {"kind": "oidc", "name": "Acme Accounts", "issuer": f"{carriers}/providers/acme", "clients": [client]}
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "LATCHKEY_HTTP_PORT": str(port), "LATCHKEY_PUBLIC_URL": f"http://127.0.0.1:{port}",
            "LATCHKEY_API_KEYS": "key-of-the-test", "LATCHKEY_PROVIDERS": json.dumps({"acme": provider}),
            "LATCHKEY_DATABASE_URL": f"sqlite:///{folder}/latchkey.db", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
            "LATCHKEY_LOG_LEVEL": "error",
        }
        process = subprocess.Popen(
            [latchkey, "serve"], env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        with running(process, f"http://127.0.0.1:{port}") as base:
            yield base


@contextlib.contextmanager
def running(process, base, path="/readyz"):
    """Waits until a server is ready, and stops it at the end."""
    try:
        deadline = time.monotonic() + 300
        while True:
            try:
                urllib.request.urlopen(base + path, timeout=60).read()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the server did not start")
                time.sleep(0.1)
        yield base
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode} while it was asked")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
