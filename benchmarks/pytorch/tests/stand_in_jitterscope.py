#!/usr/bin/env python3
"""Stands in for jitterscope: the parts of a run's document that the comparisons read, with made-up times."""

import json
import os
import sys

# Microseconds of each direction's kernels; a kernel named twice runs on tensors of two sizes.
KERNELS = {"fprop": [("void pad<float, 4>(float*)", 2.0), ("gemm_fprop", 101.0)],
           "dgrad": [("void pad<float, 4>(float*)", 4.0), ("gemm_dgrad", 53.0)],
           "wgrad": [("Memset", 0.82), ("gemm_wgrad", 80.0)]}
FORWARD = (30.3, 20.4, 9.8)  # a network's convolutions


def call_of(operation, factor):
    kernels = KERNELS[operation.rpartition("=")[2]]
    return {"name": operation,
            "kernels": [{"name": name, "median_seconds": time * factor * 1e-6} for name, time in kernels]}


def network(factor):
    calls = [(number, "fprop", alone) for number, alone in enumerate(FORWARD)]
    for number, alone in reversed(list(enumerate(FORWARD))):
        calls += [(number, "dgrad", 2 * alone), (number, "wgrad", alone)]
    return {"results": [result_of(direction, alone) for _, direction, alone in calls],
            "sequence": {"calls": [timed_call(place, *call, factor) for place, call in enumerate(calls)],
                         "clock_hertz": 1.9e9}}


def result_of(direction, alone):
    return {"operation": f"conv2d:n=1,direction={direction}", "measurements": [
        {"conditions": {"cache": cache}, "time": {"median_seconds": (alone - 1) * 1e-6}}
        for cache in ("warm", "cold", "dirty", "produced")]}


def timed_call(place, number, direction, alone, factor):
    time = alone * factor
    return {"name": f"layer{number}.{direction}", "result": place, "time": {"median_seconds": (time + 0.5) * 1e-6},
            "kernels": [{"name": "gemm", "median_seconds": time * 1e-6}]}


def main():
    operations = [argument for argument in sys.argv[2:] if argument.startswith("conv2d:")]
    placement = int(sys.argv[sys.argv.index("--placement") + 1]) if "--placement" in sys.argv else 0
    passes = int(os.environ.get("STAND_IN_PASSES", "12"))
    # On a full queue kernels take a tenth longer.
    factor = (1.0 if "eager" in sys.argv else 1.1) * (1 - 0.04 * placement)
    sequence = {"calls": [call_of(each, factor) for each in operations], "clock_hertz": 1.85e9,
                "iteration": {"rounds": passes}}
    print(json.dumps({"sequence": sequence} if operations else network(factor)))


if __name__ == "__main__":
    main()
