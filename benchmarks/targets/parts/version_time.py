"""How long `jitterscope --version` takes."""

import statistics
import subprocess
import time

import tables

TARGET_SECONDS = 0.020
RUNS = 20
LIMIT_SECONDS = 10.0


def time_runs(command):
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        # Not processes.run: what it polls and reads would be a part of so short a time.
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                       timeout=LIMIT_SECONDS)
        seconds.append(time.perf_counter() - start)
    return seconds


def measure(session):
    version = session.run([session.jitterscope, "--version"], LIMIT_SECONDS).stdout.strip()
    try:
        return {"version": version, "seconds": time_runs([session.jitterscope, "--version"]),
                "floor_seconds": time_runs(["true"])}
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"jitterscope --version: {error}") from error


def rows(raw):
    what, target = "`jitterscope --version`", "under 20 ms"
    if "failed" in raw:
        return [tables.failed_row(what, target, raw)]
    median, floor = (statistics.median(raw[key]) for key in ("seconds", "floor_seconds"))
    text = f"{median * 1e3:.1f} ms (median of {len(raw['seconds'])}; `true` takes {floor * 1e3:.1f} ms here)"
    return [tables.Row(what, target, text, median < TARGET_SECONDS)]


def details(_raw):
    return ""
