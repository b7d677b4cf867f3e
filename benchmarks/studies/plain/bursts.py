"""GPU times by CUDA events in short bursts, as plain PyTorch code takes them: shared by the scripts beside it.

Each arm is made several times, so that its operands lie in several places, and each time in a thread of its own:
PyTorch keeps cuDNN's engine for a shape per thread, whether its heuristic or its timing has chosen it.
"""

import concurrent.futures
import json
import random
import statistics
import time

import torch

PLACES = 3
ROUNDS = 10  # in each place
ROUND_SECONDS = 3e-3
MOST_CALLS = 100
IDLE_SECONDS = (0.02, 0.05)  # before a round, so that heat does not lower the clock
WARM_SECONDS = 0.01  # behind it, until the host's caches hold what launches need


def stay_awake(seconds):
    """The GPU rests. A host that slept meanwhile would launch slower for more than 100 ms."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def elapsed(launch, hold=None):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if hold:
        hold()
    start.record()
    launch()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e-3


def calls_of_a_round(call):
    once = min(elapsed(call) for _ in range(5))
    return max(1, min(MOST_CALLS, int(ROUND_SECONDS / once)))


class Looped:
    """Calls in a row, as a program makes them."""

    def __init__(self, call):
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        self.call = call  # holds the operands
        self.calls = calls_of_a_round(call)

    def launch(self):
        for _ in range(self.calls):
            self.call()


class Held(Looped):
    """Calls in a row behind a kernel that holds the GPU until the host has enqueued them all."""

    MOST_CALLS = 10  # of some dozen launches each: a queue holds about a thousand

    def __init__(self, call):
        super().__init__(call)
        self.calls = min(self.calls, self.MOST_CALLS)
        began = time.perf_counter()
        super().launch()
        self.seconds = time.perf_counter() - began
        torch.cuda.synchronize()

    def hold(self):
        torch.cuda._sleep(int(2e9 * (self.seconds * 3 + 1e-3)))  # cycles


class Recorded(Looped):
    """Calls in a row as one CUDA graph, so that Python's time does not count."""

    def __init__(self, call):
        super().__init__(call)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            super().launch()

    def launch(self):
        self.graph.replay()


class Replayed(Looped):
    """A CUDA graph of one call, replayed in a row, as a program does in its loop."""

    def __init__(self, call):
        super().__init__(call)
        self.recorded = call  # holds the operands
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            call()
        super().__init__(self.graph.replay)


def print_times(make, arms):
    """One JSON object {name: seconds of a call}; make(value of an arm) returns what is Looped or Recorded."""
    threads, made = [], []
    for name, value in list(arms.items()) * PLACES:
        threads.append(concurrent.futures.ThreadPoolExecutor(1))  # lives on, and its engines with it
        made.append((name, threads[-1].submit(make, value).result(), []))
    for _ in range(ROUNDS):
        for _, work, times in random.sample(made, len(made)):
            stay_awake(random.uniform(*IDLE_SECONDS))
            awake = time.monotonic() + WARM_SECONDS
            work.launch()  # not timed: the GPU has work until the timed ones come
            while time.monotonic() < awake:
                work.launch()
            times.append(elapsed(work.launch, getattr(work, "hold", None)) / work.calls)
    print(json.dumps({name: statistics.geometric_mean(statistics.median(times) for own, _, times in made if own == name)
                      for name in arms}))


def normal(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(shape, device="cuda") * scale).to(dtype)


def convolution(n, channels, size, memory_format):
    """A call of a 3x3 convolution in float16 that keeps size and channels."""
    image = normal(n, channels, size, size, dtype=torch.float16).to(memory_format=memory_format)
    weight = normal(channels, channels, 3, 3, dtype=torch.float16, scale=(9 * channels) ** -0.5)
    weight = weight.to(memory_format=memory_format)
    return lambda: torch.nn.functional.conv2d(image, weight, padding=1)
