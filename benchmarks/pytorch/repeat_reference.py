#!/usr/bin/env python3
"""Compares PyTorch's kernel times with its own, of a file of reference and of fresh processes.

    repeat_reference.py [--processes 3] [--reverse] [--device cuda] [--output FILE] conv_reference.json

This is what the numbers of compare_kernels.py are to be seen against. Each process runs the cases of the file in
PyTorch, as record_kernels.py does; each is compared with the file, and with each other one, by the rules of
compare_kernels.py. Prints Markdown: the comparisons, and the kernels that are further off in any of them. --output
keeps the first process's times, for compare_kernels.py. --reverse adds a process that runs the cases in reverse
order, in other memory: what differs there but not between the others hangs on where tensors lie. Exit status 1 where
a case ran other kernels, 3 where PyTorch or a GPU is missing.
"""

import argparse
import collections
import itertools
import json
import pathlib
import sys

import reference_cases
from jitterscope_run import give_up, positive, run_json
from kernel_times import TICK, compare, judge, judge_all, judged_cells, kernels_there, label

RECORDER = str(pathlib.Path(__file__).with_name("record_kernels.py"))
FILE = "the file"


def record(options):
    records = {}
    command = [sys.executable, RECORDER, options.reference, "--device", options.device]
    for number in range(1, options.processes + 1):
        records[f"process {number}"] = run_json(command, (0,))
        if options.output and number == 1:
            keep(options.output, records["process 1"])
    if options.reverse:
        records["reverse order"] = run_json([*command, "--reverse"], (0,))
    return records


def keep(path, document):
    try:
        pathlib.Path(path).write_text(json.dumps(document, indent=0), encoding="utf-8")
    except OSError as error:
        give_up(f"{path} cannot be written: {error.strerror}")


def compare_records(here, there):
    """(cases with the same kernels, how many kernels were judged what, lines about differences)

    Records are lists of cases, a case the kernels by their identity."""
    equal, judged, lines = 0, collections.Counter(), []
    for number, kernels in enumerate(here):
        differences, times = compare(kernels, there[number])
        equal += not differences
        judged.update(judge_all(times))
        lines += [f"case {number + 1}: {name[:100]}: {ours:g} launches against {theirs:g}"
                  for name, ours, theirs in differences]
    return equal, judged, lines


def print_comparisons(records):
    """Gives the lines about differences."""
    print(f"| compared | cases with the same kernels | kernels within 2 % | further off, but by at most {TICK} µs "
          "| the others |\n| --- | --: | --: | --: | --: |")
    all_lines = []
    for there, here in itertools.combinations(records, 2):
        equal, judged, lines = compare_records(records[here], records[there])
        print(f"| {here} against {there} | {equal} of {len(records[here])} | {judged_cells(judged)} |")
        all_lines += [f"- {here} against {there}: {line}" for line in lines]
    return all_lines


def kernels_off(records, cases):
    """[(spread, name, case, times)] of the kernels that are further off in any comparison, the worst first."""
    rows = []
    for number, case in enumerate(cases):
        for identity, kernel in records[FILE][number].items():
            found = [record[number].get(identity) for record in records.values()]
            times = [each.microseconds if each else None for each in found]
            known = [time for time in times if time]
            if any(judge(ours, theirs) == "off" for theirs, ours in itertools.combinations(known, 2)):
                rows.append((max(known) / min(known), kernel.name, label(case), times))
    return sorted(rows, key=lambda row: -row[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=positive, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--reverse", action="store_true", help="one more process, with the cases in reverse order")
    parser.add_argument("--output", help="a file for the times of the first process")
    parser.add_argument("reference")
    options = parser.parse_args()
    documents = {FILE: reference_cases.read(options.reference)} | record(options)
    for name, document in list(documents.items())[:2]:
        print(f"- {name}: PyTorch {document['torch']}, cuDNN {document['cudnn']}, {document['gpu']}")
    records = {name: [kernels_there(case) for case in document["layers"]] for name, document in documents.items()}
    print()
    lines = print_comparisons(records)
    print(f"\n| kernel | case | {', µs | '.join(records)}, µs | longest over shortest |")
    print("| --- | --- |" + " --: |" * (len(records) + 1))
    for spread, name, case, times in kernels_off(records, documents[FILE]["layers"]):
        cells = " | ".join("not run" if time is None else f"{time:.2f}" for time in times)
        print(f"| {name[:70]} | {case} | {cells} | {spread:.3f} |")
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
