#!/usr/bin/env python3
"""Records the kernels of convolutions in PyTorch, forward and backward, and their times, by torch.profiler.

    record_kernels.py [--device cuda] [--full-queue] [--reverse] conv_reference.json >FILE

Runs the file's cases, 12 repetitions of each, launched back to back after a few that are not recorded, and prints
the same document with the kernels of this run. The host is slower than short kernels, so the GPU waits between them;
with --full-queue a kernel that sleeps keeps it busy until all are launched. With --reverse the last case runs first,
so that each finds other memory that the ones before it left. Exit status 3 where PyTorch or a GPU is missing.
"""

import argparse
import collections
import json
import tempfile

import kernel_times
import reference_cases
from jitterscope_run import import_torch

WARM_UP = 5
SLEEP = "spin_kernel"  # as torch.cuda._sleep's is called
SLEEP_CYCLES = 100_000_000  # 50 ms at 2 GHz: launching takes some 5 ms, traced
GPU_WORK = ("kernel", "gpu_memset", "gpu_memcpy")


def kernels_of(trace):
    """Number and times of each kernel of a trace as kineto writes it, by name, in the order in which they first ran."""
    work = [event for event in trace["traceEvents"]
            if event.get("ph") == "X" and event.get("cat") in GPU_WORK and SLEEP not in event["name"]]
    times = collections.defaultdict(list)
    for event in sorted(work, key=lambda event: event["ts"]):
        times[event["name"]].append(event["dur"])
    return {name: kernel_times.summary(durations) for name, durations in times.items()}


def record(torch, case, full_queue):
    layer, x = reference_cases.layer_of(torch, case)
    gradient = torch.randn_like(layer(x))

    def step():
        # A gradient that is there already would be added to, by a kernel that is not the convolution's.
        layer.zero_grad(set_to_none=True)
        x.grad = None
        layer(x).backward(gradient)

    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        if full_queue:
            torch.cuda._sleep(SLEEP_CYCLES)
        for _ in range(kernel_times.REPETITIONS):
            step()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profile.export_chrome_trace(file.name)
        # kineto puts another file in this one's place, so what is open here stays empty.
        with open(file.name, encoding="utf-8") as trace:
            return kernels_of(json.load(trace))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--full-queue", action="store_true", help="the GPU never waits for the host")
    parser.add_argument("--reverse", action="store_true", help="the cases in reverse order")
    parser.add_argument("reference")
    options = parser.parse_args()
    document = reference_cases.read(options.reference)
    torch = import_torch()
    torch.cuda.set_device(torch.device(options.device).index or 0)
    document["torch"], document["cudnn"] = torch.__version__, torch.backends.cudnn.version()
    document["gpu"] = torch.cuda.get_device_name()
    step = -1 if options.reverse else 1
    layers = [case | {"kernels": record(torch, case, options.full_queue)} for case in document["layers"][::step]]
    document["layers"] = layers[::step]
    print(json.dumps(document, indent=0))


if __name__ == "__main__":
    main()
