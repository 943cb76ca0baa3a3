"""What `make bench` measures, part by part. Each part returns Markdown."""
import contextlib
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import hanging
import users
from measuring import Meter, Users, medians, number, notes, table
from programs import HERE, carrier, fail, latchkey, operator_settings, say, sign_in, signing_client

# Users that sign in once before a load; the tokens of session checks.
WARM = 1_000


class Settings:
    def __init__(self, options, counting):
        self.program, self.latchkey_dev = options.programs / "latchkey", options.programs / "latchkey-dev"
        self.counting, self.is_quick = counting, options.quick
        self.levels = options.connections
        self.seconds = options.seconds or (1 if options.quick else 3)
        self.users = options.users or (10_000 if options.quick else 1_000_000)
        self.delay_ms = options.delay_ms
        self.idle = options.idle or (500 if options.quick else 10_000)

    def new_per_second(self, level):
        """New users that a second of a load may use up; the carrier signs their tokens in advance."""
        return 2_500 if level == 1 else 3_000 if self.is_quick else 14_000

    def new_users(self, loads, levels, seconds=None):
        """New users that sign-ins of these loads may use up, with those of the windows that count."""
        seconds = seconds or self.seconds + (0 if self.is_quick else 1)
        return WARM + loads * sum(seconds * self.new_per_second(level) + 4 * level for level in levels)


