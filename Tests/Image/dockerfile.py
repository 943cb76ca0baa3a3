"""Parses the subset of Dockerfiles that this repository uses."""
import json
import re
import shlex


class Stage:
    def __init__(self, base, name, defaults):
        self.base, self.name = base, name
        self.defaults = defaults  # of the arguments before the first FROM
        self.steps = []  # (instruction, text), in order

    def last(self, instruction, otherwise=None):
        found = [text for name, text in self.steps if name == instruction]
        return found[-1] if found else otherwise

    @property
    def environment(self):
        """The variables of ENV, in order."""
        pairs = {}
        for name, text in self.steps:
            if name == "ENV":
                for word in shlex.split(text):
                    key, _, value = word.partition("=")
                    pairs[key] = value
        return pairs


    def arguments(self, given):
        """The values of ARG: those given to the build, or the defaults."""
        values = {}
        for name, text in self.steps:
            if name == "ARG":
                key, _, value = text.partition("=")
                values[key] = given.get(key) or value or self.defaults.get(key, "")
        return values


def command(text):
    """The words of an exec form, or the shell command of a shell form."""
    if text.lstrip().startswith("["):
        return json.loads(text)
    return ["/bin/sh", "-c", text]


def healthcheck(text):
    """The command of HEALTHCHECK, after its options."""
    return command(text[text.index("CMD") + 3:].strip())


def parse(path):
    """The stages. An unknown line is an error, because it would not be checked."""
    known = "FROM RUN COPY WORKDIR ENV ARG LABEL USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD".split()
    stages, defaults, rest = [], {}, ""
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.lstrip().startswith("#") or (not line.strip() and not rest):
            continue
        rest += line
        if rest.endswith("\\"):
            rest = rest[:-1]
            continue
        name, _, text = rest.strip().partition(" ")
        rest = ""
        name, text = name.upper(), text.strip()
        if name not in known:
            raise SystemExit(f"image-check: unknown instruction {name}")
        if name == "FROM":
            match = re.fullmatch(r"(\S+)(?: +AS +(\S+))?", text, re.IGNORECASE)
            stages.append(Stage(match.group(1), match.group(2), defaults))
        elif name == "ARG" and not stages:
            key, _, defaults[key] = text.partition("=")
        else:
            stages[-1].steps.append((name, text))
    return stages
