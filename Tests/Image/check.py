"""Follows the Dockerfile step by step in chroots, then runs the result. See scripts/image-check."""
import argparse
import fnmatch
import glob
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

import container
import dockerfile
import peers

parser = argparse.ArgumentParser()
parser.add_argument("--binary", required=True)
parser.add_argument("--latchkey-dev", required=True)
parser.add_argument("--work", default=".build/image")
options = parser.parse_args()
work = os.path.abspath(options.work)
problems = []
LARGEST_MB = 60


def say(text):
    print(f"image-check: {text}", flush=True)


def fail(text):
    raise SystemExit(f"image-check: {text}")


def expect(holds, text):
    say(("ok      " if holds else "PROBLEM ") + text)
    if not holds:
        problems.append(text)


def run(words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
                          timeout=1200, **more)
    return done.returncode, done.stdout


def must(words, what, **more):
    status, output = run(words, **more)
    if status != 0:
        fail(f"{what} failed ({status}):\n{output[-3000:]}")
    return output


# The base image


def mirrors(codename):
    """This machine's package sources for a release: (suite, address)."""
    lines = must(["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"], "apt-get")
    found = dict(line.split(" ", 1) for line in lines.splitlines() if line.startswith(codename))
    if codename not in found:
        fail(f"this machine has no package source for {codename}, the image's distribution")
    return found


def base(codename):
    """A minimal system, cached for the next run."""
    root = f"{work}/{codename}"
    if not os.path.exists(f"{root}.done"):
        say(f"making a minimal {codename}")
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(work, exist_ok=True)
        sources = mirrors(codename)
        must(["debootstrap", "--variant=minbase", codename, root, sources[codename]], "debootstrap")
        with open(f"{root}/etc/apt/sources.list", "w") as file:
            for suite, address in sources.items():
                file.write(f"deb {address} {suite} main\n")
        open(f"{root}.done", "w").close()
    return root


class Root:
    """A temporary root file system: a chroot of a distribution, or an empty one."""

    def __init__(self, name, codename):
        self.path = f"{work}/{name}"
        self.remove()
        if codename is None:
            os.makedirs(self.path)
            return
        must(["cp", "-a", base(codename), self.path], "copying the minimal system")
        for name in ["resolv.conf", "hosts"]:
            if os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", f"{self.path}/etc/{name}")
        proxies = "/etc/apt/apt.conf.d"
        for name in os.listdir(proxies):
            if "proxy" in name.lower():
                shutil.copy(f"{proxies}/{name}", f"{self.path}{proxies}/{name}")
        self.mount()

    def mount(self):
        """Mounts what a container engine does."""
        for folder in ["proc", "dev"]:
            os.makedirs(f"{self.path}/{folder}", exist_ok=True)
        must(["mount", "-t", "proc", "proc", f"{self.path}/proc"], "mount")
        # Devices that debootstrap could not create.
        for device in ["null", "zero", "random", "urandom"]:
            target = f"{self.path}/dev/{device}"
            if not os.path.exists(target):
                open(target, "w").close()
            must(["mount", "--bind", f"/dev/{device}", target], "mount")

    def release(self):
        for line in reversed(open("/proc/mounts").read().splitlines()):
            target = line.split(" ")[1]
            if target == self.path or target.startswith(self.path + "/"):
                subprocess.run(["umount", "-l", target], check=False)

    def remove(self):
        """Removes the chroot, but nothing that may still be mounted in it."""
        self.release()
        must(["rm", "-rf", "--one-file-system", self.path], "removing the chroot")

    def shell(self, text, directory, environment):
        words = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                 "DEBIAN_FRONTEND=noninteractive"] + [f"{name}={value}" for name, value in environment.items()]
        return run(["chroot", self.path] + words + ["/bin/sh", "-c", f"cd {shlex.quote(directory)} && {text}"])


# Its instructions


def is_let_through(path):
    """Whether .dockerignore admits a file or folder to the build; the last matching line decides."""
    through = True
    for line in open(".dockerignore", encoding="utf-8"):
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        keeps = pattern.startswith("!")
        pattern = pattern.lstrip("!").rstrip("/")
        if fnmatch.fnmatch(path, pattern) or path.startswith(pattern + "/"):
            through = keeps
    return through


