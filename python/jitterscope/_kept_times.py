"""Times that the plug-in of pytest keeps in a file from one session to the next."""

from __future__ import annotations

import json
import os
import pathlib
import re
import tempfile
from typing import Any, Optional, Sequence

from ._errors import FailedError, UsageError
from ._result import Time
from ._verdict import Found

FORMAT, VERSION = "jitterscope-benchmarks", 2
_NUMBER_OF_A_CALL = re.compile(r"#\d+$")  # of the second time of a test and later ones

Kept = dict[str, dict[str, Any]]  # by the test


def kept_time(time: Time, processes: Sequence[Found]) -> dict[str, Any]:
    """A time as it is kept, with the times in fresh processes."""
    return {"median": time.median, "device": time.device["name"], "processes": [list(each) for each in processes],
            "record": time.record}


def found_before(kept: dict[str, Any]) -> list[Found]:
    """The kept times in fresh processes."""
    return [Found(*each) for each in kept["processes"]]


def test_of(key: str) -> str:
    """The test that a time is of, which may have several."""
    return _NUMBER_OF_A_CALL.sub("", key)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def read_kept_times(path: pathlib.Path) -> Kept:
    """Raises UsageError about a file that is not there or that this version did not write."""
    anew = f"delete it, and --gpu-benchmark-save {path.stem} writes it anew"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} is not there; --gpu-benchmark-save {path.stem} writes it") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path} is not JSON; {anew}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f"{path} holds no benchmarks; {anew}")
    if document.get("version") != VERSION:
        raise UsageError(f"{path} is of version {document.get('version')}, and this jitterscope reads version {VERSION}: "
                         f"install the one that wrote it, or {anew}")
    benchmarks = document.get("benchmarks")
    if not isinstance(benchmarks, dict):
        raise UsageError(f"{path} (version {VERSION}) has no benchmarks; {anew}")
    for test, kept in benchmarks.items():
        problem = _problem(kept)
        if problem:
            raise UsageError(f"{path} (version {VERSION}): {test} has no {problem}; {anew}")
    return benchmarks


def _problem(kept: Any) -> str:
    """The name of what a kept time lacks, or nothing."""
    if not isinstance(kept, dict):
        return "time"
    if not _is_number(kept.get("median")) or not kept["median"] > 0:
        return "median"
    if not isinstance(kept.get("device"), str):
        return "device"
    processes = kept.get("processes")
    return "" if isinstance(processes, list) and all(map(_is_found, processes)) else "processes with times"


def _is_found(each: Any) -> bool:
    """Seconds above zero, of which the first is always there."""
    return (isinstance(each, list) and len(each) == len(Found._fields) and each[0] is not None
            and all(value is None or (_is_number(value) and value > 0) for value in each))


def why_not_written(path: pathlib.Path) -> Optional[str]:
    """A sentence where a file cannot be written that is to be written later; folders above it may have to be made."""
    if path.is_dir():
        return f"{path} is a folder, and a file is to be written there"
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return f"{folder} is a file, and a folder is needed there for {path}"
    wanted = path if path.exists() else folder
    return None if os.access(wanted, os.W_OK) else f"{path} cannot be written: {wanted} is not yours to write to"


def merged(before: Kept, measured: Kept) -> Kept:
    """The times of tests that were not run stay; of those that were, all times are the new ones."""
    run = set(map(test_of, measured))
    return {**{test: kept for test, kept in before.items() if test_of(test) not in run}, **measured}


def write_kept_times(path: pathlib.Path, benchmarks: Kept) -> None:
    """Raises FailedError where it cannot be written: the file is as it was, and the times stand elsewhere."""
    text = json.dumps({"format": FORMAT, "version": VERSION, "benchmarks": benchmarks}, allow_nan=False)
    complete = path.with_suffix(".part")
    try:
        path.parent.mkdir(exist_ok=True)
        complete.write_text(text, encoding="utf-8")
        complete.replace(path)
    except OSError as error:
        raise FailedError(f"{path} was not written ({error.strerror}); {_written_elsewhere(text, path.stem)}") from error


def _written_elsewhere(text: str, name: str) -> str:
    try:
        handle, path = tempfile.mkstemp(prefix=f"jitterscope-{name}-", suffix=".json")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"the times cannot be kept elsewhere either ({error.strerror})"
    return f"the times are in {path}"
