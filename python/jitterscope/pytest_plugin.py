"""For pytest: the fixture gpu_benchmark times a callable, keeps its time, and compares it with one that was kept.

A time that is kept or compared is measured in fresh processes, too: what one process finds the next one seldom finds
again, and a verdict is about what they find.
"""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import Any, Callable, NamedTuple, Optional, Union

import pytest

from ._device import default_device, open_device
from ._errors import Error, MissingError, UsageError
from ._fresh_times import Turns, found_on_cpu
from ._kept_times import (Kept, found_before, kept_time, merged, read_kept_times, test_of, why_not_written,
                          write_kept_times)
from ._measure import devices, measure
from ._options import CACHES, LOADS, words
from ._pytest_pairs import PairedSession, checkout_of, other_code, ratios_in_pairs
from ._pytest_processes import AskedSession, FoundByTest, asked_session, found_in_fresh_processes
from ._report import write_report
from ._result import Time
from ._text import change_text, change_with_interval, interval_text, time_text, with_values
from ._verdict import FEWEST, Found, Looks, Verdict

FOLDER = ".jitterscope"
_MARGIN = 0.02  # where no limit is given: as of a gate
_PROCESSES = 16  # of fewer, a true 5 % is missed more often than one time in twenty on a busy CPU
_MOST_PROCESSES = 1000
_TURNS_OF_GPU = 2  # of a pair, each a whole measurement
_QUICK = 0.02  # seconds of js.measure in a fresh process on a CPU: a test may look at its time, no verdict does


class Line(NamedTuple):
    """One test's line of the table at the end."""

    test: str
    time: Time
    verdict: Optional[Verdict]  # None where there is none
    remark: str


def _percent(text: str) -> float:
    match = re.fullmatch(r"slower:(\d+(?:\.\d+)?)%?", text)
    if match is None:
        raise UsageError(f"--gpu-benchmark-fail {text}: write slower:2%, for what is slower by more than 2 %")
    return float(match.group(1)) / 100


def _file(root: pathlib.Path, name: str) -> pathlib.Path:
    if not re.fullmatch(r"[\w.-]+", name):
        raise UsageError(f"--gpu-benchmark-save/compare {name}: a name of letters, digits, '.', '_' and '-'")
    return root / FOLDER / f"{name}.json"


def _writable(option: str, path: pathlib.Path) -> pathlib.Path:
    problem = why_not_written(path)
    if problem is not None:
        raise UsageError(f"{option}: {problem}")
    return path


def _processes(text: str) -> int:
    if not text.isdecimal() or not FEWEST <= int(text) <= _MOST_PROCESSES:
        raise UsageError(f"--gpu-benchmark-processes {text}: {FEWEST} to {_MOST_PROCESSES}; fewer cannot decide anything")
    return int(text)


def _counted(tests: list[str]) -> str:
    return f"{len(tests)} {'test' if len(tests) == 1 else 'tests'}"


def _remark(verdict: Optional[Verdict]) -> str:
    if verdict is None:
        return "no fresh process timed it"
    change = abs(verdict.machine - 1)
    if verdict.word != "undecided" or change < _MARGIN / 2:
        return verdict.word
    return f"{verdict.word}: the machine itself is {'slower' if verdict.machine > 1 else 'faster'}, {change_text(verdict.machine)}"


