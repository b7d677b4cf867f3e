#!/usr/bin/env python3
"""Measures jitterscope's targets on an NVIDIA GPU, side by side with the other tools.

Writes targets.md (tables) and targets.json (all numbers) to the output folder after each part, and prints the
tables last. Exit status: 0 when every part ran, 1 when something failed.
"""

import argparse
import datetime
import pathlib
import shlex
import shutil
import sys
import time

import peer_runs
import report
from parts import all_layers, power_cap, precision_time, ranges, spin_bias, version_time
from session import Session

# In the order in which they run: the ranges come last, since they still tell something when cut short.
PARTS = {"version": version_time, "spin": spin_bias, "precision": precision_time, "sustained": power_cap,
         "resnet50": all_layers, "ranges": ranges}
REPORT_ORDER = ("spin", "ranges", "precision", "resnet50", "sustained", "version")
PEERS = pathlib.Path(__file__).resolve().parent / "peers.py"


def part_names(text):
    names = text.split(",")
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part is called {unknown[0]}; parts: {', '.join(PARTS)}")
    return names


def executable(text):
    found = shutil.which(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is no program that can be run")
    return str(pathlib.Path(found).resolve())


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", required=True, type=executable, help="the program to measure with")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="folder for targets.md and targets.json")
    parser.add_argument("--only", type=part_names, default=list(PARTS), help=f"some of: {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer kernels and processes: does everything work?")
    parser.add_argument("--limit-seconds", type=float, default=530.0, help="for the whole call (default 530)")
    return parser.parse_args(arguments)


def measure(session, names, raw, keep):
    start = time.monotonic()
    raw["peers_environment"] = session.attempt("versions of the other tools", lambda: peer_runs.describe(session))
    for name in PARTS:
        if name in names:
            raw["parts"][name] = session.attempt(f"part {name}", lambda: PARTS[name].measure(session))
            raw["seconds"] = time.monotonic() - start
            keep(raw)


def has_failure(raw):
    if isinstance(raw, dict):
        return "failed" in raw or any(map(has_failure, raw.values()))
    return isinstance(raw, list) and any(map(has_failure, raw))


def main(arguments, peers=(sys.executable, PEERS)):
    options = parse(arguments)
    session = Session(options.jitterscope, peers, options.quick, options.limit_seconds)
    raw = {"format": "jitterscope-targets", "version": 1, "quick": options.quick,
           "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
           "command": shlex.join(["measure_targets.py", *arguments]), "seconds": 0.0, "parts": {}}
    ordered = {name: PARTS[name] for name in REPORT_ORDER}
    measure(session, options.only, raw, lambda kept: report.write(options.output, kept, ordered))
    print(report.write(options.output, raw, ordered))
    return 1 if has_failure(raw["parts"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