def copy(words, root, directory, roots):
    """COPY [--from=stage] [--chown=user:group] source… target. Without --chown all belongs to root."""
    origin = next((word[7:] for word in words if word.startswith("--from=")), None)
    owner = next((word[8:] for word in words if word.startswith("--chown=")), None)
    *sources, target = [word for word in words if not word.startswith("--")]
    place = os.path.normpath(root.path + os.path.join(directory, target))
    for source in sources:
        if origin is None:
            if not os.path.exists(source):
                fail(f"COPY {source}: there is no such file")
            if not is_let_through(source):
                fail(f"COPY {source}: .dockerignore excludes it")
            full = source
        else:
            full = os.path.normpath(roots[origin].path + "/" + source)
        if os.path.isdir(full):
            os.makedirs(place, exist_ok=True)
            must(["cp", "-a", "--no-preserve=ownership", full + "/.", place], "cp")
            if owner:
                must(["chown", "-R", owner] + [f"{place}/{name}" for name in os.listdir(full)], "chown")
        elif owner:
            fail("COPY --chown of a file is not followed here")
        else:
            is_folder = target.endswith("/") or target in (".", "./")
            os.makedirs(place if is_folder else os.path.dirname(place), exist_ok=True)
            must(["cp", "-a", "--no-preserve=ownership", full, place], "cp")


BUILD_SCRIPT = "scripts/build-release"


LICENCES_SCRIPT = "scripts/image-licences"


def build_here(text, root, directory):
    """A RUN that builds: the chroot has no Swift, so this machine's build is used if the same script makes it."""
    for part in text.split("&&"):
        words = [word for word in shlex.split(part) if not re.match(r"\w+=", word)]
        if words[0] in (BUILD_SCRIPT, LICENCES_SCRIPT):
            expect(os.access(f"{root.path}{directory}/{words[0]}", os.X_OK), f"{words[0]} is in the image")
        if words[0] == BUILD_SCRIPT:
            made = must(["make", "--dry-run", "build"], "make").split()
            flags = set(words[1:]) - {"--product", "latchkey"}
            expect(BUILD_SCRIPT in made and flags <= set(made), f"`make build` builds with {' '.join(words)}, too")
        elif words[0] == LICENCES_SCRIPT:
            must([LICENCES_SCRIPT, root.path + words[1]], part)
        elif words[0] == "install":
            words = [options.binary if word.startswith(".build/") else word for word in words]
            words = [root.path + word if word.startswith("/") and word != options.binary else word for word in words]
            must(words, part)
        elif words[0] != "swift":
            fail(f"cannot run this part of the build here: {part}")


def follow(stage, roots):
    codename = re.search(r"(bookworm|trixie)", stage.base)
    if not codename and stage.base != "scratch":
        fail(f"unknown base image {stage.base}")
    root = Root(stage.name or "image", codename and codename.group(1))
    roots[stage.name or "image"] = root
    directory = "/"
    for name, text in stage.steps:
        if name == "WORKDIR":
            directory = text
            os.makedirs(root.path + directory, exist_ok=True)
        elif name == "RUN" and {"swift", BUILD_SCRIPT} & set(shlex.split(text)):
            build_here(text, root, directory)
        elif name == "RUN":
            say(f"RUN {' '.join(text.split())[:100]}")
            status, output = root.shell(text, directory, stage.arguments({}) | stage.environment)
            if status != 0:
                fail(f"RUN failed ({status}):\n{output[-3000:]}")
        elif name == "COPY":
            copy(shlex.split(text), root, directory, roots)
    return root, directory


# The result


def post(url, body=b"", headers={}):
    """Uses curl, which shares no code with this repository."""
    words = ["curl", "-sS", "--max-time", "120", "-X", "POST", url, "--data-binary", "@-", "-w", "\n%{http_code}"]
    for name, value in headers.items():
        words += ["-H", f"{name}: {value}"]
    done = subprocess.run(words, input=body, stdout=subprocess.PIPE, check=False, timeout=150)
    content, _, status = done.stdout.decode().rpartition("\n")
    return int(status or 0), content


def files_of(root):
    """The regular files of a root by path, without links."""
    for folder, _, names in os.walk(root.path):
        for name in names:
            path = f"{folder}/{name}"
            if os.path.isfile(path) and not os.path.islink(path):
                yield path[len(root.path):]