class Benchmarks:
    """The times of all tests of a session."""

    def __init__(self, config: pytest.Config) -> None:
        self.lines: list[Line] = []
        self.saved: Kept = {}
        self.found: FoundByTest = {}  # by fresh processes
        self.looks: dict[str, Looks] = {}
        self.failures: list[str] = []  # of what was to be done beside the tests
        root = pathlib.Path(config.rootpath)
        save, compare = config.getoption("gpu_benchmark_save"), config.getoption("gpu_benchmark_compare")
        against = config.getoption("gpu_benchmark_against")
        report, limit = config.getoption("gpu_benchmark_report"), config.getoption("gpu_benchmark_fail")
        self.processes = _processes(config.getoption("gpu_benchmark_processes"))
        self.limit = _percent(limit) if limit else None
        if self.limit is not None and not (compare or against):
            raise UsageError("--gpu-benchmark-fail needs what to compare with: --gpu-benchmark-against REVISION, or "
                             "--gpu-benchmark-compare NAME")
        if against and (save or compare):
            raise UsageError("--gpu-benchmark-against times the other code in this session: leave --gpu-benchmark-save and "
                             "--gpu-benchmark-compare to another one")
        if (save or compare or against) and config.getoption("numprocesses", None):
            raise UsageError("--gpu-benchmark-save, -compare and -against take tests one after the other, since those beside "
                             "each other are slower: leave out -n of pytest-xdist, or add -n 0")
        self.other = other_code(root, against) if against else None
        self.before = read_kept_times(_file(root, compare)) if compare else {}
        self.save_to = _writable("--gpu-benchmark-save", _file(root, save)) if save else None
        self.stay: Kept = {}  # what the file to save to has
        if self.save_to is not None and self.save_to.exists():
            self.stay = read_kept_times(self.save_to)
        # A test may change the folder.
        self.report_to = _writable("--gpu-benchmark-report", pathlib.Path(report).absolute()) if report else None
        if self.report_to is not None and not self.report_to.parent.is_dir():
            raise UsageError(f"--gpu-benchmark-report: {self.report_to.parent} is not there; make the folder first")

    def ask_fresh_processes(self, config: pytest.Config, tests: list[str], tell: Callable[[str], None]) -> None:
        """Before the tests: what is found of them, and what is said of it."""
        if self.other is not None:
            self._ask_pairs(config, tests, tell)
            return
        if self.save_to is None:
            known = set(map(test_of, self.before))
            tests = [test for test in tests if test in known]  # nothing is said of the others

        def ask(asked: list[str]) -> tuple[FoundByTest, str]:
            found, problem = found_in_fresh_processes(config, asked, self.processes)
            for test, each in found.items():
                self.found.setdefault(test, []).extend(each)
            return found, problem

        def looks_at(test: str) -> Optional[Looks]:
            return Looks.at_processes(found_before(self.before[test]), self._margin) if test in self.before else None

        if tests:
            tell(f"{_counted(tests)} in {self.processes} fresh processes")
        self._look(tests, ask, looks_at, lambda again: tell(f"{self.processes} more processes for {again}"))

    def _ask_pairs(self, config: pytest.Config, tests: list[str], tell: Callable[[str], None]) -> None:
        assert self.other is not None
        if not tests:
            return
        try:
            with checkout_of(pathlib.Path(config.rootpath), self.other) as other:
                tell(f"{_counted(tests)} in {self.processes} pairs of processes, with this code and with that of "
                     f"{self.other.name}")
                self._look(tests, lambda asked: ratios_in_pairs(config, asked, self.processes, other),
                           lambda _: Looks.at_pairs(self._margin),
                           lambda again: tell(f"{self.processes} more pairs for {again}"))
        except Error as error:
            self.failures.append(str(error))

    @property
    def _margin(self) -> float:
        return _MARGIN if self.limit is None else self.limit

    def _look(self, tests: list[str], ask: Callable[[list[str]], tuple[dict[str, list[Any]], str]],
              looks_at: Callable[[str], Optional[Looks]], tell: Callable[[str], None]) -> None:
        """Asks for what is found of tests until no time of theirs wants more."""
        wanted: Optional[list[str]] = None  # of times; None: all that are found
        while tests and not self.failures:
            found, problem = ask(tests)
            for test, each in found.items():
                looks = looks_at(test) if wanted is None else self.looks[test] if test in wanted else None
                if looks is not None:
                    self.looks[test] = looks
                    looks.look(each)
            if problem:
                self.failures.append(f"gpu_benchmark: {problem}")
                return
            wanted = [test for test in found if test in self.looks and self.looks[test].wants_more]
            tests = sorted(set(map(test_of, wanted)))
            if tests:
                tell(f"tests that seem to have changed: {', '.join(wanted)}")

    def time(self, test: str, function: Callable[[], Any], device: str, conditions: dict[str, Any]) -> Time:
        """Measures in this process; the test fails where fresh ones have shown that it is slower."""
        time = measure(function, device=device, **conditions)
        line = self._add(test, time)
        if self.limit is not None and line.remark == "slower" and line.verdict is not None:
            pytest.fail(f"{test}: slower than {self.other.name if self.other else 'what was kept'}, {_change_cell(line)} in "
                        f"{len(self.looks[test].now)} {'pairs of' if self.other else 'fresh'} processes, and "
                        f"{self.limit * 100:.3g} % is the limit", pytrace=False)
        return time

    def _add(self, test: str, time: Time) -> Line:
        self.saved[test] = kept_time(time, self.found.get(test, []))
        before = self.before.get(test)
        verdict = None
        if self.other is not None:
            verdict = self.looks[test].verdict if test in self.looks else None
            line = Line(test, time, verdict, _remark(verdict) if verdict else f"not timed by both, this and {self.other.name}")
            self.lines.append(line)
            return line
        remark = "" if before or not self.before else "not in the record"
        if before and before["device"] != time.device["name"]:
            remark, before = "another device", None
        if before:
            verdict = self.looks[test].verdict if test in self.looks else None
            remark = _remark(verdict)
        line = Line(test, time, verdict, remark)
        self.lines.append(line)
        return line

    def write(self) -> None:
        """The times first: a page can be made of them later."""
        if self.save_to is not None and self.saved:
            try:
                write_kept_times(self.save_to, merged(self.stay, self.saved))
            except Error as error:
                self.failures.append(f"--gpu-benchmark-save: {error}")
        if self.report_to is not None and self.lines:
            try:
                write_report([line.time.record for line in self.lines], "--output", str(self.report_to))
            except (Error, OSError) as error:
                self.failures.append(f"--gpu-benchmark-report: {error}")


