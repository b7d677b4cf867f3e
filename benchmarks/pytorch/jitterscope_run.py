"""Runs jitterscope and gives its results; shared by the comparisons with PyTorch."""

import json
import re
import subprocess
import sys

# The engine and its kernels are all that is wanted: one short round.
QUICK = ["--load", "burst", "--cache", "warm", "--min-rounds", "1", "--time-limit", "0.001", "--no-ceilings"]
PER_CALL = 60


def run_json(arguments):
    # 4: measured, but not to the precision asked. 5: some operation failed; its result says which.
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 4, 5):
        sys.exit(f"{' '.join(arguments[:3])}…: exit status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def run_operations(options, operations, flags):
    """One result for each operation, in their order."""
    results = []
    for start in range(0, len(operations), PER_CALL):
        part = operations[start : start + PER_CALL]
        command = [options.jitterscope, "run", *part, "--device", options.device, *flags, "--json", "-"]
        results += run_json(command)["results"]
    return results


def demangled(names):
    """As c++filt writes them: kineto leaves the longest names mangled."""
    text = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True).stdout
    return text.split("\n")[: len(names)]


def kernel_identities(names):
    """Names of kernels as two tracing tools agree on them."""
    plain = [re.sub(r"^(Memset|memset).*", "memset", re.sub(r"^(Memcpy|memcpy).*", "memcpy", n)) for n in names]
    return [re.sub(r"\s+", "", name) for name in demangled(plain)]
