"""Runs jitterscope, or a script of this folder, and gives its results; shared by the comparisons with PyTorch."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time

# The engine and its kernels are all that is wanted: one short round.
QUICK = ["--load", "burst", "--cache", "warm", "--min-rounds", "1", "--time-limit", "0.001", "--no-ceilings"]
PER_CALL = 60
STARTED = time.monotonic()
# As of jitterscope itself: 1 says that a comparison was made, and what it found.
COULD_NOT_RUN = 3


def show_progress(text):
    """In one line of a terminal, which the next call writes over."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)


def give_up(reason):
    """Ends the script: nothing was compared."""
    show_progress("")
    print(f"{sys.argv[0].rpartition('/')[2]}: {reason}", file=sys.stderr)
    sys.exit(COULD_NOT_RUN)


def positive(text):
    """For argparse."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 on")
    return int(text)


def import_torch():
    try:
        import torch
    except ImportError as error:
        give_up(f"{error}: this needs PyTorch; pip install torch")
    if not torch.cuda.is_available():
        give_up("PyTorch sees no GPU: python3 -c 'import torch; print(torch.cuda.is_available())' says False")
    return torch


def call(arguments, **options):
    show_progress(f"{time.monotonic() - STARTED:.0f} s: {' '.join(arguments)}")
    try:
        return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    except OSError as error:
        give_up(f"{arguments[0]} cannot be started: {error.strerror}")
    finally:
        show_progress("")


def run_json(arguments, accepted=(0, 4, 5)):
    # 4: measured, but not to the precision asked. 5: some operation failed; its result says which.
    done = call(arguments)
    if done.returncode in accepted:
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            pass
    give_up(f"{' '.join(arguments[:3])}…: exit status {done.returncode}: {done.stderr.strip()}")


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
    return call(["c++filt"], input="\n".join(names)).stdout.split("\n")[: len(names)]


def kernel_identities(names):
    """Names of kernels as two tracing tools agree on them."""
    plain = [re.sub(r"^(Memset|memset).*", "memset", re.sub(r"^(Memcpy|memcpy).*", "memcpy", n)) for n in names]
    return [re.sub(r"\s+", "", name) for name in demangled(plain)]