class FreshBenchmarks:
    """The same of a session that a fresh process runs for another one."""

    def __init__(self, session: AskedSession) -> None:
        self.session = session

    def time(self, test: str, function: Callable[[], Any], device: str, conditions: dict[str, Any]) -> Time:
        """Measures what verdicts are about."""
        cache, load = conditions.get("cache", "warm"), conditions.get("load", "burst")
        is_usual = words("cache", cache, CACHES)[0] == "warm" and words("load", load, LOADS)[0] == "burst"
        by_thread = is_usual and open_device(device).ordinal is None
        if by_thread:
            conditions = {**conditions, "time_limit": min(_QUICK, conditions.get("time_limit", _QUICK))}
        time = measure(function, device=device, **conditions)
        if isinstance(self.session, PairedSession):
            if by_thread:
                turns = Turns(function)
                self.session.take_turns(test, turns.take, Turns.FEWEST, turns.is_alone)
            else:
                self.session.take_turns(test, lambda _: measure(function, device=device, **conditions).median, _TURNS_OF_GPU, False)
        else:
            self.session.add(test, found_on_cpu(function) if by_thread else Found(time.median))
        return time


_BENCHMARKS = pytest.StashKey[Union[Benchmarks, FreshBenchmarks]]()


def benchmarks_of(config: pytest.Config) -> Optional[Benchmarks]:
    """A session's times, for a conftest.py that reads them in the end; None in a session that a fresh process runs."""
    found = config.stash.get(_BENCHMARKS, None)
    return found if isinstance(found, Benchmarks) else None


class GpuBenchmark:
    """The fixture: called with what is timed and with conditions as of jitterscope.measure; gives a Time."""

    def __init__(self, benchmarks: Union[Benchmarks, FreshBenchmarks], test: str) -> None:
        self._benchmarks = benchmarks
        self._test = test
        self._count = 0

    def __call__(self, function: Callable[[], Any], *, device: Optional[str] = None, **conditions: Any) -> Time:
        """Without a device on the GPU that PyTorch uses, or the first; the test is skipped where there is none."""
        __tracebackhide__ = True
        if device is None:
            used = default_device()
            device = used if used.startswith("cuda") else "cuda:0"
        if device.startswith("cuda"):
            _need_gpu(device)
        self._count += 1
        test = self._test if self._count == 1 else f"{self._test}#{self._count}"
        conditions.setdefault("name", test.rpartition("::")[2])
        try:
            return self._benchmarks.time(test, function, device, conditions)
        except Error as error:
            # The sentence and the line of the test say it all.
            raise error.with_traceback(None) from None


