#!/usr/bin/env python3
"""Runs every operator of execution traces by the provider torch, and says which ones cannot run and why.

    run_operators.py --jitterscope PATH [--device cuda] TRACE…

Prints Markdown. Exit status 1 where an operator neither runs nor has a reason, 3 where jitterscope wrote no result.
"""

import argparse
import collections
import pathlib
import sys

from jitterscope_run import run_json

FLAGS = ["--load", "burst", "--cache", "warm", "--min-rounds", "1", "--time-limit", "0.05", "--no-ceilings"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    rows, reasons, silent = [], collections.Counter(), 0
    for trace in options.traces:
        command = [options.jitterscope, "run", str(trace), "--provider", "torch", "--device", options.device, *FLAGS]
        command += ["--json", "-"]
        # An operator that cannot run leaves its reason in the result, and any exit status.
        document = run_json(command, range(6))
        results = document["results"]
        failed = [r for r in results if r.get("failure")]
        for result in failed:
            reasons[trace.name, result["operation"].split("(")[0], result["failure"][:300]] += 1
        for operator in document["untimed"]:
            reasons[trace.name, operator["name"], operator["reason"][:300]] += operator["count"]
        silent += sum(not r.get("failure") and not r["measurements"] for r in results)
        by_torch = sum(r.get("provider") == "torch" for r in results)
        rows.append(f"| {trace.name} | {len(results)} | {len(results) - len(failed)} | {by_torch} | {len(failed)} "
                    f"| {len(document['untimed'])} |")
    print("| trace | operations | run | by torch | failed | kinds not timed |\n| --- | --: | --: | --: | --: | --: |")
    print("\n".join(rows))
    for (trace, name, reason), count in reasons.items():
        print(f"- {trace}: {name} ×{count}: {reason}")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
