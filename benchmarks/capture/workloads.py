#!/usr/bin/env python3
"""Programs to be watched: each works on a GPU for some seconds, and prints how long its steps took, as one line of JSON.

usage: workloads.py resnet|convolution|profiler|steady|input|allocation|copies|power|neighbour [--seconds S] [--batch N]
Programs that only launch are in launcher.cu.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
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


def convolution(arguments):
    """What a benchmark of one layer does: the second convolution of ResNet-50's first block, again and again."""
    torch.backends.cudnn.benchmark = True
    layer = torch.nn.Conv2d(64, 64, 3, padding=1, bias=False).to(DEVICE, torch.float16, memory_format=torch.channels_last)
    images = torch.randn(arguments.batch, 64, 56, 56, device=DEVICE, dtype=torch.float16).to(memory_format=torch.channels_last)

    def step():
        with torch.no_grad():
            for _ in range(50):
                layer(images)

    return timed_steps(step, arguments.seconds)


def profiler(arguments):
    """The same training with torch.profiler in its middle third."""
    torch.backends.cudnn.benchmark = True
    step = resnet_step(arguments.batch)
    times = timed_steps(step, arguments.seconds / 3)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        timed_steps(step, arguments.seconds / 3)
    print(f"torch.profiler saw {len(profile.events())} events", flush=True)
    return times + timed_steps(step, arguments.seconds / 3)


def network(rows=32768, size=1024, layers=6):
    """A step of a small network: products of matrices and what stands between them. A layer takes an H200 0.2 ms, so that a
    host that is late by less than that does not show; products of zeros keep it below its cap of power."""
    weights = [torch.zeros(size, size, device=DEVICE, dtype=torch.float16) for _ in range(layers)]
    start = torch.zeros(rows, size, device=DEVICE, dtype=torch.float16)

    def step():
        state = start
        for weight in weights:
            state = torch.relu(torch.mm(state, weight)) + 0.5
            state = torch.sigmoid(state) * 2
        return torch.softmax(state, -1).sum()

    return step


def memory_step(values):
    """A step that is bound by memory: five kinds of kernels, four times each."""
    for _ in range(4):
        values.add_(1).mul_(0.5).clamp_(-1, 1).sigmoid_().tanh_()


class Turns:
    """On and off in turn, for times that follow no rhythm: 0.2 to 1.2 s."""

    def __init__(self):
        self.random, self.is_on, self.until = random.Random(1), False, 0.0

    def __call__(self):
        if (now := time.perf_counter()) >= self.until:
            self.is_on, self.until = not self.is_on, now + self.random.uniform(0.2, 1.2)
        return self.is_on


def steady(arguments):
    return timed_steps(network(), arguments.seconds)


def input_wait(arguments):
    """One step in 25 waits for its input for 8 ms."""
    work, number = network(), [0]

    def step():
        number[0] += 1
        if number[0] % 25 == 0:
            time.sleep(0.008)
        work()

    return timed_steps(step, arguments.seconds)


def allocation(arguments):
    """One step in 25 takes memory from the driver and gives it back."""
    work, number = network(), [0]

    def step():
        number[0] += 1
        work()
        if number[0] % 25 == 0:
            extra = torch.empty(1 << 30, device=DEVICE)
            del extra
            torch.cuda.empty_cache()

    return timed_steps(step, arguments.seconds)


def copies(arguments):
    """In every second step a copy from pinned memory runs beside kernels that are bound by memory."""
    values = torch.zeros(64 << 20, device=DEVICE)
    host, other = torch.zeros(16 << 20, pin_memory=True), torch.zeros(16 << 20, device=DEVICE)
    stream, number = torch.cuda.Stream(), [0]

    def step():
        number[0] += 1
        if number[0] % 2 == 0:
            with torch.cuda.stream(stream):
                other.copy_(host, non_blocking=True)
        memory_step(values)

    return timed_steps(step, arguments.seconds)


def power(arguments):
    """Products of random numbers and of zeros in turn: those of random numbers reach the cap of power."""
    numbers = torch.randn(8192, 8192, device=DEVICE, dtype=torch.float16)
    zeros, turns = torch.zeros_like(numbers), Turns()
    weight = torch.randn(8192, 8192, device=DEVICE, dtype=torch.float16) / 90

    def step():
        state = numbers if turns() else zeros
        for _ in range(3):
            state = torch.relu(torch.mm(state, weight))
            state = torch.tanh(state * 2)
        torch.softmax(state, -1)

    return timed_steps(step, arguments.seconds)


def neighbour(arguments):
    """The steady program, beside another process that works on the GPU now and then."""
    if arguments.batch == 0:  # the other process
        work, turns = network(65536, 2048, 4), Turns()
        end = time.perf_counter() + arguments.seconds
        while time.perf_counter() < end:
            if turns():
                work()
                torch.cuda.synchronize()
            else:
                time.sleep(0.01)
        return [1.0]
    hidden = ("INJECTION", "LD_PRELOAD", "JITTERSCOPE_CAPTURE")
    other = subprocess.Popen([sys.executable, __file__, "neighbour", "--batch", "0", "--seconds", str(arguments.seconds + 20)],
                             env={name: value for name, value in os.environ.items() if not any(each in name for each in hidden)},
                             stdout=subprocess.DEVNULL)
    try:
        time.sleep(5)
        return timed_steps(network(), arguments.seconds)
    finally:
        other.kill()


WORKLOADS = {"resnet": resnet, "convolution": convolution, "profiler": profiler, "steady": steady,
             "input": input_wait, "allocation": allocation, "copies": copies, "power": power,
             "neighbour": neighbour}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()
    times = WORKLOADS[arguments.workload](arguments)
    quantiles = statistics.quantiles(times, n=20) if len(times) > 1 else [times[0]]
    print(json.dumps({"workload": arguments.workload, "steps": len(times), "median_us": statistics.median(times) * 1e6,
                      "least_us": min(times) * 1e6, "p95_us": quantiles[-1] * 1e6}))


if __name__ == "__main__":
    main()
