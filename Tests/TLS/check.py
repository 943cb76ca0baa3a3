"""Serves HTTPS with a certificate of a test authority and has testssl.sh look at it. See scripts/tls-check."""
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
parser.add_argument("--handshakes", action="store_true", help="measure handshakes a second instead")
parser.add_argument("--seconds", type=int, default=5, help="for each measurement")
options = parser.parse_args()

# What testssl.sh says of a finding, gravest last; what it could not look at is WARN.
GRAVE = ["MEDIUM", "HIGH", "CRITICAL", "FATAL"]
# Findings that are of the certificate made here, and not of Latchkey: id, and why.
ACCEPTED = {
    "cert_chain_of_trust": "the authority is made for this check, and nobody trusts it",
    "cert_revocation": "the authority of this check publishes no lists of revoked certificates",
    "cert_crlRevoked": "the same",
    "cert_ocspRevoked": "the same",
    "BREACH": "what it asked for is the page at /, which is compressed and has no secrets; answers that have are not compressed",
    "overall_grade": "no better than T for a certificate that nobody trusts",
    "grade_cap_reason_1": "the same",
    "grade_cap_reason_2": "the same",
}
# Checks that testssl.sh has to have made; without them its report says nothing.
LOOKED_AT = ["SSLv2", "SSLv3", "TLS1", "TLS1_1", "TLS1_2", "TLS1_3", "heartbleed", "CCS", "ticketbleed", "ROBOT",
             "secure_renego", "secure_client_renego", "CRIME_TLS", "POODLE_SSL", "fallback_SCSV", "SWEET32", "FREAK",
             "DROWN", "LOGJAM", "BEAST", "LUCKY13", "RC4", "PFS"]


def openssl(directory, *words, text=None):
    subprocess.run(["openssl", *words], cwd=directory, input=text, text=True, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def certificate(directory, kind):
    """A server's certificate and the authority it comes from."""
    key = ["-newkey", "rsa:2048"] if kind == "rsa" else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    openssl(directory, "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=Authority of the check", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(directory, "req", "-nodes", *key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    with open(f"{directory}/extensions", "w") as file:
        file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\nkeyUsage=digitalSignature\n"
                   "basicConstraints=CA:FALSE\n")
    openssl(directory, "x509", "-req", "-days", "200", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-extfile", "extensions", "-out", "server.pem")


def serve(directory):
    """A server, and the port on which it speaks TLS."""
    environment = {
        "PATH": os.environ["PATH"], "LATCHKEY_API_KEYS": "sha256:" + "0f" * 32, "LATCHKEY_HTTP_PORT": "0",
        "LATCHKEY_DATABASE_URL": f"sqlite:///{directory}/latchkey.db", "LATCHKEY_ZENKEY_CLIENTS": "ccid-1:0123456789abcdef",
        "LATCHKEY_ZENKEY_DISCOVERY_URL": "https://discovery.invalid/", "LATCHKEY_PUBLIC_URL": "https://localhost",
        "LATCHKEY_TLS_CERTIFICATE_FILE": f"{directory}/server.pem", "LATCHKEY_TLS_PRIVATE_KEY_FILE": f"{directory}/server.key",
        "LATCHKEY_TLS_PORT": "0", "LATCHKEY_HTTP_LOOPS": "1" if options.handshakes else "0",
    }
    log = open(f"{directory}/log", "w+")
    process = subprocess.Popen([os.path.abspath(options.latchkey), "serve"], env=environment, stdout=log, stderr=log,
                               stdin=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"https://127\.0\.0\.1:(\d+)", open(log.name).read())
        if found:
            return process, int(found.group(1))
        time.sleep(0.05)
    process.kill()
    raise SystemExit("tls-check: the server did not start:\n" + open(log.name).read())


def look(port, directory):
    report = f"{directory}/report.json"
    program = shutil.which("testssl") or shutil.which("testssl.sh")
    if program is None:
        raise SystemExit("tls-check: there is no testssl.sh; scripts/setup --tls installs it")
    # Without --ip it would ask a name server for localhost.
    done = subprocess.run([program, "--quiet", "--color", "0", "--warnings", "batch", "--ip", "127.0.0.1", "--jsonfile", report,
                           f"localhost:{port}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=1500)
    try:
        return json.load(open(report))
    except (OSError, ValueError):
        raise SystemExit("tls-check: testssl.sh gave no report:\n" + done.stdout[-2000:])


def judge(findings):
    ids = [finding["id"] for finding in findings]
    missing = [name for name in LOOKED_AT if not any(id == name or id.startswith(name) for id in ids)]
    problems = [f"testssl.sh has not looked at {name}" for name in missing]
    for finding in findings:
        line = f"{finding['severity']:8} {finding['id']}: {finding['finding']}"
        if finding["severity"] in GRAVE and finding["id"] not in ACCEPTED:
            problems.append(line)
        elif finding["severity"] in GRAVE:
            print(f"accepted {line} ({ACCEPTED[finding['id']]})")
        elif finding["severity"] in ["LOW", "WARN"]:
            print(f"         {line}")
    print(f"{len(findings)} findings, {len(problems)} of them graver than low")
    for problem in problems:
        print(f"PROBLEM  {problem}")
    return not problems


def processor_seconds(process):
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(process, port):
    """New connections that openssl makes one after another, by what they cost the server's processor."""
    # s_time does not wait for the tickets of TLS 1.3, so it cannot use them.
    for name, flags, kinds in [("TLS 1.3", ["-tls1_3"], ["-new"]), ("TLS 1.2", ["-tls1_2"], ["-new", "-reuse"])]:
        for kind in kinds:
            before = processor_seconds(process)
            done = subprocess.run(["openssl", "s_time", "-connect", f"127.0.0.1:{port}", kind, "-time", str(options.seconds), *flags],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            spent = processor_seconds(process) - before
            found = re.search(r"(\d+) connections in (\d+) real seconds", done.stdout)
            if not found:
                raise SystemExit("tls-check: openssl s_time gave no figure:\n" + done.stdout[-1000:])
            count = int(found.group(1))
            print(f"{name} {kind[1:]:6} {count / max(1, int(found.group(2))):7.0f} a second by one client; "
                  f"{count / spent:7.0f} a second of the server's processor time")


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
                process.wait(timeout=40)
    if not good:
        raise SystemExit(1)


main()
