#!/usr/bin/env python3
"""Puts the known causes to the test on a GPU, and prints what each does as Markdown.

usage: measure_causes.py [--jitterscope PROGRAM] [--device cuda] [--output FOLDER] [--only NAME,NAME]

Names: power, constant, cache, first, process, alignment, loops, network, counters, duration. Each is one or two calls of
`explain` or `run`, whose records go to the folder. docs/evidence/explain.md has the targets.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

PRODUCT = "matmul:m=8192,n=8192,k=8192,dtype=f16"
CONVOLUTION = "conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc"
SMALLER = "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc"
LAYER = "layer4.0.downsample.0.fprop"


class Calls:
    """Runs jitterscope and keeps what it wrote."""

    def __init__(self, arguments):
        self.program = arguments.jitterscope
        self.device = arguments.device
        self.folder = pathlib.Path(arguments.output)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.seconds = 0.0

    def record(self, name, *words):
        """The record of one call."""
        path = self.folder / f"{name}.json"
        path.unlink(missing_ok=True)
        command = [self.program, *words, "--device", self.device, "--json", str(path)]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.seconds = time.monotonic() - began
        print(f"`{' '.join(words)}`: {self.seconds:.1f} s\n", flush=True)
        if not path.is_file():
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return json.loads(path.read_text())

    def explain(self, name, subject, factors, seconds):
        """The factors of a study, by their ids."""
        record = self.record(name, "explain", subject, "--factors", factors, "--max-time", str(seconds))
        return {factor["id"]: factor for factor in record["study"]["factors"]}


def percent(ratio):
    """A change with its interval."""
    return f"{ratio['ratio'] - 1:+.2%} ({ratio['low'] - 1:+.2%} to {ratio['high'] - 1:+.2%})"


def print_table(headings, rows):
    """Markdown."""
    print("| " + " | ".join(headings) + " |\n|" + "---|" * len(headings))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def print_factors(factors):
    """Each dose of each factor, with both clocks and what held them."""
    rows = []
    for factor in factors.values():
        for dose in factor.get("doses", []):
            held = factor.get("held_clock", {})
            is_strongest = dose is factor["doses"][factor["strongest"]]
            rested = factor.get("at_low_duty", {}).get("time_ratio") if is_strongest else None
            rows.append([factor["id"], dose["dose"], percent(dose["time_ratio"]),
                         percent(dose["clock_ratio"]) if "clock_ratio" in dose else "–",
                         f"{held['by_power']:.0%}" if held and is_strongest else "–",
                         percent(rested) if rested else "–", factor["verdict"]])
        if not factor.get("doses"):
            rows.append([factor["id"], "–", "–", "–", "–", "–", factor["verdict"]])
    print_table(["factor", "dose", "time", "clock", "held by power", "at low duty", "verdict"], rows)


def power(calls):
    """The power cap, and zeros in place of normal values."""
    for name, subject in (("product", PRODUCT), ("convolution", CONVOLUTION)):
        print_factors(calls.explain(f"power-{name}", subject, "load,data", 60))


def constant(calls):
    """What a pair of events adds, as a share of a short time."""
    print_factors(calls.explain("constant", "relu:count=4Mi", "instrument", 20))


def cache(calls):
    """Cold, clean and modified lines."""
    for size in ("4Mi", "64Mi"):
        print_factors(calls.explain(f"cache-{size}", f"copy:bytes={size}", "cache", 25))


def first(calls):
    """Preparing, allocating and launching for the first time, each apart."""
    record = calls.record("first", "explain", SMALLER, "--factors", "idle", "--max-time", "10")
    work = record["study"]["observation"]["first_work"]
    print_table(["first work", "time"],
                [[key.removesuffix("_seconds").replace("_", " "), f"{value * 1e6:.1f} µs"]
                 for key, value in work.items() if isinstance(value, float)])


def process(calls):
    """Work of another process beside it."""
    print_factors(calls.explain("process", "matmul:m=2048,n=2048,k=2048,dtype=f16",
                                "neighbour_kernels,neighbour_memory,neighbour_link", 40))


def alignment(calls):
    """Operands that begin some bytes further."""
    print_factors(calls.explain("alignment", "copy:bytes=64Mi", "alignment", 25))


def loops(calls):
    """Loops of 1 to 1,000 launches."""
    record = calls.record("loops", "run", SMALLER, "--iterations", "1,10,100,1000", "--cache", "warm", "--load", "burst")
    result = record["results"][0]
    rows = [[str(run["count"]), f"{run['mean_seconds'] * 1e6:.2f} µs"] for run in result["iterations"]]
    rows.append(["rounds", f"{result['measurements'][0]['time']['median_seconds'] * 1e6:.2f} µs"])
    print_table(["launches", "mean of one"], rows)


def network(calls):
    """A layer in its network, beside it alone in each state of the cache."""
    record = calls.record("network", "run", "resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop", "--in-sequence",
                          "--no-ceilings")
    call = next(each for each in record["sequence"]["calls"] if each["name"] == LAYER)
    place = call["time"]["median_seconds"]
    rows = [["in its network", f"{place * 1e6:.2f} µs", ""]]
    for measurement in record["results"][call["result"]]["measurements"]:
        alone = measurement["time"]["median_seconds"]
        rows.append([f"alone, {measurement['conditions']['cache']}", f"{alone * 1e6:.2f} µs", f"{place / alone - 1:+.1%}"])
    print_table([LAYER, "time", "in the network against it"], rows)


def counters(calls):
    """What memory moves, beside what must move."""
    rows = []
    for subject in ("copy:bytes=256Mi", "relu:count=256Ki"):
        record = calls.record(f"counters-{subject[:4]}", "run", subject, "--counters", "--load", "burst", "--no-ceilings")
        result = record["results"][0]
        for counted in result["counters"]:
            values = {value["name"]: value.get("value", 0.0) for value in counted["values"]}
            read, written = (values.get(f"dram__bytes_{way}.sum", 0.0) for way in ("read", "write"))
            share = (read + written) / result["minimum_bytes"]
            rows.append([subject, counted["cache"], f"{read / 2**20:.2f} MiB", f"{written / 2**20:.2f} MiB", f"{share:.1%}"])
    print_table(["operation", "cache", "DRAM read", "written", "of what must move"], rows)


def duration(calls):
    """How long whole studies take."""
    rows = []
    for name, words, target in (("quick", ["--quick"], 35), ("full", [], 200)):
        calls.record(f"duration-{name}", "explain", SMALLER, *words)
        rows.append([f"explain {' '.join(words)}".strip(), f"{calls.seconds:.1f} s", f"{target} s",
                     "yes" if calls.seconds <= target else "**no**"])
    print_table(["command", "took", "target", "met"], rows)


STEPS = (power, constant, cache, first, process, alignment, loops, network, counters, duration)


def main():
    """Every step whose name was asked for; one that fails says so, and the others go on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--output", default="causes")
    parser.add_argument("--only", default=",".join(step.__name__ for step in STEPS))
    arguments = parser.parse_args()
    asked = arguments.only.split(",")
    unknown = set(asked) - {step.__name__ for step in STEPS}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    calls = Calls(arguments)
    failed = False
    for step in STEPS:
        if step.__name__ not in asked:
            continue
        print(f"## {step.__name__}: {step.__doc__}\n", flush=True)
        try:
            step(calls)
        except (RuntimeError, KeyError, StopIteration) as error:
            failed = True
            print(f"failed: {error!r}\n", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
