#!/usr/bin/env python3
"""How many factors `jitterscope explain --quick` gives a verdict on, and how long that takes: one Markdown table.

    python3 benchmarks/targets/measure_explain.py --jitterscope build/release/bin/jitterscope

The target is a verdict (cause or cleared) on ten factors within 35 s, from the start of the process to its end. Prints
each line as it is known. On a simulated device (--device virtual:h200) the wall's seconds say nothing of a GPU's; those of
the study are the device's own.
Exit status: 0 measured, 1 an operation could not be explained, 2 usage.
"""
import argparse
import json
import sys

import measure_targets
import processes
import tables

OPERATIONS = (
    "conv2d:n=32,c=64,h=56,w=56,k=64,r=3,s=3,pad=1,dtype=f16,layout=nhwc",
    "matmul:m=8192,n=8192,k=8192,dtype=f16",
    "attention:batch=8,heads=16,queries=1024,dim=64,dtype=f16",
    "add:count=1Mi",
    "layer_norm:rows=8Ki,columns=768,dtype=f16",
    "softmax:rows=8Ki,columns=1024,dtype=f16",
)
HEADINGS = ["operation", "wall, s", "study, s", "with a verdict", "factors in all", "target", "causes", "cleared",
            "not decided", "not tried", "not possible here"]
VERDICTS = ("cause", "cleared", "unresolved", "left_out", "not_identifiable")
LIMIT_SECONDS = 120
TARGET_SECONDS, TARGET_FACTORS = 35.0, 10


def explain(arguments, operation):
    """(seconds from start to end, factors and seconds of the study)"""
    command = [arguments.jitterscope, "explain", operation, "--quick", "--device", arguments.device, "--json", "-"]
    finished = processes.run(command, LIMIT_SECONDS)
    study = json.loads(finished.stdout)["study"]
    return finished.seconds, study["factors"], study["duration_seconds"]


def row(operation, wall, factors, duration):
    by_verdict = {verdict: [factor["id"] for factor in factors if factor["verdict"] == verdict] for verdict in VERDICTS}
    known = len(by_verdict["cause"]) + len(by_verdict["cleared"])
    met = wall <= TARGET_SECONDS and known >= TARGET_FACTORS
    return [operation, f"{wall:.1f}", f"{duration:.1f}", known, len(factors), "met" if met else "missed",
            *[", ".join(by_verdict[verdict]) or tables.NOT_MEASURED for verdict in VERDICTS]]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope", type=measure_targets.executable)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="operations that begin with this")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    print(tables.table(HEADINGS, []), flush=True)
    status = 0
    for operation in OPERATIONS:
        if not operation.startswith(options.only):
            continue
        try:
            cells = row(operation, *explain(options, operation))
        except (processes.ProcessFailed, ValueError) as error:  # a value: no JSON
            cells = [operation, f"failed: {error}", *[tables.NOT_MEASURED] * (len(HEADINGS) - 2)]
            status = 1
        print(tables.line(cells), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
