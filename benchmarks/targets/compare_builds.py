#!/usr/bin/env python3
"""Whether a build of jitterscope measures what an older build measured, on one GPU in one sitting.

usage: compare_builds.py --before PROGRAM --after PROGRAM [--device cuda] [--processes 3] [--network resnet50:batch=32]

Both builds time the operations of the targets and of docs/evidence/benchmarks.md in fresh processes, in turn; then, with
--network, every layer of a network, once each. A median has moved where it differs by more than the later build's own
interval. Prints Markdown; exit status 1 where a median has moved, or another engine was taken.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import pathlib

from problems import PROBLEMS

OTHERS = ("conv2d:n=64,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc",
          "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc",
          "matmul:m=2048,n=2048,k=2048,dtype=bf16", "copy:bytes=256Mi,kind=d2d")
OPERATIONS = [problem.operation for problem in PROBLEMS] + list(OTHERS)
MEASURED = (0, 4)  # 4: not to the precision asked for


def results_of(program, targets, options):
    """One result for each operation, by its text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "record.json"
        command = [program, "run", *targets, "--device", options.device, "--load", "burst", "--cache", "warm",
                   "--no-ceilings", "--json", str(path)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in MEASURED:
            sys.exit(f"compare_builds: {' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
        record = json.loads(path.read_text(encoding="utf-8"))
    return record, {result["operation"]: result for result in record["results"] if result["measurements"]}


def reading(result):
    time = result["measurements"][0]["time"]
    return time["median_seconds"], (time["high_seconds"] - time["low_seconds"]) / 2 / time["median_seconds"]


def middle(of_processes):
    """The median over processes of the median and of the half-width."""
    medians, halves = zip(*of_processes)
    return statistics.median(medians), statistics.median(halves)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--network")
    options = parser.parse_args()
    builds = (options.before, options.after)
    readings = {(build, operation): [] for build in builds for operation in OPERATIONS}
    versions = {}
    for process in range(options.processes):
        for build in builds if process % 2 == 0 else builds[::-1]:
            for operation in OPERATIONS:  # one to a process: what runs before it is in none of its times
                record, results = results_of(build, [operation], options)
                versions[build] = record["environment"]["tool_version"]
                readings[build, operation] += [reading(result) for result in results.values()]
    print(f"{record['device']['name']}, {versions[options.before]}, then {versions[options.after]}; {options.processes} "
          "processes each, in turn.\n")
    print("| operation | before | after | moved by | interval after | within? |\n|---|--:|--:|--:|--:|---|")
    all_within = True
    for operation in OPERATIONS:
        (before, _), (after, half) = (middle(readings[build, operation]) for build in builds)
        moved = after / before - 1
        all_within = all_within and abs(moved) <= half
        print(f"| `{operation}` | {before * 1e6:.4g} µs | {after * 1e6:.4g} µs | {moved:+.2%} | ±{half:.2%} "
              f"| {'yes' if abs(moved) <= half else '**no**'} |", flush=True)
    same_engines = True
    if options.network:
        (_, before), (_, after) = (results_of(build, [options.network], options) for build in builds)
        shared = [operation for operation in before if operation in after]
        engines = [operation for operation in shared if "algorithm" in before[operation]]
        equal = [operation for operation in engines
                 if before[operation]["algorithm"] == after[operation].get("algorithm")]
        moved = {operation: reading(after[operation])[0] / reading(before[operation])[0] - 1 for operation in shared}
        within = [operation for operation in shared if abs(moved[operation]) <= reading(after[operation])[1]]
        same_engines = len(equal) == len(engines)
        print(f"\n`{options.network}`, one process each: {len(shared)} operations of both builds; {len(equal)} of "
              f"{len(engines)} with the same engine; {len(within)} moved by less than their interval; median of the "
              f"moves {statistics.median(moved.values()):+.2%}, of their sizes "
              f"{statistics.median(map(abs, moved.values())):.2%}.\n")
        for operation in sorted(shared, key=lambda name: -abs(moved[name]))[:10]:
            print(f"- `{operation}`: {moved[operation]:+.2%} (±{reading(after[operation])[1]:.2%})")
        for operation in sorted(set(engines) - set(equal)):
            print(f"- `{operation}`: {before[operation]['algorithm']}, then {after[operation].get('algorithm')}")
    return 0 if all_within and same_engines else 1


if __name__ == "__main__":
    sys.exit(main())
