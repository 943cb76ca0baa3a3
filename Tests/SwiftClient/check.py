#!/usr/bin/env python3
"""Runs an app with the Swift client at a demonstration; see scripts/swift-client.

    Tests/SwiftClient/check.py --latchkey-dev .build/debug/latchkey-dev APP
"""
import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Browser"))
from demonstration import demonstration  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
parser.add_argument("--latchkey-dev", required=True)
parser.add_argument("app")
options = parser.parse_args()
with demonstration(options.latchkey_dev) as (base, carriers):
    app = subprocess.run([options.app, base, carriers], check=True, timeout=1200, stdout=subprocess.PIPE, text=True)
if app.stdout != "ok\n":
    raise SystemExit(f"swift-client: the app said: {app.stdout}")
print("swift-client: sign-ins with a native account, a link, the SIM and the mobile network: ok")
