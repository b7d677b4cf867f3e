#!/usr/bin/env python3
"""How fast the host launches a network behind a rest: after sleeping, after keeping its core busy, and without.

usage: host_after_rest.py [--rest 0.035] [--calls 40] [--repeats 25]

ResNet-50 in float32 at batch 1, forward: PyTorch's launches are the limit there. Prints the median time of a call by its
number behind the rest, as Markdown.
"""

import argparse
import statistics
import time

import torch

SHOWN = (1, 2, 3, 4, 6, 11, 21, 40)


def stay_awake(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rest", type=float, default=0.035, help="seconds")
    parser.add_argument("--calls", type=int, default=40, help="behind each rest")
    parser.add_argument("--repeats", type=int, default=25)
    arguments = parser.parse_args()
    import torchvision  # only here: advise_model takes stay_awake
    model = torchvision.models.resnet50(weights=None).eval().cuda()
    batch = torch.randn(1, 3, 224, 224, device="cuda")
    rests = {"none": lambda: None, "asleep": lambda: time.sleep(arguments.rest), "awake": lambda: stay_awake(arguments.rest)}
    times = {name: [[] for _ in range(arguments.calls)] for name in rests}
    with torch.no_grad():
        for _ in range(20):
            model(batch)
        # Twice all of each kind: in turns, what a sleep leaves behind would be in the others' calls as well.
        for name, rest in list(rests.items()) * 2:
            for _ in range(arguments.repeats):
                torch.cuda.synchronize()
                rest()
                for number in range(arguments.calls):
                    began = time.perf_counter()
                    model(batch)
                    times[name][number].append(time.perf_counter() - began)
    shown = [number for number in SHOWN if number <= arguments.calls]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; ms of the host's time\n")
    print(f"| rest of {arguments.rest * 1e3:.0f} ms | " + " | ".join(f"call {number}" for number in shown) + " |")
    print("|---|" + "--:|" * len(shown))
    for name, of_calls in times.items():
        print(f"| {name} | " + " | ".join(f"{statistics.median(of_calls[number - 1]) * 1e3:.2f}" for number in shown) + " |")


if __name__ == "__main__":
    main()
