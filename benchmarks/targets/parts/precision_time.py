"""How long it takes to know one time to ± 0.5 %."""

import jitterscope_runs
import tables
from problems import PROBLEMS

TITLE = "Time to ± 0.5 %"
TARGET_SECONDS = 0.7
TARGET_PRECISION = 0.005
LIMIT_SECONDS = 60.0


def run_one(session, problem):
    raw = jitterscope_runs.run(session, [problem.operation], ["--cache", "warm", "--load", "burst"], LIMIT_SECONDS)
    result = raw["document"]["results"][0]
    raw["reading"] = jitterscope_runs.reading(result)
    raw["first_call_seconds"] = result["first_call_seconds"]
    raw["prepare_seconds"] = result["prepare_seconds"]
    return raw


def measure(session):
    return {problem.name: session.attempt(f"time to precision: {problem.label}", lambda: run_one(session, problem))
            for problem in PROBLEMS}


def is_met(reading):
    if reading["precision"] is None:
        return False
    return reading["duration_seconds"] <= TARGET_SECONDS and reading["precision"] <= TARGET_PRECISION


def rows(raw):
    what, target = "time to ± 0.5 %, burst and warm, after the first call", "at most 0.7 s each"
    if "failed" in raw:
        return [tables.failed_row(what, target, raw)]
    found = []
    for problem in PROBLEMS:
        one = raw[problem.name]
        label = f"{what}: {problem.label}"
        if "failed" in one:
            found.append(tables.failed_row(label, target, one))
            continue
        reading = one["reading"]
        text = f"{reading['duration_seconds']:.2f} s, to ± {tables.percent(reading['precision'])}"
        found.append(tables.Row(label, target, text, is_met(reading)))
    return found


def details(raw):
    if "failed" in raw:
        return ""
    headings = ["operation", "measuring (s)", "precision reached", "rounds", "stopped by", "instrument",
                "first call (s)", "prepare (s)", "whole process (s)"]
    lines = []
    for problem in PROBLEMS:
        one = raw[problem.name]
        if "failed" in one:
            lines.append([problem.label, f"failed: {one['failed']}", *[tables.NOT_MEASURED] * 7])
            continue
        reading = one["reading"]
        lines.append([problem.label, f"{reading['duration_seconds']:.2f}", f"± {tables.percent(reading['precision'])}",
                      reading["rounds"], reading["stop_reason"], reading["instrument"],
                      f"{one['first_call_seconds']:.3f}", f"{one['prepare_seconds']:.3f}",
                      f"{one['wall_seconds']:.2f}"])
    return "One operation per process.\n\n" + tables.table(headings, lines)
