"""Checks that no schema makes: the manifests, the compose file, the Dockerfile and latchkey agree."""
import argparse
import glob
import ipaddress
import os
import re
import subprocess
import sys

import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--folder", required=True, help="for temporary files")
options = parser.parse_args()
problems = []


def expect(holds, text):
    if not holds:
        problems.append(text)


def secret_text(variable):
    """A secret in the format that the files' comments show."""
    if "DATABASE" in variable:
        return (
            "postgres://latchkey:0123456789abcdef@postgres:5432/latchkey"
            f"?sslmode=verify-full&sslrootcert={options.folder}/tls/fullchain.pem"
        )
    return "ccid-1:0123456789abcdef" if "CLIENTS" in variable else "sha256:" + "0f" * 32


def check_config(name, settings, environment):
    """Checks settings and an environment with latchkey, with test secrets instead of real ones."""
    path = f"{options.folder}/{name}.yaml"
    with open(path, "w") as file:
        file.write(settings or "{}\n")
    known = {"PATH": os.environ["PATH"]}
    for key, value in environment.items():
        if key.endswith("_FILE"):
            secret = f"{options.folder}/{name}-{key}"
            with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(secret_text(key))
            value = secret
        known[key] = re.sub(
            r"\$\{\w+:-([^}]*)\}", r"\1", re.sub(r"\$\{\w+:\?[^}]*\}", "https://login.example.com", value)
        )
    done = subprocess.run([options.latchkey, "check-config", "--config", path], env=known, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, cwd=options.folder)
    # The operator adds the clients' redirect URIs and the networks' issuers.
    warnings = [
        line for line in done.stdout.splitlines()
        if line.startswith("warning") and "redirect_uris" not in line and "zenkey.issuers" not in line
    ]
    expect(done.returncode == 0 and not warnings, f"{name}: {done.stdout}")


def dockerfile(pattern):
    return re.search(pattern, open("Dockerfile", encoding="utf-8").read()).groups()


