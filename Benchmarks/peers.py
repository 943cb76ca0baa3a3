"""The servers of Benchmarks/peers: how they are built, checked and started."""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

import scenarios
from programs import API_KEY, BUILD, CLIENT, HERE, SECRET, Program, carrier, fail, free_port, in_path, latchkey, say
from programs import sign_in

PEERS = HERE / "peers"
NAMES = ("go", "go-postgres", "hummingbird", "python")
WITH_POSTGRES = HERE / "with_postgres"
FAULTS = {
    "signature": "an ID token with another's signature", "kid": "an ID token of an unknown key",
    "none": "an ID token without a signature", "iss": "another issuer", "aud": "another audience",
    "exp": "an expired ID token", "iat": "an ID token of the future"}


def run(words, what, seconds, folder=HERE, **environment):
    """Runs a step of a build; its output goes to a log that is shown if it fails."""
    say(f"{what} (at most {seconds // 60} min)")
    log = BUILD / f"{pathlib.Path(words[0]).name}.log"
    with open(log, "w") as output:
        try:
            done = subprocess.run(
                list(map(str, words)), stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=seconds,
                cwd=folder, env=dict(os.environ, **environment))
        except subprocess.TimeoutExpired:
            fail(f"{what} took longer than {seconds} s; its output is in {log}")
    if done.returncode:
        fail(f"{what} failed:\n{log.read_text(errors='replace')[-2000:]}")


def build_go(tags="", name="go"):
    if not in_path("go") or not pathlib.Path("/usr/share/gocode/src/github.com/coreos/go-oidc").is_dir():
        fail("Go or its libraries are missing: run scripts/setup --bench-peers")
    program = BUILD / f"sign-in-{name}"
    # Debian's libraries, so that nothing is downloaded.
    run(["go", "build", "-tags", tags, "-o", program, "."], "building the Go server", 600, PEERS / "go",
        GO111MODULE="off", GOPATH=f"{BUILD}/gopath:/usr/share/gocode", GOCACHE=f"{BUILD}/gocache")
    return [program]


def build_hummingbird():
    if not in_path("swift"):
        fail("Swift is missing: https://www.swift.org/install/linux/")
    # SwiftPM writes Package.resolved beside the manifest, so it builds a copy.
    source = BUILD / "hummingbird-source"
    shutil.copytree(PEERS / "hummingbird", source, dirs_exist_ok=True)
    run(["swift", "build", "-c", "release", "--package-path", source, "--scratch-path", BUILD / "hummingbird"],
        "building the Hummingbird server", 1_800)
    return [BUILD / "hummingbird" / "release" / "SignIn"]


def build_python():
    python = BUILD / "venv" / "bin" / "python3"
    if not python.exists():
        fail("the libraries of the Python server are missing: run scripts/setup --bench-peers")
    return [python, "-m", "uvicorn", "app:app", "--host", "127.0.0.1", "--workers", "2", "--loop", "uvloop",
            "--http", "httptools", "--no-access-log", "--log-level", "warning"]


def starter(name):
    """Builds a server; returns a function of a folder and a carrier that starts it."""
    BUILD.mkdir(parents=True, exist_ok=True)
    words = {
        "go": build_go, "go-postgres": lambda: build_go("postgres", "go-postgres"), "hummingbird": build_hummingbird,
        "python": build_python}[name]()

    def start(folder, provider):
        port = free_port()
        environment = {
            "PORT": str(port), "DB_PATH": f"{folder}/bench.db", "API_KEY": API_KEY, "CLIENT_ID": CLIENT,
            "CLIENT_SECRET": SECRET,
            "DISCOVERY_URL": f"http://127.0.0.1:{provider.port}/.well-known/openid_configuration"}
        command = [WITH_POSTGRES, f"{folder}/postgres", *words] if name == "go-postgres" else words
        if name == "python":
            command = [*words, "--app-dir", PEERS / "python", "--port", port]
            environment["PYTHONPYCACHEPREFIX"] = f"{BUILD}/pycache"
            # Its two workers would contend for the switch to WAL.
            run([words[0], "-c", "import store, sys; store.create(sys.argv[1])", environment["DB_PATH"]],
                "making the Python server's database", 60, PYTHONPATH=str(PEERS / "python"),
                PYTHONDONTWRITEBYTECODE="1")
        return Program(name, command, port, "/users/me", **environment)

    return start


