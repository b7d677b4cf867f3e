"""For pytest: the fixture gpu_benchmark times a callable, keeps its record, and compares it with one that was kept."""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import Any, Callable, NamedTuple, Optional

import pytest

from ._device import default_device
from ._errors import Error, MissingError, UsageError
from ._kept_times import Kept, kept_time, merged, read_kept_times, why_not_written, write_kept_times
from ._measure import devices, measure
from ._report import write_report
from ._result import Time
from ._text import interval_text, time_text

FOLDER = ".jitterscope"
_DIFFERENT_GPU, _TOO_FEW_ROUNDS = "another device", "too few rounds to compare"


class Line(NamedTuple):
    """What the table at the end says of one test."""

    test: str
    time: Time
    before: Optional[float]  # seconds, of the record that it is compared with
    ratio: Optional[tuple[float, float]]  # to that, 95 %; None where it is not known
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


def _ratio(now: Time, before: dict[str, Any]) -> Optional[tuple[float, float]]:
    """Its 95 % interval, from those of both times, which are independent; None where one of them has too few rounds."""
    width = math.hypot(now.precision, float(before.get("precision", math.nan)))
    middle = now.median / float(before["median"])
    return (max(0.0, middle * (1 - width)), middle * (1 + width)) if math.isfinite(width) else None


def _remark(ratio: Optional[tuple[float, float]]) -> str:
    if ratio is None:
        return _TOO_FEW_ROUNDS
    return "slower" if ratio[0] > 1 else "faster" if ratio[1] < 1 else "no difference shown"


class Benchmarks:
    """What all tests of a session measured."""

    def __init__(self, config: pytest.Config) -> None:
        self.lines: list[Line] = []
        self.saved: Kept = {}
        self.failures: list[str] = []  # of what was to be written in the end
        root = pathlib.Path(config.rootpath)
        save, compare = config.getoption("gpu_benchmark_save"), config.getoption("gpu_benchmark_compare")
        report, limit = config.getoption("gpu_benchmark_report"), config.getoption("gpu_benchmark_fail")
        self.limit = _percent(limit) if limit else None
        if self.limit is not None and not compare:
            raise UsageError("--gpu-benchmark-fail needs --gpu-benchmark-compare NAME: what to compare with")
        self.before = read_kept_times(_file(root, compare)) if compare else {}
        self.save_to = _writable("--gpu-benchmark-save", _file(root, save)) if save else None
        self.stay: Kept = {}  # what the file to save to has
        if self.save_to is not None and self.save_to.exists():
            self.stay = read_kept_times(self.save_to)
        # A test may change the folder.
        self.report_to = _writable("--gpu-benchmark-report", pathlib.Path(report).absolute()) if report else None
        if self.report_to is not None and not self.report_to.parent.is_dir():
            raise UsageError(f"--gpu-benchmark-report: {self.report_to.parent} is not there; make the folder first")

    def add(self, test: str, time: Time) -> Line:
        self.saved[test] = kept_time(time)
        before = self.before.get(test)
        remark = "" if before or not self.before else "not in the record"
        if before and before["device"] != time.device["name"]:
            remark, before = _DIFFERENT_GPU, None
        ratio = None
        if before:
            ratio = _ratio(time, before)
            remark = _remark(ratio)
        line = Line(test, time, before["median"] if before else None, ratio, remark)
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


_BENCHMARKS = pytest.StashKey[Benchmarks]()


class GpuBenchmark:
    """The fixture: called with what is timed and with conditions as of jitterscope.measure; gives a Time."""

    def __init__(self, benchmarks: Benchmarks, test: str) -> None:
        self._benchmarks = benchmarks
        self._test = test
        self._count = 0

    def __call__(self, function: Callable[[], Any], *, device: Optional[str] = None, **conditions: Any) -> Time:
        """Without a device on the GPU that PyTorch uses, or the first; the test is skipped where there is none."""
        if device is None:
            used = default_device()
            device = used if used.startswith("cuda") else "cuda:0"
        if device.startswith("cuda"):
            _need_gpu(device)
        self._count += 1
        test = self._test if self._count == 1 else f"{self._test}#{self._count}"
        conditions.setdefault("name", test.rpartition("::")[2])
        time = measure(function, device=device, **conditions)
        line = self._benchmarks.add(test, time)
        limit = self._benchmarks.limit
        if limit is not None and line.ratio is not None and line.ratio[0] > 1 + limit:
            low, high = line.ratio
            pytest.fail(f"{test}: {time_text(time.median)} is slower than the {time_text(line.before or math.nan)} kept, "
                        f"by {low - 1:.1%} to {high - 1:.1%}, and {limit:.3g} is the limit", pytrace=False)
        return time


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
    group.addoption("--gpu-benchmark-fail", metavar="slower:PERCENT",
                    help="a test fails whose time is shown to be slower by more, as slower:2%%")
    group.addoption("--gpu-benchmark-report", metavar="FILE.html", help="write a page with plots of all times")


def pytest_configure(config: pytest.Config) -> None:
    try:
        config.stash[_BENCHMARKS] = Benchmarks(config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _ratio_cell(line: Line) -> str:
    if line.before is None:
        return ""
    if line.ratio is None:
        return f"about {line.time.median / line.before:.3g}"
    return f"{line.ratio[0]:.3f}–{line.ratio[1]:.3f}"


def _table(lines: list[Line]) -> list[str]:
    rows = [["test", "time", "95 % interval", "against", "ratio", ""]]
    for line in lines:
        rows.append([line.test, time_text(line.time.median), interval_text(line.time.interval),
                     time_text(line.before) if line.before else "", _ratio_cell(line), line.remark])
    used = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in used}
    return ["  ".join(row[i].ljust(widths[i]) for i in used).rstrip() for row in rows]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    benchmarks = config.stash.get(_BENCHMARKS, None)
    if benchmarks is None or not benchmarks.lines:
        return
    terminalreporter.section("gpu benchmarks")
    for row in _table(benchmarks.lines):
        terminalreporter.write_line(row)
    if any(line.remark == _TOO_FEW_ROUNDS for line in benchmarks.lines):
        terminalreporter.write_line("A time of fewer than six rounds has no interval, so that nothing is decided: a larger "
                                    "time_limit gives it more.")
    for failure in benchmarks.failures:
        terminalreporter.write_line(failure, red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    benchmarks = session.config.stash.get(_BENCHMARKS, None)
    if benchmarks is None:
        return
    benchmarks.write()
    if benchmarks.failures and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
