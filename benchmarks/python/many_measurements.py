#!/usr/bin/env python3
"""Whether one process can measure for ever: memory, handles and memory of the GPU over many js.measure, and the time of one.

usage: many_measurements.py [--count 10000] [--time-limit SECONDS] [--device cuda:0]
"""

import argparse
import gc
import os
import pathlib
import sys
import time

import jitterscope as js


def held(device):
    """Bytes of the host, handles, and bytes of the GPU that are not free."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    taken = 0
    if device != "cpu":
        import torch
        free, there = torch.cuda.mem_get_info(device)
        taken = there - free
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), taken


def callable_on(device):
    if device == "cpu":
        return lambda: sum(range(100))
    import torch
    x = torch.randn(256, 256, device=device)
    return lambda: x @ x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds after which no further one begins")
    parser.add_argument("--device", default="cuda:0")
    arguments = parser.parse_args()
    function = callable_on(arguments.device)

    def measure():
        js.measure(function, device=arguments.device, precision=0.9, minimum_rounds=1, time_limit=0.001, launches_per_round=1,
                   idle=(0, 0.001))

    for _ in range(20):
        measure()
    gc.collect()
    before, began = held(arguments.device), time.monotonic()
    done = 0
    while done < arguments.count and time.monotonic() - began < arguments.time_limit:
        measure()
        done += 1
    gc.collect()
    after, took = held(arguments.device), time.monotonic() - began
    print(f"{done} measurements in {took:.0f} s: memory {(after[0] - before[0]) / 1e6:+.2f} MB, "
          f"handles {after[1] - before[1]:+d}, the GPU's memory {(after[2] - before[2]) / 1e6:+.2f} MB")
    return 1 if after[1] > before[1] or after[0] - before[0] > 16e6 or after[2] > before[2] else 0


if __name__ == "__main__":
    sys.exit(main())
