"""What one fresh process finds of one callable, as JSON on standard output: js.measure's time, how long that took, the
times of its kernels as PyTorch's profiler (CUPTI) reads them, what one more call costs in a graph of PyTorch's, and the
same by js.measure with queue="graph".

usage: one_process.py CALLABLE
"""

import contextlib
import json
import statistics
import sys
import time

import callables
import jitterscope as js

LAUNCHES = 50
CALLS = (20, 60)  # of a graph: its second size less its first is what the calls between took
REPLAYS = 30
HOLD_CYCLES = 4_000_000  # 2 ms, in which the host hands all nodes of a graph to the GPU


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


def stream_of_cupy(pointer):
    """CuPy launches on a stream of its own, unless it is told of another."""
    cupy = sys.modules.get("cupy")
    return cupy.cuda.ExternalStream(pointer) if cupy else contextlib.nullcontext()


def graph_seconds(function):
    """One call in a graph that PyTorch records and its events time: the kernels with the gaps between them. None where
    PyTorch cannot record it."""
    import torch
    pointer = js.stream("cuda:0").pointer
    stream = torch.cuda.ExternalStream(pointer)
    took = []
    for calls in CALLS:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.stream(stream), stream_of_cupy(pointer), torch.cuda.graph(graph, stream=stream):
                for _ in range(calls):
                    function()
        except RuntimeError as error:
            print(f"one_process: no graph: {error}", file=sys.stderr)
            return None
        with torch.cuda.stream(stream):
            times = []
            for _ in range(REPLAYS):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda._sleep(HOLD_CYCLES)
                begin.record()
                graph.replay()
                end.record()
                end.synchronize()
                times.append(begin.elapsed_time(end) * 1e-3)
        took.append(statistics.median(times))
    return (took[1] - took[0]) / (CALLS[1] - CALLS[0])


def main(name):
    import torch
    torch.cuda.init()
    function = callables.make(name)
    js.measure(function, name=name)  # opens the device
    began = time.perf_counter()
    found = js.measure(function, name=name)
    took = time.perf_counter() - began
    with_kernels = js.measure(function, name=name, kernels=True)
    by_graph = js.measure(function, name=name, queue="graph")
    json.dump({"median": found.median, "precision": found.precision, "took": took, "instrument": found.measurements[0].instrument,
               "notes": found.notes, "device": found.device["name"],
               "traced": sum(kernel.median for kernel in with_kernels.kernels) or None, "kernels": len(with_kernels.kernels),
               "profiler": kernel_seconds(function), "graph": graph_seconds(function), "by_graph": by_graph.median}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
