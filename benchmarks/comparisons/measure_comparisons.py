#!/usr/bin/env python3
"""How often `jitterscope compare` is right on this device, and how long it takes.

usage: measure_comparisons.py [--jitterscope PROGRAM] [--device cuda] [--only engine,spin,same] [--same 60] [--different 20]
                              [--margin 0.5%] [--seed 1] [--seconds 540] [--keep FILE] [--add FILE…]

A convolution by its first and its best engine, and spin kernels of 10.00 and 10.05 us: nineteen comparisons in twenty
must show the difference, in under 20 s each. The same operation is compared with itself: at most one in twenty may show
one. Kinds and operations take turns, so that a table after --seconds has some of each; --keep writes a line for each
comparison, and --add counts those of such files as well, from other GPUs or times (give each a --seed of its own).
Prints a Markdown table.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

SAME = ["relu:count=8Mi", "matmul:m=512,n=512,k=512,dtype=f16",
        "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc"]
SPIN = ["spin:ns=10000", "spin:ns=10050"]
ENGINE = ["conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1", "--vary", "engine=pytorch,best"]  # 6 % faster by the best (H200)


def compare(arguments, words, seed):
    """One comparison: second over first with its interval, and the wall time."""
    command = [arguments.jitterscope, "compare", *words, "--device", arguments.device, "--cache", "warm", "--margin",
               arguments.margin, "--seed", str(seed), "--json", "-"]
    began = time.monotonic()
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    duration = time.monotonic() - began
    if not finished.stdout:
        sys.exit(f"measure_comparisons: {' '.join(command)} failed: {finished.stderr.strip()}")
    record = json.loads(finished.stdout)
    comparison = record["comparisons"][0]
    if "failure" in comparison:
        sys.exit(f"measure_comparisons: {' '.join(command)}: {comparison['failure']}")
    return record, comparison["time_ratio"], duration


def row(name, kept, wants_difference):
    """One line of the table. A difference is shown where the interval excludes 1."""
    shown = sum(one["low"] > 1 or one["high"] < 1 for one in kept)
    middle = statistics.median(one["ratio"] for one in kept)
    half = statistics.median((one["high"] - one["low"]) / 2 for one in kept)
    seconds = [one["seconds"] for one in kept]
    target = "at least 95 %" if wants_difference else "at most 5 %"
    return (f"| {name} | {middle - 1:+.3%} | {half:.3%} | {shown} of {len(kept)} | {target} "
            f"| {statistics.median(seconds):.1f} s | {max(seconds):.1f} s |")


def measure(arguments, runs, deadline):
    """A dictionary for each comparison. All runs take turns, each until it has its count or time is over."""
    kept = []
    for number in range(max(count for _, _, count, _ in runs)):
        for name, words, count, _ in runs:
            if number >= count or time.monotonic() > deadline:
                continue
            record, ratio, seconds = compare(arguments, words, arguments.seed + number)
            kept.append({"name": name, "ratio": ratio["ratio"], "low": ratio["low"], "high": ratio["high"],
                         "seconds": seconds, "device": record["device"]["name"],
                         "jitterscope": record["environment"]["tool_version"], "processes": record["processes_asked"],
                         "margin": arguments.margin})
            if arguments.keep:
                with open(arguments.keep, "a", encoding="utf-8") as file:
                    file.write(json.dumps(kept[-1]) + "\n")
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--same", type=int, default=60, help="comparisons of an operation with itself, all operations together")
    parser.add_argument("--different", type=int, default=20, help="comparisons of what differs, each")
    parser.add_argument("--margin", default="0.5%", help="processes know their own ratio to a quarter of it, or stop at their time limit")
    parser.add_argument("--only", default="engine,spin,same", help="which of the three")
    parser.add_argument("--seed", type=int, default=1, help="of the first comparison of each kind; the next ones count on")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no comparison after so long")
    parser.add_argument("--keep", help="file to which each comparison is added as a line of JSON")
    parser.add_argument("--add", nargs="*", default=[], help="such files, whose comparisons count as well")
    arguments = parser.parse_args()
    if not 0 <= arguments.same or not 0 <= arguments.different:
        parser.error("--same and --different: 0 or more")
    engine = ("convolution, best engine after PyTorch's", ENGINE, arguments.different, True)
    spin = ("spin of 10.05 after 10.00 µs", SPIN, arguments.different, True)
    same = [(f"`{operation}` with itself", [operation, operation], arguments.same // len(SAME), False)
            for operation in SAME]
    named = {"engine": [engine], "spin": [spin], "same": same}
    if not set(arguments.only.split(",")) <= set(named):
        parser.error("--only: engine, spin and same, with commas")
    runs = [run for name in arguments.only.split(",") for run in named[name]]
    kept = []
    for path in arguments.add:
        with open(path, encoding="utf-8") as file:
            kept += [json.loads(line) for line in file]
    kept += measure(arguments, runs, time.monotonic() + arguments.seconds)
    print("| compared | ratio less 1, median | half-width, median | shown to differ | must be | time, median | longest |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, _, _, wants_difference in [engine, spin, *same]:
        if own := [one for one in kept if one["name"] == name]:
            print(row(name, own, wants_difference))
    for what in ("device", "jitterscope", "processes", "margin"):
        print(f"{what}: {', '.join(sorted({str(one[what]) for one in kept}))}")


if __name__ == "__main__":
    main()