def _need_gpu(device: str) -> None:
    try:
        problems = [each["problem"] for each in devices() if each["id"].startswith("cuda")]
    except MissingError as error:
        problems = [str(error)]
    if problems and all(problems):
        pytest.skip(f"gpu_benchmark: {device} cannot be used: {problems[0]}")


@pytest.fixture
def gpu_benchmark(request: pytest.FixtureRequest) -> GpuBenchmark:
    """Times a callable: `gpu_benchmark(lambda: f(x), cache="cold")` gives a jitterscope.Time."""
    return GpuBenchmark(request.config.stash[_BENCHMARKS], request.node.nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpu-benchmark", "jitterscope")
    group.addoption("--gpu-benchmark-save", metavar="NAME",
                    help=f"keep all times in {FOLDER}/NAME.json; those of tests that are not run stay in it")
    group.addoption("--gpu-benchmark-compare", metavar="NAME", help="compare with the times kept under this name")
    group.addoption("--gpu-benchmark-against", metavar="REVISION",
                    help="compare with the code of a revision of git, or of a folder, in pairs of processes that take turns")
    group.addoption("--gpu-benchmark-fail", metavar="slower:PERCENT",
                    help="fail a test that is shown to be slower by more than this, as slower:2%%")
    group.addoption("--gpu-benchmark-processes", metavar="N", default=str(_PROCESSES),
                    help=f"number of fresh processes, or pairs of them, that measure what is kept or compared (default: {_PROCESSES})")
    group.addoption("--gpu-benchmark-report", metavar="FILE.html", help="write a page with plots of all times")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    asked = asked_session(config)
    try:
        config.stash[_BENCHMARKS] = Benchmarks(config) if asked is None else FreshBenchmarks(asked)
    except (MissingError, UsageError) as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    benchmarks = config.stash.get(_BENCHMARKS, None)
    if isinstance(benchmarks, FreshBenchmarks):
        benchmarks.session.keep_asked(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Fresh processes run before the tests, which may hold memory of a GPU for the rest of the session."""
    config = session.config
    benchmarks = benchmarks_of(config)
    if benchmarks is None or session.testsfailed or config.getoption("collectonly"):
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")

    def tell(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"gpu benchmarks: {line}")

    tests = [item.nodeid for item in session.items if "gpu_benchmark" in getattr(item, "fixturenames", ())]
    benchmarks.ask_fresh_processes(config, tests, tell)


def _change_cell(line: Line) -> str:
    """The change that the verdict is about. Times of single processes stand nowhere beside it: their quotient is another."""
    if line.verdict is None:
        return ""
    if not math.isfinite(line.verdict.low):
        return f"about {change_text(line.verdict.ratio)}"
    return change_with_interval(line.verdict.ratio, line.verdict.low, line.verdict.high)


def _table(lines: list[Line], other: Optional[str]) -> list[str]:
    change = "change in fresh processes" if other is None else f"change from {other}"
    rows = [["test", "time", "95 % interval", change, ""]]
    for line in lines:
        rows.append([line.test, time_text(line.time.median), interval_text(line.time.interval),
                     _change_cell(line), line.remark])
    rows = with_values(rows)
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    benchmarks = benchmarks_of(config)
    if benchmarks is None or not (benchmarks.lines or benchmarks.failures):
        return
    terminalreporter.section("gpu benchmarks")
    if benchmarks.lines:
        for row in _table(benchmarks.lines, benchmarks.other.name if benchmarks.other else None):
            terminalreporter.write_line(row)
    for failure in benchmarks.failures:
        terminalreporter.write_line(failure, red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    benchmarks = session.config.stash.get(_BENCHMARKS, None)
    if isinstance(benchmarks, FreshBenchmarks):
        benchmarks.session.write()
    elif benchmarks is not None:
        benchmarks.write()
        if benchmarks.failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
