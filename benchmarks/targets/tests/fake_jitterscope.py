#!/usr/bin/env python3
"""Stands in for jitterscope: documents of the published form with made-up times.

FAKE_FAILS: an operation's kind that ends the run with 5. FAKE_SLEEPS: seconds before anything is written.
FAKE_LACKS: an operation's kind whose result holds a failure.
"""

import argparse
import itertools
import json
import os
import pathlib
import sys
import time

MICROSECONDS = {"matmul:m=512": 3.313, "matmul:m=8192": 1368.8, "conv2d": 128.0, "copy": 508.2, "add": 1.184}
SPIN_BIAS = 0.05e-6


def expand(text):
    """A sweep of spin; other operations as they are."""
    kind, _, parameters = text.partition(":")
    if kind == "resnet50":
        return ["conv2d:n=1,c=64,hw=56,k=64", "linear:n=1,in=2048,out=1000"]
    if kind != "spin":
        return [text]
    lists = {}
    for part in parameters.split(","):
        name, equals, value = part.rpartition("=")
        if equals:
            last = name
            lists[last] = []
        lists[last].append(value)
    # As the normal form does, what is usual is left out.
    return [f"spin:ns={ns}" + (f",blocks={blocks}" if blocks != "1" else "")
            for ns, blocks in itertools.product(lists["ns"], lists["blocks"])]


def seconds_of(operation, load, instrument):
    if operation.startswith("spin"):
        return int(operation.split("=")[1].split(",")[0]) * 1e-9 + 0.5e-6 + (0 if instrument == "cupti" else SPIN_BIAS)
    known = next((value for start, value in MICROSECONDS.items() if operation.startswith(start)), 10.0)
    return known * 1e-6 * (1.15 if load == "sustained" else 1.0)


CONSTANT = {"value_seconds": 0, "uncertainty_seconds": 0, "grain_seconds": 0, "scatter_seconds": 0}
CAPABILITIES = {"is_host": False, "is_simulated": False, "launches_return_early": True, "launches_have_blocks": True,
                "chains_have_streams": True, "marks_on_device": True, "traces_kernels": True, "owns_last_level_cache": True,
                "copies_depend_on_data": True, "operator_outputs_stay": True, "fast_layout": "nhwc",
                "pytorch_device": "cuda"}
LARGE_WORK = {"copy_bytes": 1, "product": 1, "slow_type": "f32", "product_in_slow_type": 1}


def measurement(operation, cache, load, instrument):
    seconds = seconds_of(operation, load, instrument)
    time_of = {"median_seconds": seconds, "low_seconds": seconds * 0.998, "high_seconds": seconds * 1.002,
               "relative_precision": 0.002, "rounds": 10}
    one_round = {"started_seconds": 0.1, "grain_seconds": 0, "idle_before_seconds": 0.05, "launches_per_value": 1,
                 "launch_seconds": [seconds] * 3, "clock_hertz": 1.6e9, "sensors": {"power_watts": 500}}
    return {"conditions": {"cache": cache, "load": load, "data": "normal", "queue": "saturated",
                           "fresh_data": False, "seed": 1},
            "instrument": instrument, "constant": CONSTANT, "time": time_of, "repeatability": time_of,
            "uncertainty": {}, "process_variation": {"placed": 0, "fixed": 0, "degrees_of_freedom": 0},
            "is_placed_anew": False,
            "clock": {"median_hertz": 1.4e9 if load == "sustained" else 1.6e9, "p5_hertz": 1.4e9, "p95_hertz": 1.6e9},
            "launches": {"values": 30}, "modes": [], "stop_reason": "precision", "precision_asked": 0.005,
            "duration_seconds": 0.61, "rounds": [one_round] * 10}


def result(operation, options):
    measurements = [measurement(operation, cache, load, options.instrument) for load in options.load.split(",")
                    for cache in options.cache.split(",")]
    findings = [{"id": "power_cap", "sentence": "The cap of 700 W holds it down.", "remedy": "Draw less.",
                 "evidence": {"burst_clock_hz": "1600 MHz", "sustained_clock_hz": "1400 MHz", "cause_known": "true"}}]
    made = {"operation": operation, "parameters": {}, "count": 1, "layers": [], "stand_in": False,
            "flops": 1, "minimum_bytes": 1, "workspace_bytes": 0,
            "prepare_seconds": 0.2, "first_call_seconds": 0.1, "launch_cost_seconds": 3e-6,
            "measurements": measurements, "findings": findings if "sustained" in options.load else []}
    if operation.partition(":")[0] == os.environ.get("FAKE_LACKS"):
        made |= {"measurements": [], "failure": "out of memory"}
    return made


def document(options):
    operations = [each for text in options.operations for each in expand(text)]
    return {"format": "jitterscope-record", "version": 2, "command": "run", "interrupted": False,
            "title": options.operations[0], "summary": [], "untimed": [], "notes": [],
            "environment": {"tool_version": "0.1.0", "command_line": "x", "time": "2026-11-20T00:00:00Z", "host": {}},
            "device": {"id": "cuda:0", "name": "NVIDIA H200", "processors": 132, "memory_total_bytes": 1,
                       "memory_free_bytes": 1, "last_level_cache_bytes": 1, "data_types": ["f32"], "further_types": [],
                       "capabilities": CAPABILITIES, "large_work": LARGE_WORK,
                       "libraries": [{"name": "cudnn", "version": "9.19"}, {"name": "cupti", "problem": "not found"}],
                       "properties": {"driver_version": "580.1", "power_limit_watts": "700"}},
            "calibration": {"events": CONSTANT, "graph": CONSTANT}, "ceilings": {"compute": []},
            "results": [result(each, options) for each in operations], "findings": []}


EXPLAINED = {"load": "cause", "cache": "cause", "idle": "cleared", "data": "unresolved", "heap": "left_out",
             "engine": "not_identifiable"}


def explained():
    """A record of `explain`, as far as the table reads it."""
    factors = [{"id": name, "verdict": verdict} for name, verdict in EXPLAINED.items()]
    return {"format": "jitterscope-record", "version": 2, "command": "explain", "interrupted": False,
            "study": {"factors": factors, "duration_seconds": 29.5}}


def main(arguments):
    if arguments == ["--version"]:
        print("jitterscope 0.1.0")
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run", "explain"])
    parser.add_argument("operations", nargs="+")
    parser.add_argument("--device", choices=["cuda"], required=True)
    parser.add_argument("--cache")
    parser.add_argument("--load")
    parser.add_argument("--instrument", default="graph")
    parser.add_argument("--json", required=True)
    parser.add_argument("--provider", default="")
    parser.add_argument("--no-ceilings", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    time.sleep(float(os.environ.get("FAKE_SLEEPS", 0)))
    if any(each.partition(":")[0] == os.environ.get("FAKE_FAILS") for each in options.operations):
        print("jitterscope: the GPU fell off the bus", file=sys.stderr)
        return 5
    text = json.dumps(explained() if options.command == "explain" else document(options))
    if options.json == "-":
        print(text)
    else:
        pathlib.Path(options.json).write_text(text, encoding="utf-8")
    return 4 if options.command == "run" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
