#!/usr/bin/env python3
"""Times problems with another tool, in this process alone.

usage: peers.py TOOL --problems NAME,NAME… --json FILE     TOOL: see TOOLS, or describe
"""

import argparse
import json
import statistics
import sys
import tempfile
import time

import kernel_trace
import torch_work

LAUNCHES = 100
CONDITIONING_LAUNCHES = 10


def condition(launch):
    import torch
    for _ in range(CONDITIONING_LAUNCHES):
        launch()
    torch.cuda.synchronize()


def time_by_events(launch):
    """What most scripts do: two events around a launch on an empty queue."""
    import torch
    condition(launch)
    times = []
    for _ in range(LAUNCHES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return {"seconds": statistics.median(times), "launch_seconds": times}


def time_by_do_bench(launch):
    import triton.testing
    condition(launch)
    return {"seconds": triton.testing.do_bench(launch) * 1e-3}


def time_by_do_bench_cudagraph(launch):
    import triton.testing
    condition(launch)
    return {"seconds": triton.testing.do_bench_cudagraph(launch) * 1e-3}


def time_by_torch_benchmark(launch):
    import torch.utils.benchmark
    condition(launch)
    timer = torch.utils.benchmark.Timer(stmt="launch()", globals={"launch": launch})
    measured = timer.blocked_autorange()
    return {"seconds": measured.median, "block_seconds": list(measured.times)}


def trace_launches(launch, launches):
    import torch
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(launches):
            launch()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        with open(file.name, encoding="utf-8") as trace:
            return json.load(trace)


def time_by_cupti(launch):
    condition(launch)
    trace_launches(launch, 3)  # The first trace of a process starts CUPTI, and may lose its first kernels.
    trace = trace_launches(launch, LAUNCHES)
    times = kernel_trace.launch_times(trace, LAUNCHES)
    return {"seconds": statistics.median(times), "mean_seconds": statistics.fmean(times), "launch_seconds": times,
            "kernels": kernel_trace.kernel_names(trace)}


TOOLS = {"events": time_by_events, "do_bench": time_by_do_bench, "do_bench_cudagraph": time_by_do_bench_cudagraph,
         "torch_benchmark": time_by_torch_benchmark, "cupti": time_by_cupti}


def describe_failure(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def time_problems(tool, names, make_work):
    times = {}
    for name in names:
        start = time.monotonic()
        try:
            times[name] = tool(make_work(name))
        except Exception as error:  # noqa: BLE001: whatever a tool throws, the other problems go on
            times[name] = {"failed": describe_failure(error)}
        times[name]["duration_seconds"] = time.monotonic() - start
    return times


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=["describe", *TOOLS])
    parser.add_argument("--problems", default="")
    parser.add_argument("--json", required=True)
    options = parser.parse_args(arguments)
    if options.tool == "describe":
        document = torch_work.describe()
    else:
        document = time_problems(TOOLS[options.tool], options.problems.split(","), torch_work.make)
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