def version():
    """The program's version, without what follows in brackets."""
    done = subprocess.run([options.latchkey, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()[0]


IMAGE = f"latchkey:{version()}"
# http.timeouts.drain, and PostgreSQL's default of 100 connections without the reserved ones.
DRAIN, CONNECTIONS = 30, 97


def kubernetes(name, documents):
    user, group = map(int, dockerfile(r"USER (\d+):(\d+)"))
    settings = next(item["data"]["latchkey.yaml"] for item in documents if item["kind"] == "ConfigMap")
    deployment = next(item for item in documents if item["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    context = pod["securityContext"]
    expect((context["runAsUser"], context["runAsGroup"]) == (user, group), f"{name}: the pod runs as the image's user")
    expect(container["securityContext"]["readOnlyRootFilesystem"], f"{name}: the pod's root is read-only")
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    expect(mounted == {volume["name"] for volume in pod["volumes"]}, f"{name}: every volume is mounted")
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    places = [mount["mountPath"] for mount in container["volumeMounts"]]
    for variable, value in environment.items():
        if variable.endswith("_FILE"):
            expect(any(value.startswith(place + "/") for place in places), f"{name}: {variable} is below a volume")
    expect(container["image"] == IMAGE, f"{name}: the image is {IMAGE}, as the program's version")
    # The image has no program to execute.
    pause = [action["seconds"] for action in container.get("lifecycle", {}).get("preStop", {}).values()]
    expect(pod["terminationGracePeriodSeconds"] > DRAIN + sum(pause),
           f"{name}: the pod may stop for longer than preStop and http.timeouts.drain")
    probes = [container[kind]["httpGet"]["path"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")]
    expect(probes == ["/readyz", "/healthz", "/readyz"], f"{name}: the probes use the right paths")
    check_config(f"kubernetes-{name}", settings, environment)
    proxies = yaml.safe_load(settings)["http"]["trusted_proxies"]
    expect(all(ipaddress.ip_network(proxy).num_addresses <= 256 for proxy in proxies),
           f"{name}: the proxies are the ingress alone, and not the network of all pods")
    policies = [item["spec"] for item in documents if item["kind"] == "NetworkPolicy"]
    expect(
        len(policies) == 1
        and set(policies[0]["podSelector"]["matchLabels"].items())
        <= set(deployment["spec"]["template"]["metadata"]["labels"].items())
        and all(rule.get("from") for rule in policies[0]["ingress"]),
        f"{name}: a network policy names who may connect",
    )
    labels = set(deployment["spec"]["template"]["metadata"]["labels"].items())
    for other in documents:
        if other["kind"] == "Service":
            expect(set(other["spec"]["selector"].items()) <= labels, f"{name}: the service finds the pod")
    if "sqlite" in environment.get("LATCHKEY_DATABASE_URL", ""):
        expect(deployment["spec"].get("replicas") == 1 and deployment["spec"]["strategy"] == {"type": "Recreate"},
               f"{name}: never two instances on a database file")
    else:
        instances(name, documents, deployment, labels, pause, yaml.safe_load(settings))


def instances(name, documents, deployment, labels, pause, settings):
    """Checks for several instances only."""
    kinds = {item["kind"]: item for item in documents}
    pod = deployment["spec"]["template"]["spec"]
    expect("replicas" not in deployment["spec"], f"{name}: the autoscaler sets the number of instances")
    expect(sum(pause) > 0, f"{name}: it serves until the endpoint is removed")
    rolling = deployment["spec"]["strategy"]["rollingUpdate"]
    expect(
        rolling["maxUnavailable"] == 0 and rolling["maxSurge"] >= 1,
        f"{name}: a new instance starts before an old one stops",
    )
    scaler = kinds["HorizontalPodAutoscaler"]["spec"]
    target = scaler["scaleTargetRef"]
    expect(
        (target["apiVersion"], target["kind"], target["name"])
        == (deployment["apiVersion"], deployment["kind"], deployment["metadata"]["name"]),
        f"{name}: the autoscaler finds the deployment",
    )
    expect(scaler["minReplicas"] >= 2, f"{name}: one instance may stop")
    expect(
        "cpu" in pod["containers"][0]["resources"]["requests"],
        f"{name}: the autoscaler's percentage has a request to refer to",
    )
    budget = kinds["PodDisruptionBudget"]["spec"]
    expect(set(budget["selector"]["matchLabels"].items()) <= labels, f"{name}: the disruption budget finds the pods")
    expect(budget["maxUnavailable"] < scaler["minReplicas"], f"{name}: some instances always run")
    for constraint in pod["topologySpreadConstraints"]:
        expect(
            set(constraint["labelSelector"]["matchLabels"].items()) <= labels,
            f"{name}: {constraint['topologyKey']} counts the pods",
        )
    most = (scaler["maxReplicas"] + rolling["maxSurge"]) * (settings["database"]["pool_size"] + 1) + 2
    expect(most <= CONNECTIONS, f"{name}: {most} connections, of {CONNECTIONS}")


def seconds(text):
    return int(text.rstrip("s"))


def compose(document):
    services = document["services"]
    for name, service in services.items():
        unprivileged = (
            service["read_only"]
            and service["cap_drop"] == ["ALL"]
            and service["security_opt"] == ["no-new-privileges:true"]
        )
        expect(unprivileged, f"compose: {name}: the root is read-only, without capabilities")
        expect(service["healthcheck"]["test"][0] == "CMD", f"compose: {name}: it has a health check")
        for other in service.get("depends_on", {}):
            expect(
                other in services and "healthcheck" in services[other], f"compose: {name}: {other} has a health check"
            )
    proxy = services["nginx"]
    with open("Config/nginx/latchkey.conf", encoding="utf-8") as file:
        upstreams = re.findall(r"^ *server ([\w-]+):(\d+)", file.read(), re.MULTILINE)
    behind = [name for name in services if name.startswith("latchkey")]
    expect(upstreams == [(name, dockerfile(r"EXPOSE (\d+)")[0]) for name in behind] and len(behind) > 1,
           f"compose: nginx knows every instance: {upstreams}")
    expect(set(proxy["depends_on"]) == set(behind), "compose: nginx waits for every instance")
    expect(set().union(*(service.get("secrets", []) for service in services.values())) == set(document["secrets"]),
           "compose: every secret is used")
    addresses = [service["networks"]["inside"]["ipv4_address"] for service in services.values()
                 if isinstance(service["networks"], dict)]
    expect(len(addresses) == len(set(addresses)), "compose: every address is unique")
    for mount in proxy["volumes"]:
        source = mount.split(":")[0]
        expect(source == "./tls" or os.path.exists(source), f"compose: {source} exists")
    with open("Dockerfile", encoding="utf-8") as file:
        image = dict(re.findall(r"(LATCHKEY_\w+)=(\S+)", file.read().rpartition("\nFROM ")[2]))
    for name in behind:
        service = services[name]
        environment = service["environment"]
        expect(service["image"] == IMAGE, f"compose: {name}: the image is {IMAGE}, as the program's version")
        expect(
            seconds(service["stop_grace_period"]) > DRAIN,
            f"compose: {name}: it may stop for longer than http.timeouts.drain",
        )
        expect(environment["LATCHKEY_HTTP_TRUSTED_PROXIES"] == proxy["networks"]["inside"]["ipv4_address"],
               f"compose: {name}: nginx is the trusted proxy")
        for variable, value in environment.items():
            if variable.endswith("_FILE"):
                expect(value.rpartition("/")[0] == "/run/secrets" and value.rpartition("/")[2] in service["secrets"],
                       f"compose: {name}: {variable} is a secret")
        check_config(f"compose-{name}", None, image | environment)
    database(services["postgres"], len(behind))


def secrets(document):
    """Runs the commands in the header of the file, and checks the results."""
    with open("compose.yaml", encoding="utf-8") as file:
        head = file.read().partition("\nx-latchkey:")[0]
    script = "\n".join(line[4:] for line in head.split("\n") if line.startswith("#   "))
    script = script.partition("\nsudo ")[0]
    folder = f"{options.folder}/compose"
    os.mkdir(folder)
    subprocess.run(["bash", "-euc", script], check=True, cwd=folder, env={"PATH": os.environ["PATH"], "KEY": "a key"},
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    named = {name: f"{folder}/{os.path.normpath(item['file'])}" for name, item in document["secrets"].items()}
    for name, path in named.items():
        expect(os.path.exists(path) and os.path.getsize(path) > 0, f"compose: its header makes {name}")
    subject = subprocess.run(
        [
            "openssl",
            "verify",
            "-verify_hostname",
            "postgres",
            "-CAfile",
            named["postgres_certificate"],
            named["postgres_certificate"],
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    expect(subject.returncode == 0, f"compose: the certificate is for postgres: {subject.stdout}")
    keys = [
        subprocess.run(["openssl", *words], check=True, stdout=subprocess.PIPE).stdout
        for words in (
            ["pkey", "-in", named["postgres_key"], "-pubout"],
            ["x509", "-in", named["postgres_certificate"], "-noout", "-pubkey"],
        )
    ]
    expect(keys[0] == keys[1], "compose: PostgreSQL's key matches its certificate")
    url, password = (open(named[name], encoding="utf-8").read() for name in ("database_url", "postgres_password"))
    expect(f":{password}@postgres:5432/" in url and url.endswith("=/run/secrets/postgres_certificate"),
           "compose: the URL has PostgreSQL's password and certificate")
    expect("sslmode=verify-full&" in url, "compose: the certificate is checked")


def database(service, instance_count):
    words = dict(word[2:].split("=", 1) for word in service["command"][1:])
    expect(
        words["ssl"] == "on"
        and all(words[key].rpartition("/")[2] in service["secrets"] for key in ("ssl_cert_file", "ssl_key_file")),
        "compose: PostgreSQL uses TLS",
    )
    # Each instance has a pool of 8 and one connection for notifications. Commands need 2, and PostgreSQL reserves 3.
    expect(int(words["max_connections"]) >= instance_count * 9 + 2 + 3, "compose: PostgreSQL has enough connections")


expect(f"latchkey:{dockerfile(r'ARG VERSION=(.+)')[0]}" == IMAGE, f"Dockerfile: the version is that of {IMAGE}")
with open("docs/operations.md", encoding="utf-8") as file:
    expect(f"docker build -t {IMAGE} " in file.read(), f"docs/operations.md: the command builds {IMAGE}")
with open("Config/systemd/latchkey.service", encoding="utf-8") as file:
    expect("LimitCORE=0" in file.read().split("\n"), "systemd: the memory, which holds secrets, is in no core dump")
for path in sorted(glob.glob("Config/kubernetes/*.yaml")):
    with open(path, encoding="utf-8") as file:
        kubernetes(os.path.basename(path), [item for item in yaml.safe_load_all(file) if item])
with open("compose.yaml", encoding="utf-8") as file:
    document = yaml.safe_load(file)
compose(document)
secrets(document)
for problem in problems:
    print(f"PROBLEM {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
