"""What one fresh process finds of one callable, as JSON on standard output: js.measure's time, how long that took, and
the times of its kernels as PyTorch's profiler (CUPTI) reads them.

usage: one_process.py CALLABLE
"""

import json
import statistics
import sys
import time

import callables
import jitterscope as js

LAUNCHES = 50


def kernel_seconds(function):
    """Median over launches of the kernels' times, added up: without the gaps between them."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    for _ in range(10):
        function()
    torch.cuda.synchronize()
    sums = []
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        for _ in range(LAUNCHES):
            function()
        torch.cuda.synchronize()
    kernels = sorted((event for event in profiler.events() if "CUDA" in str(event.device_type)),
                     key=lambda event: event.time_range.start)
    if not kernels or len(kernels) % LAUNCHES:
        return None
    each = len(kernels) // LAUNCHES
    for launch in range(LAUNCHES):
        sums.append(sum(event.time_range.elapsed_us() for event in kernels[launch * each:(launch + 1) * each]) * 1e-6)
    return statistics.median(sums)


def main(name):
    import torch
    torch.cuda.init()
    function = callables.make(name)
    js.measure(function, name=name)  # opens the device
    began = time.perf_counter()
    found = js.measure(function, name=name)
    took = time.perf_counter() - began
    with_kernels = js.measure(function, name=name, kernels=True)
    json.dump({"median": found.median, "precision": found.precision, "took": took, "instrument": found.measurements[0].instrument,
               "notes": found.notes, "device": found.device["name"],
               "traced": sum(kernel.median for kernel in with_kernels.kernels) or None, "kernels": len(with_kernels.kernels),
               "profiler": kernel_seconds(function)}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
