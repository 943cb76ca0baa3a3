"""What no schema tells: that the manifests, the compose file, the Dockerfile and latchkey itself agree."""
import argparse
import glob
import os
import re
import subprocess
import sys

import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--latchkey", required=True)
parser.add_argument("--folder", required=True, help="for what is made here")
options = parser.parse_args()
problems = []


def expect(holds, text):
    if not holds:
        problems.append(text)


def check_config(name, settings, environment):
    """Whether latchkey takes settings and an environment, with secrets in the place of those that are not here."""
    path = f"{options.folder}/{name}.yaml"
    with open(path, "w") as file:
        file.write(settings or "{}\n")
    known = {"PATH": os.environ["PATH"]}
    for key, value in environment.items():
        if key.endswith("_FILE"):
            secret = f"{options.folder}/{name}-{key}"
            with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write("ccid-1:0123456789abcdef" if "CLIENTS" in key else "sha256:" + "0f" * 32)
            value = secret
        known[key] = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", re.sub(r"\$\{\w+:\?[^}]*\}", "https://login.example.com", value))
    done = subprocess.run([options.latchkey, "check-config", "--config", path], env=known, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, cwd=options.folder)
    # The clients' redirect URIs are the operator's to list.
    warnings = [line for line in done.stdout.splitlines() if line.startswith("warning") and "redirect_uris" not in line]
    expect(done.returncode == 0 and not warnings, f"{name}: {done.stdout}")


def dockerfile(pattern):
    return re.search(pattern, open("Dockerfile", encoding="utf-8").read()).groups()


def kubernetes(documents):
    user, group = map(int, dockerfile(r"USER (\d+):(\d+)"))
    settings = next(item["data"]["latchkey.yaml"] for item in documents if item["kind"] == "ConfigMap")
    for item in documents:
        if item["kind"] != "Deployment":
            continue
        pod = item["spec"]["template"]["spec"]
        container = pod["containers"][0]
        context = pod["securityContext"]
        expect((context["runAsUser"], context["runAsGroup"]) == (user, group), "the pod runs as the image's user")
        expect(container["securityContext"]["readOnlyRootFilesystem"], "the pod's root is read-only")
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        expect(mounted == {volume["name"] for volume in pod["volumes"]}, "every volume is mounted")
        environment = {entry["name"]: entry["value"] for entry in container["env"]}
        places = [mount["mountPath"] for mount in container["volumeMounts"]]
        for name, value in environment.items():
            if name.endswith("_FILE"):
                expect(any(value.startswith(place + "/") for place in places), f"{name} is below a volume")
        drain = 30
        expect(pod["terminationGracePeriodSeconds"] > drain, "the pod has longer to stop than http.timeouts.drain")
        check_config("kubernetes", settings, environment)
        labels = item["spec"]["template"]["metadata"]["labels"].items()
        for other in documents:
            if other["kind"] == "Service":
                expect(set(other["spec"]["selector"].items()) <= set(labels), "the service finds the pod")


def compose(document):
    service = document["services"]["latchkey"]
    expect(service["read_only"] and service["cap_drop"] == ["ALL"], "compose: the root is read-only, without capabilities")
    expect(int(service["stop_grace_period"].rstrip("s")) > 30, "compose: it has longer to stop than http.timeouts.drain")
    expect(set(service["secrets"]) == set(document["secrets"]), "compose: every secret is used")
    proxy = document["services"]["nginx"]["networks"]["inside"]["ipv4_address"]
    expect(service["environment"]["LATCHKEY_HTTP_TRUSTED_PROXIES"] == proxy, "compose: nginx is the trusted proxy")
    for mount in document["services"]["nginx"]["volumes"]:
        source = mount.split(":")[0]
        expect(source == "./tls" or os.path.exists(source), f"compose: {source} is there")
    expect(document["services"]["latchkey"]["volumes"] == ["data:" + dockerfile(r"VOLUME (\S+)")[0]], "compose: the image's volume")
    image = dict(re.findall(r"(LATCHKEY_\w+)=(\S+)", open("Dockerfile", encoding="utf-8").read()))
    check_config("compose", None, image | service["environment"])


for path in sorted(glob.glob("Config/kubernetes/*.yaml")):
    with open(path, encoding="utf-8") as file:
        kubernetes([item for item in yaml.safe_load_all(file) if item])
with open("compose.yaml", encoding="utf-8") as file:
    compose(yaml.safe_load(file))
for problem in problems:
    print(f"PROBLEM {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
