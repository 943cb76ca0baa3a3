"""The programs of a benchmark: how they start and end, and what /proc says about them."""
import atexit
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from ports import free_port

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / ".build" / "bench"
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
CLIENT, SECRET, REDIRECT_URI, API_KEY = "bench-app", "bench-secret", "https://app.example/callback", "bench-key"
# The same in every run, whatever the carrier's port: rows of users that were made earlier stay valid.
ISSUER = "http://127.0.0.1/carrier"

running = []
NAME = {name: name for name in ("instructions", "keyless", "overload", "ratios", "scaling")}.get(
    pathlib.Path(sys.argv[0]).stem, "bench")


def say(text):
    print(f"{NAME}: {text}", file=sys.stderr, flush=True)


def fail(text):
    raise SystemExit(f"{NAME}: {text}")


def require(program, remedy):
    """Fails with a clear text if a program is missing."""
    if subprocess.run(["sh", "-c", 'command -v "$1"', "sh", str(program)], stdout=subprocess.DEVNULL).returncode:
        fail(f"{program} is missing: {remedy}")


def fields(pid):
    """The fields of /proc/PID/stat from the third on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def tree(root):
    """A process and its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(fields(entry)[1])
            except OSError:
                pass
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


class Program:
    """A program that serves HTTP on a port of 127.0.0.1; stopped at the end of its block."""

    def __init__(self, name, words, port, path, seconds=60, stop_seconds=10, **environment):
        self.name, self.port, self.stop_seconds = name, port, stop_seconds
        self.log = tempfile.NamedTemporaryFile("w+", prefix=f"{name}-", suffix=".log")
        # In a group of its own, so that an interruption of the benchmark reaches it in the right order.
        try:
            self.process = subprocess.Popen(
                list(map(str, words)), env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
                stdout=self.log, stderr=self.log, start_new_session=True)
        except OSError as error:
            fail(f"{words[0]} cannot be run: {error.strerror}")
        running.append(self)
        self.wait_until_it_serves(path, seconds)

    def wait_until_it_serves(self, path, seconds):
        deadline, shown = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", path)
                connection.getresponse().read()
                connection.close()
                return
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                say(f"waiting for {self.name}: {self.last_line()}")
        ended = self.process.poll()
        why = f"did not respond within {seconds} s" if ended is None else f"ended with {ended}"
        text = self.text()[-2000:]
        self.stop()
        fail(f"{self.name} {why}:\n{text or 'it printed nothing'}")

    def text(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def last_line(self):
        return (self.text().strip().splitlines() or [""])[-1]

    @property
    def pid(self):
        return self.process.pid

    def request(self, method, path, body=None, headers=None, connection=None):
        """The status and the JSON of a response (None if it is not JSON), on a new connection if none is given."""
        used = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            used.request(method, path, body, headers or {})
            response = used.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            fail(f"{self.name} did not respond to {method} {path}: {error!r}\n{self.text()[-2000:]}")
        finally:
            if not connection:
                used.close()
        try:
            return response.status, json.loads(content)
        except ValueError:
            return response.status, None

    def stop(self):
        if self in running:
            running.remove(self)
        pids = tree(self.pid) if self.process.poll() is None else []
        if pids:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(self.stop_seconds)
            except subprocess.TimeoutExpired:
                pass
        for pid in pids:
            try:
                if self.process.poll() is None or pid != self.pid:
                    os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(10)
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # What /proc says

    def cpu_us(self):
        """User and system time of its processes, and of those that they have reaped."""
        return sum(sum(map(int, fields(pid)[11:15])) for pid in tree(self.pid)) * TICK_US

    def switches(self):
        """Voluntary and involuntary context switches, by thread."""
        found = {}
        for pid in tree(self.pid):
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                try:
                    status = (task / "status").read_text()
                except OSError:
                    continue
                found[task.name] = sum(map(int, re.findall(r"voluntary_ctxt_switches:\s+(\d+)", status)))
        return found

    def threads(self):
        return len(self.switches())

    def memory(self):
        """Peak and present resident memory and anonymous memory, in MiB, summed over its processes."""
        peak = resident = anonymous = 0
        for pid in tree(self.pid):
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            peak += int(re.search(r"VmHWM:\s+(\d+)", status).group(1))
            resident += int(re.search(r"VmRSS:\s+(\d+)", status).group(1))
            rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            anonymous += int(re.search(r"^Anonymous:\s+(\d+)", rollup, re.MULTILINE).group(1))
        return {"peak": peak / 1024, "end": resident / 1024, "anonymous": anonymous / 1024}


@atexit.register
def stop_all():
    for program in reversed(running[:]):
        program.stop()


def carrier_program():
    """Builds the carrier for benchmarks, if it is older than its source."""
    source, program = HERE / "carrier" / "carrier.c", BUILD / "carrier"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        compiler = next((name for name in ("clang", "cc", "gcc") if in_path(name)), None)
        if not compiler:
            fail("no C compiler (clang, cc or gcc) for the carrier: it comes with the Swift toolchain")
        BUILD.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", f"{program}.new", source, "-lcrypto", "-lpthread"],
            capture_output=True, text=True)
        if made.returncode:
            fail(f"the carrier cannot be built; scripts/setup installs libssl-dev:\n{made.stderr[-2000:]}")
        os.replace(f"{program}.new", program)
    return program


