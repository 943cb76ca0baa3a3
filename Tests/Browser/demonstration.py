"""A running `latchkey demo`, for all tests in Python."""
import collections
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

Demonstration = collections.namedtuple("Demonstration", "base carriers")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def demonstration(latchkey, **environment):
    """A running `latchkey demo`: the base URLs of the server and of its carriers."""
    port, carriers = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [
                latchkey,
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
        base = f"http://127.0.0.1:{port}"
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    urllib.request.urlopen(base + "/readyz", timeout=5).read()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit("the demonstration did not start")
                    time.sleep(0.1)
            yield Demonstration(base, f"http://127.0.0.1:{carriers}")
            if process.poll() is not None:
                raise SystemExit(f"the server ended with {process.returncode} while it was asked")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
