#!/usr/bin/env python3
"""Programs to be watched: each works on a GPU for some seconds, and prints how long its steps took, as one line of JSON.

usage: workloads.py resnet|tiny|graph|profiler|threads|steady|input|allocation|copies [--seconds S] [--batch N] [--nodes N]
"""

import argparse
import json
import statistics
import threading
import time

import torch
import torchvision

DEVICE = "cuda"


def timed_steps(step, seconds, warm_up=10):
    """Runs a step again and again; the times between synchronizations, in seconds."""
    for _ in range(warm_up):
        step()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return times


def resnet_step(batch):
    """A training step of ResNet-50 in half precision, channels last."""
    model = torchvision.models.resnet50().to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(batch, 3, 224, 224, device=DEVICE).to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (batch,), device=DEVICE)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def resnet(arguments):
    torch.backends.cudnn.benchmark = True
    return timed_steps(resnet_step(arguments.batch), arguments.seconds)


def tiny(arguments):
    """Launches of a kernel over one value: the program's thread is what takes time."""
    value = torch.zeros(1, device=DEVICE)

    def step():
        for _ in range(1000):
            value.add_(1)

    return timed_steps(step, arguments.seconds)


def graph(arguments):
    """A CUDA graph of many small kernels, as a decoding step of a language model is."""
    values = torch.zeros(64 * 1024, device=DEVICE)
    captured = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        values.add_(1)
        torch.cuda.synchronize()
        with torch.cuda.graph(captured, stream=stream):
            for _ in range(arguments.nodes):
                values.add_(1)
    return timed_steps(captured.replay, arguments.seconds)


def profiler(arguments):
    """The same training with torch.profiler in its middle third."""
    torch.backends.cudnn.benchmark = True
    step = resnet_step(arguments.batch)
    times = timed_steps(step, arguments.seconds / 3)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        timed_steps(step, arguments.seconds / 3)
    print(f"torch.profiler saw {len(profile.events())} events", flush=True)
    return times + timed_steps(step, arguments.seconds / 3)


def threads(arguments):
    """Eight threads that launch on four streams."""
    streams = [torch.cuda.Stream() for _ in range(4)]
    values = [torch.zeros(1024, device=DEVICE) for _ in range(8)]
    end = time.perf_counter() + arguments.seconds
    counts = [0] * 8

    def work(i):
        with torch.cuda.stream(streams[i % 4]):
            while time.perf_counter() < end:
                for _ in range(100):
                    values[i].add_(1)
                counts[i] += 100
        torch.cuda.synchronize()

    workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"launched {sum(counts)}", flush=True)
    return [arguments.seconds / max(1, sum(counts))]


def products(size=2048, count=20):
    """A step of products of matrices, the same each time."""
    a = torch.randn(size, size, device=DEVICE, dtype=torch.float16)

    def step():
        for _ in range(count):
            torch.mm(a, a)

    return step


def steady(arguments):
    return timed_steps(products(), arguments.seconds)


def input_wait(arguments):
    """One step in 25 waits for its input for 8 ms."""
    work, number = products(), [0]

    def step():
        number[0] += 1
        if number[0] % 25 == 0:
            time.sleep(0.008)
        work()

    return timed_steps(step, arguments.seconds)


def allocation(arguments):
    """One step in 25 takes memory from the driver and gives it back."""
    work, number = products(), [0]

    def step():
        number[0] += 1
        work()
        if number[0] % 25 == 0:
            extra = torch.empty(1 << 30, device=DEVICE)
            del extra
            torch.cuda.empty_cache()

    return timed_steps(step, arguments.seconds)


def copies(arguments):
    """Every second step a copy from pinned memory runs beside kernels that are bound by memory."""
    values = torch.zeros(64 << 20, device=DEVICE)
    host, other = torch.zeros(64 << 20, pin_memory=True), torch.zeros(64 << 20, device=DEVICE)
    stream, number = torch.cuda.Stream(), [0]

    def step():
        number[0] += 1
        if number[0] % 2 == 0:
            with torch.cuda.stream(stream):
                other.copy_(host, non_blocking=True)
        for _ in range(20):
            values.add_(1)

    return timed_steps(step, arguments.seconds)


WORKLOADS = {"resnet": resnet, "tiny": tiny, "graph": graph, "profiler": profiler, "threads": threads, "steady": steady,
             "input": input_wait, "allocation": allocation, "copies": copies}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--nodes", type=int, default=600)
    arguments = parser.parse_args()
    times = WORKLOADS[arguments.workload](arguments)
    quantiles = statistics.quantiles(times, n=20) if len(times) > 1 else [times[0]]
    print(json.dumps({"workload": arguments.workload, "steps": len(times), "median_us": statistics.median(times) * 1e6,
                      "least_us": min(times) * 1e6, "p95_us": quantiles[-1] * 1e6}))


if __name__ == "__main__":
    main()
