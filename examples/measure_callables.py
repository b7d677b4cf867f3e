"""Times functions of one's own: on the CPU as it stands, on the GPU where they work on tensors there."""

from __future__ import annotations

from typing import Callable

import jitterscope as js


@js.benchmark(count=[1_000, 10_000])
def total(count: int) -> Callable[[], int]:
    numbers = list(range(count))  # set up, not timed
    return lambda: sum(numbers)  # timed


def main() -> None:
    numbers = list(range(10_000))
    time = js.measure(lambda: sorted(numbers), device="cpu", name="sorted", cache=["warm", "cold"], time_limit=0.5)
    print(time)
    low, high = time.interval
    print(f"{time.median * 1e6:.2f} us, 95 % interval {low * 1e6:.2f} to {high * 1e6:.2f} us")
    for finding in time.findings:
        print(finding)
    print(total.measure(device="cpu", time_limit=0.5))


if __name__ == "__main__":
    main()