def examine_files(stage, root):
    """What is in the image, before anything is mounted in it."""
    size = int(must(["du", "-sxB1", root.path], "du").split()[0]) / 1e6
    expect(size <= LARGEST_MB, f"the image has {size:.1f} MB, of {LARGEST_MB}")
    program = os.path.getsize(f"{root.path}/usr/local/bin/latchkey") / 1e6
    say(f"        {program:.1f} MB of them are the program")
    loader = next(iter(glob.glob(f"{root.path}/lib*/ld-linux*")), None)
    if loader is None:
        fail("the image has no dynamic linker")
    loader = loader[len(root.path):]
    status, output = run(["chroot", root.path, loader, "--list", "/usr/local/bin/latchkey"])
    missing = "" if status == 0 else output
    expect(status == 0 and "not found" not in output, f"every library of the program exists {missing}")
    needed = {os.path.basename(path) for path in re.findall(r"(/\S+) \(0x", output)}
    there = {os.path.basename(path) for path in files_of(root) if ".so" in os.path.basename(path)}
    expect(needed == there, f"the {len(there)} libraries are those of the program {' '.join(sorted(needed ^ there))}")
    programs = [path for path in files_of(root) if os.access(root.path + path, os.X_OK) and ".so" not in path]
    expect(programs == ["/usr/local/bin/latchkey"], f"the program is the only one, without a shell: {programs}")
    packages = os.listdir(f"{root.path}/var/lib/dpkg/status.d")
    entries = [open(f"{root.path}/var/lib/dpkg/status.d/{name}", encoding="utf-8").read() for name in packages]
    expect(
        {"base-files", "ca-certificates", "libc6", "libpq5", "libssl3"} <= set(packages)
        and all(re.search(r"^Version: \S", entry, re.MULTILINE) for entry in entries),
        f"scanners see the versions of {len(packages)} packages")
    licences = [name for name in packages if not os.path.exists(f"{root.path}/usr/share/doc/{name}/copyright")]
    expect(not licences, f"each package has its licence {licences}")
    expect(os.path.exists(f"{root.path}/usr/share/doc/latchkey/swift-crypto/LICENSE.txt"),
           "the Swift packages have their licences")
    with open(f"{root.path}/etc/ssl/certs/ca-certificates.crt", encoding="utf-8") as file:
        expect(file.read().count("BEGIN CERTIFICATE") > 100, "the authorities that TLS trusts are in it")
    user, _, group = stage.last("USER", "").partition(":")
    expect(user.isdigit() and group.isdigit() and user != "0",
           f"user and group are numbers other than 0: {user}:{group}")
    with open(f"{root.path}/etc/passwd", encoding="utf-8") as file:
        expect(f":{user}:{group}:" in file.read(), "the user is in /etc/passwd")
    for path, mode, owner in [("/tmp", 0o1777, 0), (stage.last("VOLUME"), 0o750, int(user))]:
        found = os.stat(root.path + path)
        expect((found.st_mode & 0o7777, found.st_uid) == (mode, owner), f"{path} has the mode {mode:o}")


def examine_words(stage, root):
    """The instructions for the engine, and the version."""
    expect(stage.last("STOPSIGNAL") == "SIGTERM", "the stop signal is SIGTERM")
    labels = stage.last("LABEL") or ""
    expect(
        all(f"org.opencontainers.image.{name}=" in labels for name in ["title", "version", "revision"]), "it has labels"
    )
    version = stage.arguments({})["VERSION"]
    status, output = run(["chroot", root.path, "/usr/local/bin/latchkey", "--version"])
    expect(status == 0 and re.fullmatch(rf"{re.escape(version)} \(commit [0-9a-f]{{40}}(-modified)?\)\n", output),
           f"the program has the label's version {version}, and its commit: {output.strip()}")
    expect(all(stage.last(name).startswith("[") for name in ["ENTRYPOINT", "CMD"])
           and dockerfile.healthcheck(stage.last("HEALTHCHECK"))[0] == "latchkey", "no instruction needs a shell")


def sign_in(code_url, port, key):
    _, code = post(code_url, headers={"Content-Type": "application/x-www-form-urlencoded"})
    status, answer = post(f"http://127.0.0.1:{port}/auth/zenkey-signin", code.encode(),
                          {"X-API-KEY": key, "Content-Type": "application/json"})
    return status == 200 and "token" in json.loads(answer), f"({status})" if status == 200 else f"({status} {answer})"


