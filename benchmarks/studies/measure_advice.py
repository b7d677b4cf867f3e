#!/usr/bin/env python3
"""How often `jitterscope advise` is right where the truth is known: on a simulated GPU, with a new seed each time.

usage: measure_advice.py [--jitterscope PROGRAM] [--device virtual:h200] [--count 100]

Where nothing helps (a convolution in f64 has no other layout to gain from), at most one in twenty may claim a gain.
Where two remedies gain and their gains differ by half or more, the greater one must be taken first: 4 Mi elements of
relu wait for memory, so that f16 gains more than a graph; 64 Ki wait for the host, so that only a graph gains. Prints a
Markdown table.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

CASES = [
    ("nothing helps", ["conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,dtype=f64", "--allow", "layout"], []),
    ("f16 before a graph", ["relu:count=4Mi", "--allow", "precision,graph"], ["precision", "graph"]),
    ("a graph alone", ["relu:count=64Ki", "--allow", "precision,graph"], ["graph"]),
]


def advise(arguments, words, seed):
    """The studies that were taken in their order of being taken, and the wall time."""
    command = [arguments.jitterscope, "advise", *words, "--device", arguments.device, "--seed", str(seed), "--json", "-"]
    began = time.monotonic()
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0 or not finished.stdout:
        sys.exit(f"measure_advice: {' '.join(command)} failed: {finished.stderr.strip()}")
    record = json.loads(finished.stdout)
    taken = [remedy["study"] for step in record["steps"] for remedy in step["remedies"] if remedy["outcome"] == "taken"]
    return taken, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--device", default="virtual:h200")
    parser.add_argument("--count", type=int, default=100, help="runs of each case")
    arguments = parser.parse_args()
    if arguments.count < 1:
        parser.error("--count: 1 at least")
    print("| case | must take | right | target | took |\n|---|---|--:|--:|--:|")
    for name, words, expected in CASES:
        found = [advise(arguments, words, seed) for seed in range(1, arguments.count + 1)]
        right = sum(taken[:len(expected) or None] == expected for taken, _ in found)
        print(f"| {name}: `{words[0]}` | {', then '.join(expected) or 'nothing'} | {right} of {len(found)} "
              f"| at least 95 % | {statistics.median(took for _, took in found):.1f} s |", flush=True)


if __name__ == "__main__":
    main()
