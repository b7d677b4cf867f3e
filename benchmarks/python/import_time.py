#!/usr/bin/env python3
"""How long `import jitterscope` takes, in fresh processes, and whether it imports what a program may not need.

usage: import_time.py [--processes 21]
"""

import argparse
import json
import statistics
import subprocess
import sys

SCRIPT = """
import json, sys, time
wall, cpu, before = time.perf_counter(), time.process_time(), set(sys.modules)
import jitterscope
json.dump({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu,
           "heavy": sorted({"torch", "numpy", "cupy", "triton"} & (set(sys.modules) - before))}, sys.stdout)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=21)
    arguments = parser.parse_args()
    found = [json.loads(subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout)
             for _ in range(arguments.processes)]
    for clock in ("wall", "cpu"):
        times = sorted(each[clock] * 1e3 for each in found)
        print(f"{clock} time: median {statistics.median(times):.1f} ms, {times[0]:.1f} to {times[-1]:.1f} ms, "
              f"{len(times)} processes")
    heavy = sorted({name for each in found for name in each["heavy"]})
    print(f"imported with it: {', '.join(heavy) or 'none of torch, numpy, cupy, triton'}")
    return 1 if heavy else 0


if __name__ == "__main__":
    sys.exit(main())
