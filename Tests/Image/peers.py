"""What the server in the image talks to: simulated carriers, also behind HTTPS, PostgreSQL with TLS, and DNS."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "Benchmarks"), str(ROOT / "Tests" / "Chaos")]

from names import NameServer  # noqa: E402
from postgres import PostgresServer, free_port  # noqa: E402

HOST, CLIENT, SECRET, REDIRECT = "peers.example", "ccid-image", "secret-of-the-check", "https://app.example/cb"
NAME_SERVER = "127.53.53.53"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


class Peers:
    """Listens on loopback addresses. `plain` and `secure` are URLs of discovery, `database` one of PostgreSQL."""

    def __init__(self, work, latchkey_dev):
        self.folder = tempfile.mkdtemp(dir=work)
        os.chmod(self.folder, 0o755)
        self.processes, self.postgres, self.latchkey_dev = [], None, latchkey_dev

    def __enter__(self):
        folder, port = self.folder, free_port()
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-keyout",
             f"{folder}/key.pem", "-out", f"{folder}/chain.pem"], check=True, stderr=subprocess.DEVNULL)
        self.names = NameServer(NAME_SERVER, HOST)
        self.names.set("addresses", "127.0.0.1")
        self.plain, self.codes = self.start_carriers([])
        self.secure, self.secure_codes = self.start_carriers(["--base-url", f"https://{HOST}:{port}"])
        self.start_nginx(port, self.secure_codes.rpartition("/demo")[0])
        self.start_postgres()
        return self

    def start_carriers(self, more):
        """The URL of discovery, and the URL on this machine for codes."""
        port = free_port()
        process = subprocess.Popen(
            [self.latchkey_dev, "carrier", "--port", str(port), "--client", f"{CLIENT}:{SECRET}:{REDIRECT}", *more],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        discovery = ""
        for line in process.stdout:
            if line.startswith("discovery     "):
                discovery = line.split()[1]
            if line.startswith("a code"):
                break
        return discovery, f"http://127.0.0.1:{port}/demo/codes"

    def start_nginx(self, port, origin):
        folder = self.folder
        pathlib.Path(f"{folder}/nginx.conf").write_text(
            f"""
            daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
            events {{}}
            http {{
                access_log off;
                client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
                fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
                server {{
                    listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/chain.pem;
                    ssl_certificate_key {folder}/key.pem;
                    location / {{ proxy_pass {origin}; }}
                }}
            }}""")
        path = os.environ["PATH"] + ":/usr/sbin"
        self.processes.append(subprocess.Popen(
            ["nginx", "-c", f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL, env=os.environ | {"PATH": path}))

    def start_postgres(self):
        place = f"{self.folder}/postgres"
        os.mkdir(place)
        self.postgres = PostgresServer(place)
        for name, target in [("chain.pem", "server.crt"), ("key.pem", "server.key")]:
            shutil.copy(f"{self.folder}/{name}", f"{place}/data/{target}")
            shutil.chown(f"{place}/data/{target}", *[pathlib.Path(f"{place}/data").owner()] * 2)
            os.chmod(f"{place}/data/{target}", 0o600)
        self.ask("ALTER SYSTEM SET ssl = on")
        self.ask("SELECT pg_reload_conf()")
        self.database = (f"postgres://latchkey@{HOST}:{self.postgres.port}/postgres"
                         f"?sslmode=verify-full&sslrootcert={BUNDLE}")

    def ask(self, sql):
        return self.postgres.ask(sql)

    def be_trusted_by(self, root):
        """Mounts what an engine does: the resolver's file. Adds this certificate to a copy of the authorities."""
        files = {BUNDLE: pathlib.Path(root + BUNDLE).read_text() + pathlib.Path(f"{self.folder}/chain.pem").read_text(),
                 "/etc/resolv.conf": f"nameserver {NAME_SERVER}\n", "/etc/hosts": "127.0.0.1 localhost\n"}
        for path, text in files.items():
            copy = pathlib.Path(self.folder + "/" + path.rpartition("/")[2])
            copy.write_text(text)
            pathlib.Path(root + path).touch()
            subprocess.run(["mount", "--bind", copy, root + path], check=True)

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        if self.postgres:
            self.postgres.end()
        shutil.rmtree(self.folder, ignore_errors=True)
