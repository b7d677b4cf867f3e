"""Pairs of sessions of pytest, one with other code: both are alive and take turns of some milliseconds, so that what a machine
does to one it does to the other."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional

from ._errors import MissingError, UsageError
from ._kept_times import test_of
from ._pytest_processes import AskedSession, start_session, why_ended

# Seconds of turns that a test has in one pair, both sides together. Pairs differ by 1 to 7 % however long they take turns
# (where memory lies decides), so that more pairs tell more than longer ones.
_SECONDS = 0.5
_FOREIGN = "foreign"  # a file of a session that has loaded the wrong code

RatiosByTest = dict[str, list[float]]  # logarithms, one of each pair of processes


# Below: the other code.


class Other(NamedTuple):
    """The other side of a comparison: a revision of the repository, or a folder that is another checkout."""

    name: str
    commit: str  # empty of a folder


def _git(root: pathlib.Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise MissingError("--gpu-benchmark-against needs git, or a folder with the other code") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise UsageError(f"--gpu-benchmark-against: git: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout.strip()


def other_code(root: pathlib.Path, name: str) -> Other:
    """Raises UsageError where it is neither a folder nor a revision."""
    folder = pathlib.Path(name).absolute()
    if folder.is_dir():
        if root in folder.parents:  # pytest takes a folder that is a word of its own for one with tests
            raise UsageError(f"--gpu-benchmark-against: the other code lies in {root}, where these tests begin; if that is not so, "
                             f"write --gpu-benchmark-against={name}")
        return Other(str(folder), "")
    _git(root, "rev-parse", "--git-dir")
    try:
        return Other(name, _git(root, "rev-parse", "--verify", "--end-of-options", name + "^{commit}"))
    except UsageError:
        raise UsageError(f"--gpu-benchmark-against {name}: no such revision here (git fetch brings others), and no such folder") from None


@contextlib.contextmanager
def checkout_of(root: pathlib.Path, other: Other) -> Iterator[pathlib.Path]:
    """The folder that is `root` in the other code. That of a revision is removed in the end."""
    if not other.commit:
        yield pathlib.Path(other.name)
        return
    top = pathlib.Path(_git(root, "rev-parse", "--show-toplevel"))
    with tempfile.TemporaryDirectory(prefix="jitterscope-against-") as name:
        place = pathlib.Path(name) / top.name
        _git(root, "worktree", "add", "--detach", "--force", str(place), other.commit)
        try:
            yield place / root.resolve().relative_to(top)
        finally:
            _git(root, "worktree", "remove", "--force", str(place))


# Below: the session that asks.


class _Side:
    """One of a pair: its process, and what it says line by line."""

    def __init__(self, config: Any, tests: list[str], where: pathlib.Path, other: pathlib.Path) -> None:
        where.mkdir()
        self.where = where
        self._output = open(where / "output", "w+", encoding="utf-8", errors="replace")
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = start_session(config, {"tests": tests, "socket": theirs.fileno()}, where, self._output,
                                          pathlib.Path(config.rootpath), other, pass_fds=[theirs.fileno()])
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self.tests: list[str] = []

    def begin(self) -> None:
        """Waits until it knows its tests."""
        self.tests = self.hear().get("tests", [])

    def hear(self) -> dict[str, Any]:
        """Nothing once it has ended."""
        text = ""
        with contextlib.suppress(ConnectionError):
            text = self._lines.readline()
        said: dict[str, Any] = json.loads(text) if text.endswith("\n") else {}
        return said

    def tell(self, word: str) -> None:
        """Sends the next order."""
        with contextlib.suppress(ConnectionError):
            self._socket.sendall((word + "\n").encode())

    def turn(self, core: Optional[int]) -> float:
        """Seconds that a call takes, on this core or on any; 0 if the process has ended."""
        self.tell("turn" if core is None else f"turn {core}")
        return float(self.hear().get("seconds", 0.0))

    def kill(self) -> None:
        """Ends it at once; nobody waits for its answer."""
        self._process.kill()

    def end(self) -> str:
        """Why it ended before its end, or nothing."""
        problem = why_ended(self._process.wait(), self._output)
        self._lines.close()
        self._socket.close()
        self._output.close()
        return problem


def _ratio(sides: list[_Side], least: int, is_alone: bool, draw: random.Random) -> Optional[float]:
    """The logarithm of this code's time over the other's: the median over turns that lie beside each other, on one core."""
    logarithms: list[float] = []
    cores = sorted(os.sched_getaffinity(0))
    end = time.monotonic() + _SECONDS
    while len(logarithms) < least or time.monotonic() < end:
        first, core = draw.randrange(2), draw.choice(cores) if is_alone else None
        taken = {place: sides[place].turn(core) for place in (first, 1 - first)}
        if min(taken.values()) <= 0:
            return None
        logarithms.append(math.log(taken[0] / taken[1]))
    return statistics.median(logarithms)


def _behind(tests: list[str], test: str, other: str) -> bool:
    """Whether a side that is at `other` will still come to `test`."""
    return test in tests and (other not in tests or tests.index(test) > tests.index(other))


def _take_turns(sides: list[_Side]) -> dict[str, float]:
    found: dict[str, float] = {}
    draw = random.Random()
    at = [side.hear() for side in sides]
    while all(at):
        names = [each["at"] for each in at]
        if names[0] == names[1]:
            is_alone = all(each["alone"] for each in at)
            ratio = _ratio(sides, at[0]["least"], is_alone, draw) if at[0]["least"] == at[1]["least"] else None
            if ratio is not None:
                found[names[0]] = ratio
            done = [0, 1]
        else:  # whoever waits for one that the other has not, or has passed
            tests = [each["test"] for each in at]
            done = [place for place in (0, 1) if not _behind(sides[1 - place].tests, tests[place], tests[1 - place])] or [0]
        for place in done:
            sides[place].tell("go")
            at[place] = sides[place].hear()
    for place in (0, 1):
        while at[place]:
            sides[place].tell("go")
            at[place] = sides[place].hear()
    return found


def _one_pair(config: Any, tests: list[str], other: pathlib.Path) -> tuple[dict[str, float], str]:
    with tempfile.TemporaryDirectory(prefix="jitterscope-pytest-") as name:
        sides: list[_Side] = []
        try:
            for code, place in (("this", pathlib.Path(config.rootpath)), ("other", other)):
                sides.append(_Side(config, tests, pathlib.Path(name) / code, place))
            for side in sides:
                side.begin()
            found = _take_turns(sides)
        except BaseException:
            for side in sides:
                side.kill()
            raise
        finally:
            problems = [side.end() for side in sides]
        foreign = sides[1].where / _FOREIGN
        if foreign.exists():
            return {}, foreign.read_text(encoding="utf-8")
        said = [f"a process of {side.where.name} code ended with {problem}" for side, problem in zip(sides, problems) if problem]
        return found, said[0] if said else ""


def ratios_in_pairs(config: Any, tests: list[str], count: int, other: pathlib.Path) -> tuple[RatiosByTest, str]:
    """One ratio of each test from each of so many pairs of sessions, and why there is less than that, or nothing."""
    found: RatiosByTest = {}
    for _ in range(count):
        ratios, problem = _one_pair(config, tests, other)
        for test, ratio in ratios.items():
            found.setdefault(test, []).append(ratio)
        if not ratios:  # the next one finds nothing either
            return found, problem or "no test is timed by both codes"
    return found, ""


# Below: a session of a pair.


class PairedSession(AskedSession):
    """Which tests run, and turns of what they time."""

    def __init__(self, where: pathlib.Path, asked: dict[str, Any]) -> None:
        super().__init__(where, asked)
        self._socket = socket.socket(fileno=asked["socket"])
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self._roots = [pathlib.Path(each) for each in asked["roots"]]
        self._ballast: list[bytearray] = []

    def keep_asked(self, items: list[Any]) -> None:
        super().keep_asked(items)
        self._say({"tests": [item.nodeid for item in items]})

    def take_turns(self, key: str, turn: Callable[[Optional[int]], float], least: int, is_alone: bool) -> None:
        """Until the session that asks has enough of them; at least so many. What works in one thread alone is told a core."""
        foreign = self._foreign_module()
        if foreign:
            (self.where / _FOREIGN).write_text(foreign, encoding="utf-8")
            os._exit(3)
        self._say({"at": key, "test": test_of(key), "least": least, "alone": is_alone})
        while (words := self._lines.readline().split())[:1] == ["turn"]:
            self._move_allocations()
            self._say({"seconds": turn(int(words[1]) if len(words) > 1 else None)})

    def write(self) -> None:
        """All is said."""

    def _move_allocations(self) -> None:
        """Sides differ by their folders' names, too, and so by where all lies that they allocate: where that is by chance, turns
        differ by it and sides do not (Curtsinger and Berger, Stabilizer: Statistically Sound Performance Evaluation)."""
        self._ballast = [bytearray(random.randrange(1, 1 << 15)) for _ in range(random.randrange(32))]

    def _say(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):
            self._socket.sendall((json.dumps(message) + "\n").encode())

    def _foreign_module(self) -> str:
        """A sentence where the other code's session has loaded a module of this one's, as one that is installed from here.

        Both sides look, though one knows: where only the other did, its allocations made a copy of 400 kB 10 % slower."""
        root, own = self._roots
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not file or name.partition(".")[0] == "jitterscope":
                continue
            path = pathlib.Path(file)
            if root in path.parents and own not in path.parents and not {"site-packages", "dist-packages"} & set(path.parts):
                return (f"the other code would be timed with this one's {name} ({path}), which Python finds first; let tests "
                        "import it from their own checkout (pythonpath in pytest's settings, or a conftest.py beside it)")
        return ""
