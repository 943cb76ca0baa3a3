"""A process as a container engine starts it: the image's user without capabilities, a read-only root."""
import contextlib
import ctypes
import errno
import os
import shutil
import subprocess

# Loaded before the root changes.
LIBC = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
LAST_CAPABILITY = int(open("/proc/sys/kernel/cap_last_cap").read())


def standing(pid):
    """The fields of /proc/PID/status, as words."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return {name: text.split() for name, _, text in (line.partition(":") for line in file)}


def must(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"image-check: {' '.join(words)}: {done.stdout}")


class Container:
    """Makes the root read-only. A new volume starts with the image's content."""

    def __init__(self, stage, root, directory, data, log):
        self.root, self.directory, self.log, self.settings = root.path, directory, open(log, "w+"), {}
        self.stage = stage
        self.user, _, self.group = stage.last("USER").partition(":")
        volume = root.path + stage.last("VOLUME")
        shutil.rmtree(data, ignore_errors=True)
        must(["cp", "-a", volume, data])
        must(["mount", "--rbind", root.path, root.path])
        must(["mount", "-o", "remount,bind,ro", root.path])
        must(["mount", "--bind", data, volume])
        self.processes = []

    def enter(self):
        """Becomes the image's user in its root. No program of the image is needed for it."""
        os.chroot(self.root)
        os.chdir(self.directory)
        for capability in range(LAST_CAPABILITY + 1):
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(*[int(self.group)] * 3)
        os.setresuid(*[int(self.user)] * 3)
        LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

    @contextlib.contextmanager
    def running(self, settings):
        """With these variables, and those of the image; then ends what still runs."""
        self.settings = settings
        self.log.truncate(0)
        try:
            yield
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    @property
    def environment(self):
        return {"HOME": "/", **self.stage.environment, **self.settings}

    def run(self, command):
        done = subprocess.run(command, env=self.environment, preexec_fn=self.enter, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
        return done.returncode, done.stdout

    def start(self, command):
        process = subprocess.Popen(command, env=self.environment, preexec_fn=self.enter, stdin=subprocess.DEVNULL,
                                   stdout=self.log, stderr=self.log)
        self.processes.append(process)
        return process

    def said(self):
        with open(self.log.name, encoding="utf-8") as file:
            return file.read().lstrip("\0")

    def refuses(self, paths):
        """Whether none of the files can be made, because the root is read-only."""
        child = os.fork()
        if child == 0:
            self.enter()
            refused = 0
            for path in paths:
                try:
                    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
                except OSError as error:
                    refused += error.errno == errno.EROFS
            os._exit(0 if refused == len(paths) else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
