"""Follows the Dockerfile step by step in chroots, then runs the result. See scripts/image-check."""
import argparse
import fnmatch
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import dockerfile

parser = argparse.ArgumentParser()
parser.add_argument("--binary", required=True)
parser.add_argument("--simulator", required=True)
parser.add_argument("--work", default=".build/image")
options = parser.parse_args()
work = os.path.abspath(options.work)
problems = []


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
    """A temporary chroot."""

    def __init__(self, name, codename):
        self.path = f"{work}/{name}"
        self.remove()
        must(["cp", "-a", base(codename), self.path], "copying the minimal system")
        for name in ["resolv.conf", "hosts"]:
            if os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", f"{self.path}/etc/{name}")
        proxies = "/etc/apt/apt.conf.d"
        for name in os.listdir(proxies):
            if "proxy" in name.lower():
                shutil.copy(f"{proxies}/{name}", f"{self.path}{proxies}/{name}")
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
    """COPY [--from=stage] source… target"""
    origin = next((word[7:] for word in words if word.startswith("--from=")), None)
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
        else:
            is_folder = target.endswith("/") or target in (".", "./")
            os.makedirs(place if is_folder else os.path.dirname(place), exist_ok=True)
            must(["cp", "-a", "--no-preserve=ownership", full, place], "cp")


BUILD_SCRIPT = "scripts/build-release"


def build_here(text, root, directory):
    """A RUN that builds: the chroot has no Swift, so this machine's build is used if the same script makes it."""
    for part in text.split("&&"):
        words = shlex.split(part)
        if words[0] == BUILD_SCRIPT:
            expect(os.access(f"{root.path}{directory}/{BUILD_SCRIPT}", os.X_OK), f"{BUILD_SCRIPT} is in the image")
            made = must(["make", "--dry-run", "build"], "make").split()
            flags = set(words[1:]) - {"--product", "latchkey"}
            expect(BUILD_SCRIPT in made and flags <= set(made), f"`make build` builds with {' '.join(words)}, too")
        elif words[0] == "install":
            words = [options.binary if word.startswith(".build/") else word for word in words]
            words = [root.path + word if word.startswith("/") and word != options.binary else word for word in words]
            must(words, part)
        elif words[0] != "swift":
            fail(f"cannot run this part of the build here: {part}")


def follow(stage, roots):
    codename = re.search(r"(bookworm|trixie)", stage.base)
    if not codename:
        fail(f"unknown base image {stage.base}")
    root = Root(stage.name or "image", codename.group(1))
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
            status, output = root.shell(text, directory, stage.environment)
            if status != 0:
                fail(f"RUN failed ({status}):\n{output[-3000:]}")
        elif name == "COPY":
            copy(shlex.split(text), root, directory, roots)
    return root, directory


