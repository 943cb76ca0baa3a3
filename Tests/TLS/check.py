"""Serves HTTPS with a certificate of a test authority, and scans it with testssl.sh. See scripts/tls-check."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--handshakes", action="store_true", help="measure handshakes per second instead")
parser.add_argument("--seconds", type=int, default=5, help="for each measurement")
options = parser.parse_args()

# The severities of testssl.sh, most severe last; WARN means that it could not check.
GRAVE = ["MEDIUM", "HIGH", "CRITICAL", "FATAL"]
# Accepted findings, with the reason.
ACCEPTED = {
    "cert_chain_of_trust": "the test authority is not trusted",
    "cert_revocation": "the test authority publishes no revocation information",
    "cert_crlRevoked": "the same",
    "cert_ocspRevoked": "the same",
    "BREACH": "the page at / is compressed and contains no secrets; responses with secrets are not compressed",
    "overall_grade": "the grade is at most T for an untrusted certificate",
    "grade_cap_reason_1": "the same",
    "grade_cap_reason_2": "the same",
}
# Checks that the report must contain.
LOOKED_AT = ["SSLv2", "SSLv3", "TLS1", "TLS1_1", "TLS1_2", "TLS1_3", "heartbleed", "CCS", "ticketbleed", "ROBOT",
             "secure_renego", "secure_client_renego", "CRIME_TLS", "POODLE_SSL", "fallback_SCSV", "SWEET32", "FREAK",
             "DROWN", "LOGJAM", "BEAST", "LUCKY13", "RC4", "PFS"]


def openssl(directory, *words, text=None):
    subprocess.run(["openssl", *words], cwd=directory, input=text, text=True, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def certificate(directory, kind):
    """Creates a server certificate and its authority."""
    key = ["-newkey", "rsa:2048"] if kind == "rsa" else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    openssl(
        directory,
        "req",
        "-x509",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=Authority of the check",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
    )
    openssl(directory, "req", "-nodes", *key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    with open(f"{directory}/extensions", "w") as file:
        file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\nkeyUsage=digitalSignature\n"
                   "basicConstraints=CA:FALSE\n")
    openssl(
        directory,
        "x509",
        "-req",
        "-days",
        "200",
        "-in",
        "server.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-extfile",
        "extensions",
        "-out",
        "server.pem",
    )


def serve(directory):
    """Starts a server; returns it with its TLS port."""
    environment = {
        "PATH": os.environ["PATH"],
        "LATCHKEY_API_KEYS": "sha256:" + "0f" * 32,
        "LATCHKEY_HTTP_PORT": "0",
        "LATCHKEY_DATABASE_URL": f"sqlite:///{directory}/latchkey.db",
        "LATCHKEY_ZENKEY_CLIENTS": "ccid-1:0123456789abcdef",
        "LATCHKEY_ZENKEY_DISCOVERY_URL": "https://discovery.invalid/",
        "LATCHKEY_PUBLIC_URL": "https://localhost",
        "LATCHKEY_TLS_CERTIFICATE_FILE": f"{directory}/server.pem",
        "LATCHKEY_TLS_PRIVATE_KEY_FILE": f"{directory}/server.key",
        "LATCHKEY_TLS_PORT": "0",
        "LATCHKEY_HTTP_LOOPS": "1" if options.handshakes else "0",
    }
    log = open(f"{directory}/log", "w+")
    process = subprocess.Popen([os.path.abspath(options.latchkey), "serve"], env=environment, stdout=log, stderr=log,
                               stdin=subprocess.DEVNULL)
    until = time.monotonic() + 300
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"https://127\.0\.0\.1:(\d+)\s", open(log.name).read())
        if found:
            return process, int(found.group(1))
        time.sleep(0.05)
    process.kill()
    raise SystemExit("tls-check: the server did not start:\n" + open(log.name).read())


def look(port, directory):
    report = f"{directory}/report.json"
    program = shutil.which("testssl") or shutil.which("testssl.sh")
    if program is None:
        raise SystemExit("tls-check: testssl.sh is missing; run scripts/setup --tls")
    # Without --ip it would look up localhost in DNS.
    done = subprocess.run(
        [
            program,
            "--quiet",
            "--color",
            "0",
            "--warnings",
            "batch",
            "--ip",
            "127.0.0.1",
            "--jsonfile",
            report,
            f"localhost:{port}",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=6000,
    )
    try:
        return json.load(open(report))
    except (OSError, ValueError):
        raise SystemExit("tls-check: testssl.sh gave no report:\n" + done.stdout[-2000:])


def judge(findings):
    ids = [finding["id"] for finding in findings]
    missing = [name for name in LOOKED_AT if not any(id == name or id.startswith(name) for id in ids)]
    problems = [f"testssl.sh did not check {name}" for name in missing]
    for finding in findings:
        line = f"{finding['severity']:8} {finding['id']}: {finding['finding']}"
        if finding["severity"] in GRAVE and finding["id"] not in ACCEPTED:
            problems.append(line)
        elif finding["severity"] in GRAVE:
            print(f"accepted {line} ({ACCEPTED[finding['id']]})")
        elif finding["severity"] in ["LOW", "WARN"]:
            print(f"         {line}")
    print(f"{len(findings)} findings, {len(problems)} of them above low severity")
    for problem in problems:
        print(f"PROBLEM  {problem}")
    return not problems


def processor_seconds(process):
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(process, port):
    """Measures sequential new connections of openssl, by the server's CPU time."""
    # s_time does not wait for the tickets of TLS 1.3, so it cannot use them.
    for name, flags, kinds in [("TLS 1.3", ["-tls1_3"], ["-new"]), ("TLS 1.2", ["-tls1_2"], ["-new", "-reuse"])]:
        for kind in kinds:
            before = processor_seconds(process)
            done = subprocess.run(
                ["openssl", "s_time", "-connect", f"127.0.0.1:{port}", kind, "-time", str(options.seconds), *flags],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=600,
            )
            spent = processor_seconds(process) - before
            found = re.search(r"(\d+) connections in (\d+) real seconds", done.stdout)
            if not found:
                raise SystemExit("tls-check: openssl s_time gave no figure:\n" + done.stdout[-1000:])
            count = int(found.group(1))
            print(f"{name} {kind[1:]:6} {count / max(1, int(found.group(2))):7.0f} per second with one client; "
                  f"{count / spent:7.0f} per second of the server's CPU time")


def main():
    good = True
    for kind in ["ecdsa", "rsa"]:
        with tempfile.TemporaryDirectory() as directory:
            certificate(directory, kind)
            process, port = serve(directory)
            try:
                print(f"--- a certificate with a key of {kind.upper()}")
                if options.handshakes:
                    measure(process, port)
                elif kind == "ecdsa":
                    good = judge(look(port, directory))
                else:
                    good = judge(look(port, directory)) and good
            finally:
                process.terminate()
                process.wait(timeout=120)
    if not good:
        raise SystemExit(1)


main()
