"""Sessions of pytest in fresh processes: each runs the tests that time something, and says what it found."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, IO, NamedTuple, Optional, Sequence

from ._program import environment
from ._verdict import Found

_ASKED, _ANSWER = "asked.json", "found.json"
_RAN = (0, 1, 5)  # of pytest: all passed, some failed, none was there
# Options of the asking session that are left out: a session that stops early or waits for a keyboard finds nothing.
_RUN_ALL: dict[str, Any] = {"maxfail": 0, "usepdb": False, "trace": False, "stepwise": False}

FoundByTest = dict[str, list[Found]]

# The folder with the tests to run and the times found; None where this process is no such session.
_folder: Optional[pathlib.Path] = None


class AskedSession:
    """In the fresh process: which tests run, and what they found."""

    def __init__(self, where: pathlib.Path, asked: dict[str, Any]) -> None:
        self.where = where
        self._tests = set(asked["tests"])
        self._found: dict[str, Found] = {}

    def keep_asked(self, items: list[Any]) -> None:
        """Keeps the tests that are asked for, of those collected."""
        items[:] = [item for item in items if item.nodeid in self._tests]

    def add(self, test: str, found: Found) -> None:
        """One time of a test."""
        self._found[test] = found

    def write(self) -> None:
        """For the process that asked."""
        (self.where / _ANSWER).write_text(json.dumps(self._found), encoding="utf-8")


def asked_session(config: Any) -> Optional[AskedSession]:
    """The session that another one asked this process for, or None."""
    if _folder is None:
        return None
    vars(config.option).update(_RUN_ALL)
    asked = json.loads((_folder / _ASKED).read_text(encoding="utf-8"))
    if "socket" not in asked:
        return AskedSession(_folder, asked)
    from ._pytest_pairs import PairedSession  # pylint: disable=import-outside-toplevel,cyclic-import
    return PairedSession(_folder, asked)


def _moved(text: str, root: pathlib.Path, other: pathlib.Path) -> str:
    """A path below `root` as it is below `other`, where that is there."""
    path = pathlib.Path(text)
    if not path.is_absolute() or (path != root and root not in path.parents):
        return text
    there = other / path.relative_to(root)
    return str(there) if there.exists() else text


def start_session(config: Any, asked: dict[str, Any], where: pathlib.Path, output: IO[str], root: pathlib.Path,
                  other: pathlib.Path, pass_fds: Sequence[int] = ()) -> "subprocess.Popen[str]":
    """Starts pytest as this session was started, for the code in `other` in place of that in `root`."""
    arguments = [_moved(str(each), root, other) for each in config.invocation_params.args]
    whole = {**asked, "path": [_moved(each, root, other) for each in sys.path], "arguments": arguments,
             "roots": [str(root), str(other)]}
    (where / _ASKED).write_text(json.dumps(whole), encoding="utf-8")
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return subprocess.Popen([sys.executable, *flags, "-m", "jitterscope", "pytest-process", str(where)],
                            cwd=_moved(str(config.invocation_params.dir), root, other), env=environment(),
                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, text=True, errors="replace",
                            pass_fds=pass_fds)


def why_ended(status: int, output: IO[str]) -> str:
    """How a session ended that did not run to its end, and what it said last; nothing if it did."""
    if status in _RAN:
        return ""
    output.seek(0)
    said = [line for line in output.read().splitlines() if line.strip()]
    return f"exit code {status}: {said[-1] if said else 'it said nothing'}"


class _Answer(NamedTuple):
    found: dict[str, Found]
    problem: str  # empty, or why there is nothing


def _one_session(config: Any, tests: list[str]) -> _Answer:
    root = pathlib.Path(config.rootpath)
    with tempfile.TemporaryDirectory(prefix="jitterscope-pytest-") as name, \
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        where = pathlib.Path(name)
        with start_session(config, {"tests": tests}, where, output, root, root) as process:
            status = process.wait()
        answer = where / _ANSWER
        problem = why_ended(status, output)
        if not problem and answer.exists():
            listed = json.loads(answer.read_text(encoding="utf-8"))
            return _Answer({test: Found(*found) for test, found in listed.items()}, "")
    return _Answer({}, f"a fresh process ended with {problem or 'nothing found'}")


def main(folder: str) -> int:
    """`python3 -m jitterscope pytest-process FOLDER`: pytest as the session that asks was started."""
    global _folder
    _folder = pathlib.Path(folder)
    asked = json.loads((_folder / _ASKED).read_text(encoding="utf-8"))
    sys.path[:] = asked["path"]
    import pytest  # pylint: disable=import-outside-toplevel
    return int(pytest.main(asked["arguments"]))


def found_in_fresh_processes(config: Any, tests: list[str], count: int) -> tuple[FoundByTest, str]:
    """Times in so many sessions, and why there are fewer, or nothing."""
    found: FoundByTest = {}
    for _ in range(count):
        answer = _one_session(config, tests)
        for test, each in answer.found.items():
            found.setdefault(test, []).append(each)
        if not answer.found:  # the next one finds nothing either
            return found, answer.problem
    return found, ""