# The result


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Container:
    """A process as a container engine starts it: the image's user without capabilities, a read-only root."""

    def __init__(self, stage, root, directory, settings):
        self.stage, self.root, self.directory = stage, root, directory
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/",
                            **stage.environment, **settings}
        self.user, _, self.group = stage.last("USER").partition(":")
        volume = stage.last("VOLUME")
        data = f"{work}/volume"
        shutil.rmtree(data, ignore_errors=True)
        # A new volume starts with the image's content.
        must(["cp", "-a", root.path + volume, data], "copying the volume")
        must(["mount", "--rbind", root.path, root.path], "mount")
        must(["mount", "-o", "remount,bind,ro", root.path], "mount")
        must(["mount", "--bind", data, root.path + volume], "mount")

    def words(self, command):
        return ["chroot", self.root.path, "/usr/bin/setpriv", f"--reuid={self.user}", f"--regid={self.group}",
                "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "/usr/bin/env", "-i"] + \
            [f"{name}={value}" for name, value in self.environment.items()] + \
            ["/bin/sh", "-c", f"cd {shlex.quote(self.directory)} && exec \"$@\"", "sh"] + command

    def run(self, command):
        return run(self.words(command))

    def start(self, command):
        self.log = open(f"{work}/server.log", "w+")
        return subprocess.Popen(self.words(command), stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def said(self):
        self.log.flush()
        return open(self.log.name, encoding="utf-8").read()


def post(url, body=b"", headers={}):
    """Uses curl, which shares no code with this repository."""
    words = ["curl", "-sS", "--max-time", "20", "-X", "POST", url, "--data-binary", "@-", "-w", "\n%{http_code}"]
    for name, value in headers.items():
        words += ["-H", f"{name}: {value}"]
    done = subprocess.run(words, input=body, stdout=subprocess.PIPE, check=False, timeout=30)
    content, _, status = done.stdout.decode().rpartition("\n")
    return int(status or 0), content


def examine(stage, root, directory):
    status, output = root.shell("ldd /usr/local/bin/latchkey", "/", {})
    missing = [line.strip() for line in output.splitlines() if "not found" in line]
    expect(status == 0 and not missing, f"every library of the program exists {' '.join(missing)}")
    size = int(must(["du", "-smx", root.path], "du").split()[0])
    say(f"        the image has {size} MB")
    user, _, group = stage.last("USER", "").partition(":")
    expect(
        user.isdigit() and group.isdigit() and user != "0", f"user and group are numbers other than 0: {user}:{group}"
    )
    expect(stage.last("STOPSIGNAL") == "SIGTERM", "the stop signal is SIGTERM")
    labels = stage.last("LABEL") or ""
    expect(
        all(f"org.opencontainers.image.{name}=" in labels for name in ["title", "version", "revision"]), "it has labels"
    )

    port = free_port()
    key, client, secret, redirect = (
        "key-of-the-check-0123456789",
        "ccid-image",
        "secret-of-the-check",
        "https://app.example/cb",
    )
    simulator = subprocess.Popen(
        [options.simulator, "--client", f"{client}:{secret}:{redirect}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    server = None
    try:
        discovery = ""
        for line in simulator.stdout:
            if line.startswith("discovery     "):
                discovery = line.split()[1]
            if line.startswith("a code"):
                break
        container = Container(stage, root, directory, {
            "LATCHKEY_HTTP_PORT": str(port), "LATCHKEY_API_KEYS": key, "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
            "LATCHKEY_ZENKEY_DISCOVERY_URL": discovery, "LATCHKEY_ZENKEY_CLIENTS": f"{client}:{secret}",
            "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": "127.0.0.1",
        })
        status, output = container.run(
            [
                "/bin/sh",
                "-c",
                "id -u; id -g; touch /x /opt/latchkey/x /tmp/x; grep -E '^(CapEff|NoNewPrivs)' /proc/self/status",
            ]
        )
        expect(output.split("\n")[:2] == [user, group] and output.count("Read-only file system") == 3,
               "the process is the image's user, and the root is read-only")
        expect(re.search(r"CapEff:\s*0+\n", output) is not None, "the process has no capabilities")
        entry = dockerfile.command(stage.last("ENTRYPOINT")) + dockerfile.command(stage.last("CMD"))
        server = container.start(entry)
        until = time.monotonic() + 30
        while "listening" not in container.said() and server.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        if "listening" not in container.said():
            fail(f"the server did not start:\n{container.said()[-3000:]}")
        expect("no pages to serve" not in container.said(), "its pages exist")
        check = dockerfile.healthcheck(stage.last("HEALTHCHECK"))
        status, output = container.run(check)
        expect(status == 0, f"HEALTHCHECK reports it as healthy {'' if status == 0 else output}")
        simulated = discovery.split("/")[2]
        _, code = post(f"http://{simulated}/demo/codes", headers={"Content-Type": "application/x-www-form-urlencoded"})
        status, answer = post(f"http://127.0.0.1:{port}/auth/zenkey-signin", code.encode(),
                              {"X-API-KEY": key, "Content-Type": "application/json"})
        expect(status == 200 and "token" in json.loads(answer), f"a user signs in from outside ({status})")
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).read()
        expect(b"<html" in page.lower(), "the page is served")
        began = time.monotonic()
        server.send_signal(getattr(signal, stage.last("STOPSIGNAL")))
        status = server.wait(timeout=40)
        expect(status == 0, f"the stop signal makes it exit with 0 ({status}), after {time.monotonic() - began:.1f} s")
        status, output = container.run(check)
        expect(status == 1, "HEALTHCHECK fails after it has stopped")
        expect(not re.search(r"\b(error|critical)\b", container.said()), "its log has no errors")
    finally:
        for process in [server, simulator]:
            if process and process.poll() is None:
                process.kill()
                process.wait()


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
