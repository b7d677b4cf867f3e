"""A plan that `jitterscope` made, carried out by this process: JSON on its standard input, a record on its output."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from typing import Any, Callable

from . import _command
from ._benchmark import Case, add_parameters, add_results
from ._device import open_device
from ._errors import INTERRUPTED, Error, FailedError, UsageError, exit_code_of
from ._measure import measure_record
from ._targets import cases

_WORDS = {2: "usage", 3: "missing", 5: "failed", INTERRUPTED: "interrupted"}  # of exit codes, as errors are written
PLAN_FORMAT, PLAN_VERSION = "jitterscope-plan", 1
_PR_SET_PDEATHSIG = 1


def _end_with_parent(parent: int) -> None:
    if parent == 0:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise FailedError("the process that made the plan has ended")


def _read_plan(text: str) -> dict[str, Any]:
    try:
        plan: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise UsageError(f"plan: this is not JSON ({error})") from error
    if not isinstance(plan, dict) or plan.get("format") != PLAN_FORMAT:
        raise UsageError("plan: `jitterscope run python:FILE` makes plans")
    if plan.get("version") != PLAN_VERSION:
        raise UsageError(f"plan: of another version than {PLAN_VERSION}: install one jitterscope, program and module")
    return plan


def _side_by_side(group: list[dict[str, Any]]) -> list[tuple[list[Case], dict[str, Any]]]:
    """For each case the functions that are timed beside each other; one alternative's alone."""
    # An empty text is left out of a plan.
    targets = [str(trial.get("callable", "")) for trial in group]
    found = [cases(target) for target in targets]
    if len({len(each) for each in found}) > 1:
        counts = ", ".join(f"{target} has {len(each)}" for target, each in zip(targets, found))
        raise UsageError(f"the compared functions have different numbers of cases: {counts}")
    # Cases of the same name would read the same in a comparison.
    return [(list(alternatives), group[0]["options"]) for alternatives in zip(*found)]


def _failure(failed: list[Case], error: BaseException) -> list[dict[str, Any]]:
    """Results without times. Their parameters say which cases they are of, as a gate must know."""
    sentence = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return [{"operation": case.name, "is_callable": True, "parameters": case.parameters, "failure": sentence}
            for case in failed]


def _carry_out(plan: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    work = [pair for group in plan["groups"] for pair in _side_by_side(group)]
    device = open_device(plan["device"])
    whole: dict[str, Any] = {}
    failures: list[dict[str, Any]] = []  # before anything was measured
    for number, (alternatives, options) in enumerate(work, 1):
        names = [case.name for case in alternatives]
        tell(f"[{number}/{len(work)}] {' and '.join(dict.fromkeys(names))}")
        try:
            made = [(case.name, case.make()) for case in alternatives]
            record = measure_record(made, device, options)
        except Error as error:
            failed, why = _failure(alternatives, error), error
        except Exception as error:
            traceback.print_exc()
            failed, why = _failure(alternatives, error), FailedError(f"{names[0]}: {type(error).__name__}: {error}")
        else:
            add_parameters(record, alternatives)
            record["results"] = failures + record["results"]
            failures = []
            add_results(whole, record)
            continue
        if whole:
            whole["results"] += failed
        else:
            failures += failed
            if number == len(work):
                raise why
    return whole


def answer(work: Callable[[str, Callable[[str], None]], dict[str, Any]]) -> int:
    """Hands work what stands on the standard input and how to tell of progress, and writes what it gives.

    The exit code is that of the command line; an error is written in place of the answer.
    """
    # Text that the callables print is no part of the record.
    sys.stdout.flush()
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so the one that waits for us ends us
    _command.in_worker = True
    code, message, given = 0, "", {}
    try:
        given = work(sys.stdin.read(), lambda line: print(line, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        code, message = INTERRUPTED, "interrupted"
    except Error as error:
        code, message = exit_code_of(error), str(error)
    except Exception as error:
        traceback.print_exc()
        code, message = 5, f"{type(error).__name__}: {error}"
    if code != 0:
        given = {"format": "jitterscope-error", "exit_code": _WORDS[code], "message": message}
    json.dump(given, output)
    output.write("\n")
    output.flush()
    return code


def _plan(text: str, tell: Callable[[str], None]) -> dict[str, Any]:
    plan = _read_plan(text)
    _end_with_parent(int(plan.get("parent", 0)))
    return _carry_out(plan, tell)


def main() -> int:
    """`python3 -m jitterscope worker`"""
    return answer(_plan)