def start(box, stage):
    server = box.start(dockerfile.command(stage.last("ENTRYPOINT")) + dockerfile.command(stage.last("CMD")))
    until = time.monotonic() + 300
    while "listening" not in box.said() and server.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    if "listening" not in box.said():
        fail(f"the server did not start:\n{box.said()[-3000:]}")
    return server


def stop(server, stage):
    began = time.monotonic()
    server.send_signal(getattr(signal, stage.last("STOPSIGNAL")))
    status = server.wait(timeout=120)
    expect(status == 0, f"the stop signal makes it exit with 0 ({status}), after {time.monotonic() - began:.1f} s")


def examine_defaults(stage, box, carriers, settings):
    """The image as it is, with its SQLite database on the volume."""
    port = settings["LATCHKEY_HTTP_PORT"]
    with box.running(settings | {"LATCHKEY_ZENKEY_DISCOVERY_URL": carriers.plain,
                                 "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": "127.0.0.1"}):
        server = start(box, stage)
        found = container.standing(server.pid)
        expect(found["Uid"] == [box.user] * 4 and found["Gid"] == [box.group] * 4 and not found["Groups"],
               "the process is the image's user")
        expect(set(found["CapEff"][0] + found["CapBnd"][0]) == {"0"} and found["NoNewPrivs"] == ["1"],
               "the process has no capabilities, and gets none")
        refused = box.refuses(["/x", "/opt/latchkey/x", "/tmp/x"])
        expect(refused, "the root is read-only")
        check = dockerfile.healthcheck(stage.last("HEALTHCHECK"))
        status, output = box.run(check)
        expect(status == 0, f"HEALTHCHECK reports it as healthy {'' if status == 0 else output}")
        done, answer = sign_in(carriers.codes, port, settings["LATCHKEY_API_KEYS"])
        expect(done, f"a user signs in from outside {answer}")
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=120).read()
        expect(b"<h1>Sign in</h1>" in page, "the sign-in page is served")
        stop(server, stage)
        status, output = box.run(check)
        expect(status == 1, "HEALTHCHECK fails after it has stopped")
        expect(not re.search(r"\b(error|critical)\b", box.said()), "its log has no errors")


def examine_services(stage, box, carriers, settings):
    """With PostgreSQL and carriers over TLS, whose names DNS has, and whose authority is in the image's bundle."""
    with box.running(settings | {"LATCHKEY_ZENKEY_DISCOVERY_URL": carriers.secure,
                                 "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": peers.HOST,
                                 "LATCHKEY_DATABASE_URL": carriers.database}):
        server = start(box, stage)
        done, answer = sign_in(carriers.secure_codes, settings["LATCHKEY_HTTP_PORT"], settings["LATCHKEY_API_KEYS"])
        expect(done, f"a user signs in at an https carrier by the image's authorities, with PostgreSQL {answer}")
        sessions = carriers.ask("SELECT count(*) FROM sessions")
        encrypted = carriers.ask("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                                 "WHERE usename = 'latchkey' AND pid <> pg_backend_pid()")
        expect((sessions, encrypted) == ("1", "t"), f"the session is in PostgreSQL, over TLS ({sessions}, {encrypted})")
        asked = carriers.names.questions
        expect(asked > 0, f"{peers.HOST} was looked up in DNS ({asked} questions)")
        stop(server, stage)


def examine(stage, root, directory):
    examine_files(stage, root)
    root.mount()
    examine_words(stage, root)
    key = "key-of-the-check-0123456789"
    with peers.Peers(work, options.latchkey_dev) as carriers:
        port = peers.free_port()
        settings = {
            "LATCHKEY_HTTP_PORT": str(port), "LATCHKEY_PUBLIC_URL": f"http://127.0.0.1:{port}",
            "LATCHKEY_API_KEYS": key, "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
            "LATCHKEY_ZENKEY_CLIENTS": f"{peers.CLIENT}:{peers.SECRET}",
        }
        carriers.be_trusted_by(root.path)
        box = container.Container(stage, root, directory, f"{work}/volume", f"{work}/server.log")
        examine_defaults(stage, box, carriers, settings)
        examine_services(stage, box, carriers, settings)


def main():
    stages = dockerfile.parse("Dockerfile")
    roots = {}
    try:
        for stage in stages:
            say(f"FROM {stage.base}")
            root, directory = follow(stage, roots)
        examine(stages[-1], root, directory)
    finally:
        for root in roots.values():
            root.remove()
    if problems:
        fail(f"{len(problems)} problems")
    say("all good")


main()
