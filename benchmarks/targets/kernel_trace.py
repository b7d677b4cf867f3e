"""Times of launches from the Chrome trace that torch.profiler exports: CUPTI's own kernel times."""

GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}


def launch_times(trace, launches):
    """Seconds of each launch, from the start of its first kernel to the end of its last."""
    work = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in GPU_WORK]
    work.sort(key=lambda event: event["ts"])
    if not work or len(work) % launches:
        raise ValueError(f"the trace holds {len(work)} kernels and copies, which is not a number for each of "
                         f"{launches} launches")
    kernels = len(work) // launches
    times = []
    for first in range(0, len(work), kernels):
        group = work[first:first + kernels]
        # A duration is exact to 1 ns, but a time stamp of 10^15 us is a double that steps by 0.125 us: where
        # there is one kernel, as usual, no difference of time stamps enters.
        between = group[-1]["ts"] - group[0]["ts"] if kernels > 1 else 0.0
        times.append((between + group[-1]["dur"]) * 1e-6)
    return times


def kernel_names(trace):
    return sorted({event["name"] for event in trace["traceEvents"] if event.get("cat") in GPU_WORK})
