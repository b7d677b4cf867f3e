#!/usr/bin/env python3
"""Records the kernels of convolutions in PyTorch, forward and backward, and their times, by torch.profiler.

    record_kernels.py [--device cuda] [--full-queue] [--reverse] [--clock] conv_reference.json >FILE

Runs the file's cases, 12 repetitions of each, launched back to back after a few that are not recorded, and prints
the same document with the kernels of this run. The host is slower than short kernels, so the GPU waits between them;
with --full-queue a kernel that sleeps keeps it busy until all are launched. With --reverse the last case runs first,
so that each finds other memory that the ones before it left. With --clock each repetition ends with two kernels
that spin for known numbers of cycles, and the file says the SM clock of each case, "clock_mhz", by their difference:
of kernels that draw little power, so convolutions before them ran up to 8 % slower (H200). Exit status 3 where PyTorch
or a GPU is missing.
"""

import argparse
import collections
import json
import statistics
import tempfile

import kernel_times
import reference_cases
from jitterscope_run import import_torch

WARM_UP = 5
SLEEP = "spin_kernel"  # as torch.cuda._sleep's is called
SLEEP_CYCLES = 100_000_000  # 50 ms at 2 GHz: launching takes some 5 ms, traced
CLOCK_CYCLES = (20_000, 60_000)  # 10 and 30 us: CUPTI's clock steps by 32 ns
LONGEST_SPIN = 1000.0  # microseconds, of a spin that tells the clock: the lowest is some 200 MHz


def kernels_of(trace):
    """Number and times of each kernel of a trace as kineto writes it, by name, in the order in which they first ran."""
    work = [event for event in trace["traceEvents"] if event.get("ph") == "X"
            and event.get("cat") in kernel_times.GPU_WORK and SLEEP not in event["name"]]
    times = collections.defaultdict(list)
    for event in sorted(work, key=lambda event: event["ts"]):
        times[event["name"]].append(event["dur"])
    return {name: kernel_times.summary(durations) for name, durations in times.items()}


def clock_of(trace):
    """Megahertz; nothing where no kernel spun for it."""
    spins = [event["dur"] for event in trace["traceEvents"]
             if event.get("ph") == "X" and event.get("cat") == "kernel" and SLEEP in event["name"]]
    spins = sorted(duration for duration in spins if duration < LONGEST_SPIN)
    half = len(spins) // 2
    if half == 0:
        return {}
    # What a launch takes beside its cycles is in both.
    longer = statistics.median(spins[half:]) - statistics.median(spins[:half])
    return {"clock_mhz": (CLOCK_CYCLES[1] - CLOCK_CYCLES[0]) / longer}


def record(torch, case, options):
    layer, x = reference_cases.layer_of(torch, case)
    gradient = torch.randn_like(layer(x))

    def step():
        # A gradient that is there already would be added to, by a kernel that is not the convolution's.
        layer.zero_grad(set_to_none=True)
        x.grad = None
        layer(x).backward(gradient)
        if options.clock:
            for cycles in CLOCK_CYCLES:
                torch.cuda._sleep(cycles)

    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        if options.full_queue:
            torch.cuda._sleep(SLEEP_CYCLES)
        for _ in range(kernel_times.REPETITIONS):
            step()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profile.export_chrome_trace(file.name)
        # kineto puts another file in this one's place, so what is open here stays empty.
        with open(file.name, encoding="utf-8") as trace:
            recorded = json.load(trace)
    return {"kernels": kernels_of(recorded)} | clock_of(recorded)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--full-queue", action="store_true", help="the GPU never waits for the host")
    parser.add_argument("--reverse", action="store_true", help="the cases in reverse order")
    parser.add_argument("--clock", action="store_true", help="the SM clock of each case too")
    parser.add_argument("reference")
    options = parser.parse_args()
    document = reference_cases.read(options.reference)
    torch = import_torch()
    torch.cuda.set_device(torch.device(options.device).index or 0)
    document["torch"], document["cudnn"] = torch.__version__, torch.backends.cudnn.version()
    document["gpu"] = torch.cuda.get_device_name()
    step = -1 if options.reverse else 1
    layers = [case | record(torch, case, options) for case in document["layers"][::step]]
    document["layers"] = layers[::step]
    print(json.dumps(document, indent=0))


if __name__ == "__main__":
    main()
