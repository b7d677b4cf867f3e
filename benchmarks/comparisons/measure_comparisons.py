#!/usr/bin/env python3
"""How often `jitterscope compare` is right on this device, and how long it takes.

usage: measure_comparisons.py [--jitterscope PROGRAM] [--device cuda] [--only engine,spin,same] [--same 60] [--different 20]
                              [--margin 0.5%]

A convolution by its first and its best engine, and spin kernels of 10.00 and 10.05 us: nineteen comparisons in twenty
must show the difference, in under 20 s each. The same operation is compared with itself: at most one in twenty may show
one. Prints a Markdown table.
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


def row(name, ratios, durations, wants_difference):
    """One line of the table. A difference is shown where the interval excludes 1."""
    shown = sum(ratio["low"] > 1 or ratio["high"] < 1 for ratio in ratios)
    middle = statistics.median(ratio["ratio"] for ratio in ratios)
    half = statistics.median((ratio["high"] - ratio["low"]) / 2 for ratio in ratios)
    target = "at least 95 %" if wants_difference else "at most 5 %"
    return (f"| {name} | {middle - 1:+.3%} | {half:.3%} | {shown} of {len(ratios)} | {target} "
            f"| {statistics.median(durations):.1f} s | {max(durations):.1f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--same", type=int, default=60, help="comparisons of an operation with itself, all operations together")
    parser.add_argument("--different", type=int, default=20, help="comparisons of what differs, each")
    parser.add_argument("--margin", default="0.5%", help="processes know their own ratio to a quarter of it, or stop at their time limit")
    parser.add_argument("--only", default="engine,spin,same", help="which of the three, in this order")
    arguments = parser.parse_args()
    if arguments.same < len(SAME) or arguments.different < 1:
        parser.error(f"--same: {len(SAME)} at least; --different: 1 at least")
    engine = ("convolution, best engine after PyTorch's", ENGINE, arguments.different, True)
    spin = ("spin of 10.05 after 10.00 µs", SPIN, arguments.different, True)
    same = [(f"`{operation}` with itself", [operation, operation], arguments.same // len(SAME), False)
            for operation in SAME]
    named = {"engine": [engine], "spin": [spin], "same": same}
    if not set(arguments.only.split(",")) <= set(named):
        parser.error("--only: engine, spin and same, with commas")
    runs = [run for name in arguments.only.split(",") for run in named[name]]
    print("| compared | ratio less 1, median | half-width, median | shown to differ | must be | time, median | longest |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name, words, count, wants_difference in runs:
        ratios, durations = [], []
        for seed in range(1, count + 1):
            record, ratio, duration = compare(arguments, words, seed)
            ratios.append(ratio)
            durations.append(duration)
        print(row(name, ratios, durations, wants_difference), flush=True)
    print(f"\n{record['device']['name']}, jitterscope {record['environment']['tool_version']}, "
          f"{record['processes_asked']} processes each, margin {arguments.margin}.")


if __name__ == "__main__":
    main()
