#!/usr/bin/env python3
"""Compares the engines that jitterscope takes with those that PyTorch took, by logs of cudnn-frontend.

    compare_engines.py --jitterscope PATH [--device cuda] [--float tf32] LOG…

Where a log was written with torch.backends.cudnn.benchmark off, the tag of each convolution's plan is compared;
where it was on, the plans that PyTorch tried, in their order, with the first plans that jitterscope lists.
A log does not say whether fp32 could become TF32: --float f32 is for those written with
torch.backends.cudnn.allow_tf32 off. Prints a Markdown table and the differences; exit status 1 where there are any,
3 where jitterscope could not run.
"""

import argparse
import gzip
import pathlib
import sys

import frontend_log
from jitterscope_run import QUICK, give_up, run_json, run_operations


def engines_taken(options, operations):
    """The tag, or the failure, of each operation."""
    results = run_operations(options, operations, QUICK)
    return [result.get("algorithm") or "failed: " + result.get("failure", "?") for result in results]


def engines_tried(options, operation):
    command = [options.jitterscope, "engines", operation, "--device", options.device]
    command += ["--list", "--json", "-"]
    return [engine["tag"] for engine in run_json(command)["engines"] if engine["source"] != "other"]


def compare_log(options, path):
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8") as file:
            convolutions = frontend_log.read(file.read(), options.float)
    except OSError as error:
        give_up(f"{path} cannot be read: {error.strerror or error}")
    differences, plain = [], [c for c in convolutions if not c.took]
    for convolution, tag in zip(plain, engines_taken(options, [c.operation for c in plain])):
        if tag != convolution.tag:
            differences.append(f"{convolution.operation}: PyTorch {convolution.tag}, jitterscope {tag}")
    for convolution in (c for c in convolutions if c.took):
        theirs = list(dict.fromkeys(tag for tag, _ in convolution.took))  # a plan may be tried twice
        ours = engines_tried(options, convolution.operation)[: len(theirs)]
        if ours != theirs:
            differences.append(f"{convolution.operation}: PyTorch tried {theirs}, jitterscope lists {ours}")
    return len(convolutions), len(convolutions) - len(plain), differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--float", default="tf32", choices=["tf32", "f32"], help="what fp32 was (default tf32)")
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    rows, all_differences = [], []
    for path in options.logs:
        total, tuned, differences = compare_log(options, path)
        rows.append(f"| {path.name} | {total} | {'on' if tuned else 'off'} | {total - len(differences)} |")
        all_differences += differences
    print("| log | convolutions | benchmark | equal |\n| --- | --: | --- | --: |")
    print("\n".join(rows))
    for difference in all_differences:
        print("-", difference)
    return 1 if all_differences else 0


if __name__ == "__main__":
    sys.exit(main())
