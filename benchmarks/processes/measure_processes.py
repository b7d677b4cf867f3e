#!/usr/bin/env python3
"""Times operations in fresh processes and says what their intervals are worth for the next process.

usage: measure_processes.py [--jitterscope PROGRAM] [--device cuda] [--processes 14] [--placement N] [OPERATION…]

Prints a Markdown table: the median over processes, their standard deviation and range, the half-width printed, how
many intervals hold the median over all processes, and how many hold another process's median.
"""

import argparse
import json
import statistics
import subprocess
import sys

OPERATIONS = [
    "conv2d:n=64,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc",
    "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc",
    "matmul:m=512,n=512,k=512,dtype=bf16",
    "matmul:m=2048,n=2048,k=2048,dtype=bf16",
    "copy:bytes=256Mi",
    "relu:count=4Mi",
    "softmax:rows=4096,columns=1024",
    "layer_norm:rows=8192,columns=1024",
    "add:count=64Ki",
    "matmul:m=4096,n=4096,k=1024,dtype=f16",
]


def measure(arguments, operation, seed):
    """One fresh process: its measurement, and the host time of measuring."""
    command = [arguments.jitterscope, "run", operation, "--device", arguments.device, "--cache", "warm"]
    command += ["--load", "burst", "--no-ceilings", "--seed", str(seed), "--json", "-"]
    if arguments.placement is not None:
        command += ["--placement", str(arguments.placement)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if not finished.stdout:
        sys.exit(f"measure_processes: {' '.join(command)} failed: {finished.stderr.strip()}")
    record = json.loads(finished.stdout)
    return record, record["results"][0]["measurements"][0]


def row(operation, measurements):
    """One line of the table."""
    times = [measurement["time"] for measurement in measurements]
    medians = [time["median_seconds"] for time in times]
    median = statistics.median(medians)

    def holds(time, value):
        return time["low_seconds"] <= value <= time["high_seconds"]

    pairs = [holds(a, b["median_seconds"]) for a in times for b in times if a is not b]
    half_width = statistics.median((t["high_seconds"] - t["low_seconds"]) / 2 / median for t in times)
    held = sum(holds(time, median) for time in times)
    duration = statistics.median(m["duration_seconds"] for m in measurements)
    return (
        f"| `{operation}` | {median * 1e6:.4g} µs | {statistics.stdev(medians) / median:.2%} "
        f"| {(max(medians) - min(medians)) / median:.2%} | {half_width:.2%} | {held} of {len(times)} "
        f"| {sum(pairs) / len(pairs):.0%} | {duration:.2f} s |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--placement", type=int, help="keep operands in this placement instead of drawing them")
    parser.add_argument("operations", nargs="*", default=OPERATIONS, metavar="OPERATION")
    arguments = parser.parse_args()
    if arguments.processes < 2:
        parser.error("--processes: two at least, since one has none to differ from")
    measurements = {operation: [] for operation in arguments.operations}
    # Processes of all operations in turn, so that a slow minute is nobody's alone.
    for seed in range(1, arguments.processes + 1):
        for operation, own in measurements.items():
            record, measurement = measure(arguments, operation, seed)
            own.append(measurement)
    device = record["device"]
    print(f"{device['name']}, {arguments.processes} processes each\n")
    print("| operation | median | sd of processes | range | half-width | intervals that hold the median |"
          " that hold another process's | measured for |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for operation, own in measurements.items():
        print(row(operation, own))


if __name__ == "__main__":
    main()
