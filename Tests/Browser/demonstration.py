"""A running `latchkey demo`."""
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def demonstration(latchkey, **environment):
    """A running `latchkey demo`: its base URL."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [latchkey, "demo", "--port", str(port), "--simulator-port", "0", "--database", f"{folder}/demo.db"],
            env=dict(os.environ, LATCHKEY_LOG_LEVEL="error", **environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        base = f"http://127.0.0.1:{port}"
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    urllib.request.urlopen(base + "/readyz", timeout=5).read()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit("browser: the demonstration did not start")
                    time.sleep(0.1)
            yield base
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