def in_path(name):
    return any(os.access(pathlib.Path(folder) / name, os.X_OK) for folder in os.environ["PATH"].split(":"))


def carrier(subjects, known=0, spread=1, delay_ms=0, is_operator=False):
    """Starts a carrier; see carrier/carrier.c. The issuer of an operator is its own address."""
    port = free_port()
    issuer = f"http://127.0.0.1:{port}" if is_operator else ISSUER
    words = [carrier_program(), "--port", port, "--subjects", subjects, "--known", known, "--spread", spread,
             "--delay-ms", delay_ms, "--issuer", issuer, "--client", CLIENT, "--secret", SECRET]
    return Program("carrier", words, port, "/stats", seconds=120 + subjects / 500)


def latchkey(program, database, carrier_port, under=(), **options):
    """Starts a server with the words of `under` before its own. Its database is a file, or has a URL."""
    port = free_port()
    url = database if "://" in str(database) else f"sqlite:///{database}"
    return Program(
        "latchkey", [*under, program, "serve"], port, "/healthz",
        LATCHKEY_HTTP_HOST="127.0.0.1", LATCHKEY_HTTP_PORT=str(port), LATCHKEY_DATABASE_URL=url,
        LATCHKEY_API_KEYS=API_KEY,
        LATCHKEY_ZENKEY_DISCOVERY_URL=f"http://127.0.0.1:{carrier_port}/.well-known/openid_configuration",
        LATCHKEY_ZENKEY_TRUSTED_ISSUERS="127.0.0.1", LATCHKEY_ALLOW_LOOPBACK_HTTP="true",
        LATCHKEY_RATE_LIMITS="off", LATCHKEY_LOG_LEVEL="warn",
        # For the files of the process in /proc, and for valgrind's vgdb.
        LATCHKEY_DEBUG_MEMORY_DUMPS="true",
        # The carrier's issuer is the same in every run, and so it has no server that could confirm it.
        **{"LATCHKEY_ZENKEY_ISSUERS": "310010=http://127.0.0.1/carrier",
           "LATCHKEY_ZENKEY_CLIENTS": f"{CLIENT}:{SECRET}", **options})


def private_key():
    """A key for ES256, in PEM."""
    made = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], capture_output=True,
        text=True)
    if made.returncode:
        fail(f"openssl made no key: {made.stderr[-1000:]}")
    return made.stdout


def signing_client():
    """The variables of a server whose client authenticates at the carrier with a signature, as at an operator."""
    client = {"id": CLIENT, "private_key": private_key(), "redirect_uris": [REDIRECT_URI]}
    return {"LATCHKEY_ZENKEY_CLIENTS": json.dumps([client])}


def operator_settings(port):
    """The variables of a server for sign-ins by number, at a carrier that is an operator, too."""
    origin = f"http://127.0.0.1:{port}"
    operator = {"name": "bench", "mccmnc": ["310010"], "issuer": origin, "api_root": origin, "client_id": CLIENT,
                "private_key": private_key()}
    number = {"kind": "camara", "purpose": "dpv:FraudPreventionAndDetection", "redirect_uris": [REDIRECT_URI],
              "operators": [operator]}
    return {"LATCHKEY_PROVIDERS": json.dumps({"number": number}), "LATCHKEY_ZENKEY_ISSUERS": f"310010={origin}"}


def sign_in(server, n, round_name="first", code=None, nonce=None, verifier="v" * 64, key=API_KEY,
            connection=None):
    """The status and the JSON of a sign-in with a carrier's code."""
    body = {"client_id": CLIENT, "code": code or f"c-{n}-{round_name}", "mccmnc": "310010",
            "redirect_uri": REDIRECT_URI, "code_verifier": verifier, "nonce": nonce or f"n-{n}"}
    headers = {"Content-Type": "application/json", **({"X-API-KEY": key} if key else {})}
    return server.request("POST", "/auth/zenkey-signin", json.dumps(body), headers, connection)


def sign_in_by_number(server, n, round_name="first", connection=None):
    """The status and the JSON of a sign-in with an operator token."""
    body = {"operator": "bench", "operator_token": f"c-{n}-{round_name}"}
    headers = {"Content-Type": "application/json", "X-API-KEY": API_KEY}
    return server.request("POST", "/auth/number/sign-in", json.dumps(body), headers, connection)


def tokens(server, first, count, round_name, is_kept_alive):
    """The tokens of sign-ins: on one connection, or on a new one each, so that each process of a server gets some."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30) if is_kept_alive else None
    found = []
    for n in range(first, first + count):
        status, answer = sign_in(server, n, round_name, connection=connection)
        if status != 200:
            fail(f"a sign-in at {server.name} got {status}: {answer}\n{server.text()[-2000:]}")
        found.append(answer["token"])
    if connection:
        connection.close()
    return found
