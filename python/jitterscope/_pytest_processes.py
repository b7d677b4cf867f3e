"""Sessions of pytest in fresh processes: each runs the tests that time something, and says what it found."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple, Optional

from ._program import environment
from ._verdict import Found

_ASKED, _ANSWER = "asked.json", "found.json"
_RAN = (0, 1, 5)  # of pytest: all passed, some failed, none was there
# Of what the session itself was asked: one that stops early or waits for a keyboard finds nothing.
_RUN_ALL: dict[str, Any] = {"maxfail": 0, "usepdb": False, "trace": False, "stepwise": False}

FoundByTest = dict[str, list[Found]]

# Where this process reads what to run and writes what it finds; None where it is no such session.
_folder: Optional[pathlib.Path] = None


class AskedSession:
    """In the fresh process: which tests run, and what they found."""

    def __init__(self, where: pathlib.Path) -> None:
        self._where = where
        self._tests = set(json.loads((where / _ASKED).read_text(encoding="utf-8"))["tests"])
        self._found: dict[str, Found] = {}

    def keep_asked(self, items: list[Any]) -> None:
        """Of all tests that were collected those that are asked for."""
        items[:] = [item for item in items if item.nodeid in self._tests]

    def add(self, test: str, found: Found) -> None:
        """One time of a test."""
        self._found[test] = found

    def write(self) -> None:
        """For the process that asked."""
        (self._where / _ANSWER).write_text(json.dumps(self._found), encoding="utf-8")


def asked_session(config: Any) -> Optional[AskedSession]:
    """Of this process; None where it is no such session."""
    if _folder is None:
        return None
    vars(config.option).update(_RUN_ALL)
    return AskedSession(_folder)


class _Answer(NamedTuple):
    found: dict[str, Found]
    problem: str  # empty, or why there is nothing


def _one_session(config: Any, tests: list[str]) -> _Answer:
    with tempfile.TemporaryDirectory(prefix="jitterscope-pytest-") as name:
        where = pathlib.Path(name)
        asked = {"tests": tests, "path": sys.path, "arguments": [str(each) for each in config.invocation_params.args]}
        (where / _ASKED).write_text(json.dumps(asked), encoding="utf-8")
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        done = subprocess.run([sys.executable, *flags, "-m", "jitterscope", "pytest-process", name],
                              cwd=config.invocation_params.dir, env=environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        answer = where / _ANSWER
        if done.returncode in _RAN and answer.exists():
            listed = json.loads(answer.read_text(encoding="utf-8"))
            return _Answer({test: Found(*found) for test, found in listed.items()}, "")
    said = [line for line in done.stdout.splitlines() if line.strip()]
    return _Answer({}, f"a fresh process ended with exit code {done.returncode}: {said[-1] if said else 'it said nothing'}")


def main(folder: str) -> int:
    """`python3 -m jitterscope pytest-process FOLDER`: pytest as the session that asks was started."""
    global _folder
    _folder = pathlib.Path(folder)
    asked = json.loads((_folder / _ASKED).read_text(encoding="utf-8"))
    sys.path[:] = asked["path"]
    import pytest  # pylint: disable=import-outside-toplevel
    return int(pytest.main(asked["arguments"]))


def found_in_fresh_processes(config: Any, tests: list[str], count: int) -> tuple[FoundByTest, str]:
    """What each of so many sessions found, and why there is less than that, or nothing."""
    found: FoundByTest = {}
    for _ in range(count):
        answer = _one_session(config, tests)
        for test, each in answer.found.items():
            found.setdefault(test, []).append(each)
        if not answer.found:  # the next one finds nothing either
            return found, answer.problem
    return found, ""
