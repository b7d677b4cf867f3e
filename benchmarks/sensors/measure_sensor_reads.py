#!/usr/bin/env python3
"""What each read of NVIDIA's management library costs on this machine, of the reads that a round of jitterscope makes.

usage: measure_sensor_reads.py [--reads 200]

Prints a Markdown table: host time of each read behind another one, and behind a sleep of 20 ms.
"""

import argparse
import ctypes
import statistics
import time

CLOCK_SM, CLOCK_MEMORY = 1, 2
# Instant power, energy, and the times throttled by power cap, software, hardware and power brake.
FIELDS = {"power": 186, "energy": 83, "power cap": 74, "software thermal": 269, "hardware thermal": 270,
          "power brake": 271}


class FieldValue(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency", ctypes.c_longlong), ("type", ctypes.c_int), ("result", ctypes.c_int),
                ("value", ctypes.c_ulonglong)]


def reads_of(nvml, device):
    """Each read as a function, by its name."""
    number, long_number = ctypes.c_uint(), ctypes.c_ulonglong()

    def fields(numbers):
        values = (FieldValue * len(numbers))()
        for value, field in zip(values, numbers):
            value.field = field
        return lambda: nvml.nvmlDeviceGetFieldValues(device, len(numbers), values)

    reads = {
        "SM clock": lambda: nvml.nvmlDeviceGetClockInfo(device, CLOCK_SM, ctypes.byref(number)),
        "memory clock": lambda: nvml.nvmlDeviceGetClockInfo(device, CLOCK_MEMORY, ctypes.byref(number)),
        "temperature": lambda: nvml.nvmlDeviceGetTemperature(device, 0, ctypes.byref(number)),
        "clock reasons": lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(device, ctypes.byref(long_number)),
        "six fields at once": fields(list(FIELDS.values())),
    }
    return reads | {f"field: {name}": fields([field]) for name, field in FIELDS.items()}


def median_microseconds(read, reads, pause):
    times = []
    for _ in range(reads):
        time.sleep(pause)
        start = time.perf_counter()
        read()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=int, default=200)
    options = parser.parse_args()
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    device = ctypes.c_void_p()
    if nvml.nvmlInit_v2() != 0 or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) != 0:
        raise SystemExit("measure_sensor_reads: NVML finds no GPU here")
    print("| read | behind another | behind 20 ms |\n|---|--:|--:|")
    for name, read in reads_of(nvml, device).items():
        behind_another = median_microseconds(read, options.reads, 0)
        behind_a_sleep = median_microseconds(read, min(50, options.reads), 0.02)
        print(f"| {name} | {behind_another:.1f} µs | {behind_a_sleep:.1f} µs |")


if __name__ == "__main__":
    main()
