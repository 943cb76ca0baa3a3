"""A PostgreSQL server of its own, for measurements and for tests of whole programs."""
import os
import pathlib
import pwd
import signal
import subprocess
import time

from ports import free_port


class PostgresServer:
    """A separate server with PostgreSQL's default settings, which flushes to disk."""

    def __init__(self, folder, network=None):
        """Takes another address to listen on, such as 10.0.0.1/8, in whose network nobody needs a password."""
        versions = [path for path in pathlib.Path("/usr/lib/postgresql").glob("*") if path.name.isdigit()]
        if not versions:
            raise SystemExit("PostgreSQL is missing; run scripts/setup --test")
        self.programs = max(versions, key=lambda path: int(path.name)) / "bin"
        self.folder, self.port, self.network = folder, free_port(), network
        self.prefix = []
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            entry = pwd.getpwnam("postgres")
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            self.prefix = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
        self.run("initdb", "-D", f"{folder}/data", "-U", "latchkey", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8")
        if network:
            with open(f"{folder}/data/pg_hba.conf", "a") as rules:
                rules.write(f"host all all {network} trust\n")
        self.url = f"postgres://latchkey@127.0.0.1:{self.port}/postgres?sslmode=disable"
        self.begin()

    def begin(self):
        addresses = "127.0.0.1" + (f",{self.network.split('/')[0]}" if self.network else "")
        settings = f"-p {self.port} -c listen_addresses={addresses} -c unix_socket_directories="
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", settings, "start")
        self.pid = int(pathlib.Path(f"{self.folder}/data/postmaster.pid").read_text().split("\n")[0])

    def run(self, program, *words):
        # Its child processes keep the output open.
        with open(f"{self.folder}/../{program}.log", "w+") as output:
            done = subprocess.run(self.prefix + [str(self.programs / program), *words], stdin=subprocess.DEVNULL,
                                  stdout=output, stderr=output, cwd="/")
            output.seek(0)
            if done.returncode:
                raise SystemExit(f"{program} failed: {output.read()}")

    def ask(self, sql):
        done = subprocess.run([str(self.programs / "psql"), self.url, "-qAtX", "-v", "ON_ERROR_STOP=1"], input=sql,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"psql failed: {done.stderr}")
        return done.stdout.strip()

    def processes(self):
        """The numbers of its processes that run."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = path.read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z" and self.pid in (int(path.parent.name), int(parent)):
                found.append(int(path.parent.name))
        return found

    def send(self, number):
        """Sends a signal to all its processes: SIGSTOP makes the server hang."""
        for process in self.processes():
            try:
                os.kill(process, number)
            except OSError:
                pass

    def kill(self):
        """Kills it as a loss of power does, but for what the system has not written."""
        while self.processes():
            self.send(signal.SIGKILL)
            time.sleep(0.01)
        # If the dead process is not reaped, the next start takes it for a running server.
        os.remove(f"{self.folder}/data/postmaster.pid")

    def end(self, mode="fast"):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", mode, "-w", "stop")