def broken_promises(server, folder):
    """What a server of the comparison must refuse or do, and does not."""
    status, answer = sign_in(server, 0)
    if status != 200 or not isinstance(answer, dict) or not answer.get("token"):
        return [f"a sign-in got {status}: {answer}"]
    token = answer["token"]

    def user(bearer):
        return server.request("GET", "/users/me", None, {"X-API-KEY": API_KEY, "Authorization": f"Bearer {bearer}"})

    def identifier(n, round_name):
        status, answer = sign_in(server, n, round_name)
        return user(answer["token"])[1]["user_id"] if status == 200 else None

    status, found = user(token)
    if status != 200 or "user_id" not in found:
        return [f"GET /users/me got {status}: {found}"]
    stored = b"".join(path.read_bytes() for path in pathlib.Path(folder).rglob("*") if path.is_file())
    first, second = (sign_in(server, 5, code="once-5-a", verifier=letter * 64)[0] for letter in "vw")
    checks = {
        "one user for one issuer and subject": identifier(0, "again") == found["user_id"] != identifier(1, "first"),
        "no token is stored as it is": token.encode() not in stored,
        "a sign-in without an API key is refused": sign_in(server, 2, key=None)[0] in (401, 403),
        "an unknown token is refused": user("A" * 43)[0] == 401,
        "an unknown code is refused": 400 <= sign_in(server, 2, code="unknown")[0],
        "another nonce is refused": 400 <= sign_in(server, 2, "nonce", nonce="n-3")[0] < 500,
        "a code that was used is refused": first == 200 and 400 <= second < 500}
    for fault, text in FAULTS.items():
        checks[f"{text} is refused"] = sign_in(server, 0, code=f"bad-{fault}-{fault}", nonce="n-0")[0] >= 400
    return [promise for promise, is_kept in checks.items() if not is_kept]


def check(name, start):
    """Fails unless a server keeps all promises: otherwise it would have less to do."""
    with tempfile.TemporaryDirectory() as folder, carrier(10) as provider, start(folder, provider) as server:
        broken = broken_promises(server, folder)
        if broken:
            fail(f"{name} breaks promises of the comparison: {'; '.join(broken)}\n{server.text()[-2000:]}")
        say(f"{name} refuses what it must")


def compare(settings, names, count):
    """Latchkey and its peers in turn: medians of each, and the medians of the ratios."""
    starters = {"Latchkey": lambda folder, provider: latchkey(settings.program, f"{folder}/bench.db", provider.port)}
    if "go-postgres" in names:
        # The costs of both include those of the database.
        starters["Latchkey on PostgreSQL"] = lambda folder, provider: latchkey(
            settings.program, "", provider.port, [WITH_POSTGRES, f"{folder}/postgres"])
    for name in names:
        starters[name] = starter(name)
    for name, start in starters.items():
        check(name, start)
    runs = scenarios.rounds(settings, starters, count)
    base = "go" if "go" in names else names[0]
    others = [name for name in starters if name != base]
    return "\n".join([
        f"Each server in turn (rounds: {count}); sign-ins of new users on 32 connections, session checks on 64; "
        f"medians. SQLite {sqlite3.sqlite_version} is that of the machine.", "",
        scenarios.side_by_side(runs), "",
        f"Medians of the ratios (rounds: {count}), for CPU with the lowest and the highest:", "",
        scenarios.ratios_table(runs, base, others), ""])