@contextlib.contextmanager
def started(settings, subjects, filled=None, delay_ms=0):
    """A carrier, and a server whose database is empty or a copy of `filled` with a number of users."""
    known = min(10_000, settings.users // 10) if filled else 0
    count = filled[1] if filled else 0
    known = min(known, count)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.db"
        if filled:
            users.copy(filled[0], path)
        with carrier(known + subjects, known, max(1, count // max(1, known)), delay_ms) as provider, latchkey(
                settings.program, path, provider.port) as server:
            yield Meter(server, Users(known + subjects, known, settings.new_per_second), settings)


def loads(settings, meter, named, levels=None):
    """The rows of each kind of load at each number of connections."""
    rows = []
    for name, run in named:
        for level in levels or settings.levels:
            say(f"{name}, {level} connections, {settings.seconds} s")
            rows.append((name, level, run(level)))
    return rows


def memory_row(name, meter):
    found = meter.server.memory()
    return (f"| {name} | {number(found['peak'])} | {number(found['end'])} | {number(found['anonymous'])} | "
            f"{meter.server.threads()} |")


def main_parts(settings, parts):
    """The parts that fill the first two tables."""
    rows, memory = [], []
    seconds, warm = settings.seconds, 200 if settings.is_quick else WARM
    # A short run leaves out what differs least.
    some = settings.levels[-2:-1] or settings.levels if settings.is_quick else settings.levels
    if "fresh" in parts:
        with started(settings, settings.new_users(1, settings.levels)) as meter:
            tokens = meter.users.warm_up(meter.server, warm)
            rows += loads(settings, meter, [
                ("session check", lambda level: meter.check("me", tokens, level, seconds)),
                ("introspection", lambda level: meter.check("introspect", tokens, level, seconds)),
                ("sign-in of a known user", lambda level: meter.sign_in("known", level, seconds)),
                ("sign-in of a new user", lambda level: meter.sign_in("new", level, seconds))])
            memory.append(memory_row("few users", meter))
    if "slow-carrier" in parts:
        with started(settings, settings.new_users(1, some), delay_ms=settings.delay_ms) as meter:
            meter.users.warm_up(meter.server, 20)
            rows += loads(settings, meter, [
                (f"sign-in, carrier takes {settings.delay_ms} ms",
                 lambda level: meter.sign_in("new", level, seconds))], some)
            memory.append(memory_row(f"carrier takes {settings.delay_ms} ms", meter))
    if "many-users" in parts:
        filled = users.database(settings.program, settings.users), settings.users
        text = f"{settings.users:,} users"
        with started(settings, settings.new_users(1, some), filled) as meter:
            tokens = meter.users.warm_up(meter.server, warm)
            named = [(f"session check, {text}", lambda level: meter.check("me", tokens, level, seconds))]
            named += [
                (f"sign-in of a known user, {text}", lambda level: meter.sign_in("known", level, seconds)),
                (f"sign-in of a new user, {text}", lambda level: meter.sign_in("new", level, seconds))]
            rows += loads(settings, meter, named, some)
            memory.append(memory_row(text, meter))
    text = []
    if rows:
        text += [table(rows, ["load", "connections"]), *notes(rows), ""]
    if memory:
        text += ["| memory, MiB | peak resident | resident at the end | anonymous at the end | threads |",
                 "|---|---:|---:|---:|---:|", *memory, ""]
    return "\n".join(text)


def growth(settings):
    """Sign-ins with 1, 10 and 100 % of the users in the database, alternating, so that disturbances hit all."""
    sizes = [settings.users // 100, settings.users // 10, settings.users]
    # Many short rounds, because those of one size differ by more than the sizes do.
    rounds, level, seconds = 1 if settings.is_quick else 15, 32, 1
    figures = {(size, kind): [] for size in sizes for kind in ("known", "new")}
    with contextlib.ExitStack() as stack:
        meters = {}
        for size in sizes:
            filled = users.database(settings.program, size), size
            meters[size] = stack.enter_context(started(
                settings, settings.new_users(rounds + 1, [level], seconds), filled))
            meters[size].users.warm_up(meters[size].server, min(200, size // 2))
        for turn in range(rounds):
            for kind in ("known", "new"):
                for size in sizes:
                    say(f"sign-ins of {kind} users, {size:,} in the database, round {turn + 1} of {rounds}")
                    figures[size, kind].append(
                        meters[size].sign_in(kind, level, seconds, is_counted=turn == 0))
    rows = []
    for kind in ("known", "new"):
        for size in sizes:
            mine, least = figures[size, kind], figures[sizes[0], kind]
            rows.append((f"{kind} user", f"{size:,}", ratios(mine, least), medians(mine)))
    heads = ["sign-in of a", "users in the database", f"CPU, of that with {sizes[0]:,}"]
    how = f"medians of {rounds} alternating rounds" if rounds > 1 else "one round"
    return "\n".join([
        f"Growth with the number of users: {level} connections, {how}.", "",
        table(rows, heads), *notes(rows), ""])


def ratios(figures, others):
    """The median of the ratios of the CPU time in the same rounds, and their quartiles."""
    found = [mine["cpu"] / theirs["cpu"] for mine, theirs in zip(figures, others)]
    if len(found) < 4 or figures is others:
        return f"{statistics.median(found):.2f}"
    first, median, third = statistics.quantiles(found, n=4, method="inclusive")
    return f"{median:.2f} ({first:.2f} to {third:.2f})"


def numbers(settings):
    """Sign-ins by number with an operator token, beside those with a carrier's code, in alternating rounds.

    Operators demand that a client authenticates with a signature, so there are also sign-ins at the carrier by a client
    that does. They run at a second server, because a client has one way to authenticate.
    """
    turns, level = 1 if settings.is_quick else 5, 32
    subjects = settings.new_users(2 * turns, [level])
    ways = {"carrier": ("secret", "carrier"), "carrier, with a signature": ("signature", "carrier"),
            "number": ("secret", "number")}
    figures = {(kind, way): [] for kind in ("known", "new") for way in ways}
    with contextlib.ExitStack() as programs:
        folder = programs.enter_context(tempfile.TemporaryDirectory())
        provider = programs.enter_context(carrier(subjects, is_operator=True))
        meters = {}
        for name, client in (("secret", {}), ("signature", signing_client())):
            server = programs.enter_context(latchkey(
                settings.program, f"{folder}/{name}.db", provider.port, **operator_settings(provider.port), **client))
            meters[name] = Meter(server, Users(subjects, 0, settings.new_per_second), settings)
            meters[name].users.warm_up(server, 200 if settings.is_quick else WARM)
        for turn in range(turns):
            for kind, way in figures:
                say(f"sign-ins of {kind} users by {way}, round {turn + 1} of {turns}")
                name, path = ways[way]
                figures[kind, way].append(meters[name].sign_in(kind, level, settings.seconds, path))
    rows = []
    for kind, way in figures:
        mine, theirs = figures[kind, way], figures[kind, "carrier"]
        signing = figures[kind, "carrier, with a signature"]
        rows.append((f"{kind} user", way, ratios(mine, theirs), ratios(mine, signing), medians(mine)))
    how = f"medians of {turns} alternating rounds" if turns > 1 else "one round"
    return "\n".join([
        f"Sign-ins by number with an operator token, beside those with a carrier's code: {level} connections, {how}.",
        "",
        table(rows, ["sign-in of a", "by", "CPU, of that by carrier", "of that with a signature"]), *notes(rows), ""])


def idle(settings):
    """Holds idle connections, and signs users in meanwhile."""
    say(f"holding {settings.idle} idle connections")
    with started(settings, 100) as meter:
        server, connections = meter.server, settings.idle
        meter.users.warm_up(server, 20)
        with subprocess.Popen(
                [sys.executable, str(HERE / "idle_connections.py"), "--port", str(server.port), "--pid",
                 str(server.pid), "--connections", str(connections), "--wait"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            held = holder.stdout.readline().strip()
            if not held:
                fail(f"could not hold {connections} idle connections; `ulimit -n` must allow as many files")
            start = time.monotonic()
            for n in range(20, 40):
                status, answer = sign_in(server, n)
                if status != 200:
                    fail(f"a sign-in beside idle connections got {status}: {answer}")
            took = (time.monotonic() - start) / 20 * 1000
            try:
                after, _ = holder.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                holder.kill()
                fail("the idle connections did not respond again within 60 s")
        if holder.returncode:
            fail("an idle connection was lost")
        return f"{held}; 20 sign-ins meanwhile: 200 in {took:.1f} ms each; then {after.strip()}.\n"


def hanging_carrier(settings):
    before, during = (1, 2) if settings.is_quick else (15, 30)
    say(f"sign-ins and session checks, {before} s, and {during} s while another carrier hangs")
    return hanging.report(settings.program, settings.latchkey_dev, before, during) + "\n"


# Pairs and peers


FIGURES = {"sign-in": lambda meter, seconds: meter.sign_in("new", 32, seconds),
           "session check": lambda meter, seconds: meter.check("me", meter.tokens, 64, seconds)}


def one_run(settings, start, name):
    """A fresh carrier, database and server: the figures of each load, and memory."""
    with tempfile.TemporaryDirectory() as folder:
        with carrier(settings.new_users(1, [32])) as provider, start(folder, provider) as server:
            meter = Meter(server, Users(settings.new_users(1, [32]), 0, settings.new_per_second), settings)
            meter.tokens = meter.users.warm_up(server, WARM, is_kept_alive=False)
            found = {}
            for load, run in FIGURES.items():
                say(f"{name}: {load}, {settings.seconds} s")
                found[load] = run(meter, settings.seconds)
            memory = server.memory()
            for load in found:
                found[load]["peak"], found[load]["anonymous"] = memory["peak"], memory["anonymous"]
            return found


RATIOS = [("cpu", "CPU"), ("rate", "rate"), ("instructions", "instructions"), ("switches", "context switches"),
          ("calls", "system calls"), ("p50", "p50"), ("p99", "p99"), ("peak", "peak memory"),
          ("anonymous", "anonymous memory")]


def ratios_table(runs, base, others):
    """The medians of the ratios of `others` to `base`, round by round."""
    names = [(name, title) for name, title in RATIOS
             if all(name in figures for rounds in runs.values() for run in rounds for figures in run.values())]
    lines = [f"| ratio to {base} | load | " + " | ".join(title for _, title in names) + " |",
             "|---|---" + "|---:" * len(names) + "|"]
    for other in others:
        for load in FIGURES:
            cells = []
            for name, _ in names:
                ratios = [mine[load][name] / theirs[load][name] if theirs[load][name] else float("nan")
                          for mine, theirs in zip(runs[other], runs[base])]
                spread = f" ({min(ratios):.2f}–{max(ratios):.2f})" if name == "cpu" else ""
                cells.append(f"{statistics.median(ratios):.2f}{spread}")
            lines.append(f"| {other} | {load} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rounds(settings, starters, count):
    """Runs each program in turn, `count` times."""
    runs = {name: [] for name in starters}
    for turn in range(count):
        for name, start in starters.items():
            say(f"round {turn + 1} of {count}: {name}")
            runs[name].append(one_run(settings, start, name))
    return runs


def side_by_side(runs):
    rows = [(name, load, medians([run[load] for run in found])) for name, found in runs.items() for load in FIGURES]
    memory = ["| memory, MiB | peak resident | anonymous at the end |", "|---|---:|---:|"]
    for name, found in runs.items():
        figures = medians([run["sign-in"] for run in found])
        memory.append(f"| {name} | {number(figures['peak'])} | {number(figures['anonymous'])} |")
    return "\n".join([table(rows, ["server", "load"]), *notes(rows), "", *memory])


def compare(settings, other, pairs):
    """This build and another program, alternating: medians of each, and the medians of the ratios."""
    starters = {
        "this build": lambda folder, provider: latchkey(settings.program, f"{folder}/bench.db", provider.port),
        "the other": lambda folder, provider: latchkey(other, f"{folder}/bench.db", provider.port)}
    runs = rounds(settings, starters, pairs)
    return "\n".join([
        f"Alternating pairs: {pairs}; sign-ins of new users on 32 connections, session checks on 64; medians.", "",
        side_by_side(runs), "",
        f"Medians of the ratios, for CPU with the lowest and the highest:", "",
        ratios_table(runs, "the other", ["this build"]), ""])
