"""For pytest: the fixture gpu_benchmark times a callable, keeps its record, and compares it with one that was kept."""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import Any, Callable, NamedTuple, Optional

import pytest

from ._device import default_device
from ._errors import MissingError
from ._measure import devices, measure
from ._report import write_report
from ._result import Time, time_text

FOLDER = ".jitterscope"
_DIFFERENT_GPU = "another device"


class Line(NamedTuple):
    """What the table at the end says of one test."""

    test: str
    time: Time
    before: Optional[float]  # seconds, of the record that it is compared with
    low: float  # of the ratio to that, 95 %; not a number where there is none
    high: float
    remark: str


def _percent(text: str) -> float:
    match = re.fullmatch(r"slower:(\d+(?:\.\d+)?)%?", text)
    if match is None:
        raise pytest.UsageError(f"--gpu-benchmark-fail {text}: write slower:2%, for what is slower by more than 2 %")
    return float(match.group(1)) / 100


def _file(root: pathlib.Path, name: str) -> pathlib.Path:
    if not re.fullmatch(r"[\w.-]+", name):
        raise pytest.UsageError(f"--gpu-benchmark-save/compare {name}: a name of letters, digits, '.', '_' and '-'")
    return root / FOLDER / f"{name}.json"


def _ratio(now: Time, before: dict[str, Any]) -> tuple[float, float]:
    """Its 95 % interval, from those of both times, which are independent."""
    known = now.precision, float(before["precision"])
    middle = now.median / float(before["median"])
    width = math.hypot(*known)
    return max(0.0, middle * (1 - width)), middle * (1 + width)


class Benchmarks:
    """What all tests of a session measured."""

    def __init__(self, config: pytest.Config) -> None:
        self.lines: list[Line] = []
        self.saved: dict[str, Any] = {}
        root = pathlib.Path(config.rootpath)
        save, compare = config.getoption("gpu_benchmark_save"), config.getoption("gpu_benchmark_compare")
        limit = config.getoption("gpu_benchmark_fail")
        self.limit = _percent(limit) if limit else None
        if self.limit is not None and not compare:
            raise pytest.UsageError("--gpu-benchmark-fail needs --gpu-benchmark-compare NAME: what to compare with")
        self.save_to = _file(root, save) if save else None
        self.report_to: Optional[str] = config.getoption("gpu_benchmark_report")
        self.before = self._read(_file(root, compare)) if compare else {}

    @staticmethod
    def _read(path: pathlib.Path) -> dict[str, Any]:
        try:
            kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
        except FileNotFoundError:
            raise pytest.UsageError(f"{path} is not there; --gpu-benchmark-save {path.stem} writes it") from None
        except (ValueError, KeyError, TypeError):
            raise pytest.UsageError(f"{path} holds no benchmarks; write it anew by --gpu-benchmark-save") from None
        return kept

    def add(self, test: str, time: Time) -> Line:
        self.saved[test] = {"median": time.median, "precision": time.precision, "device": time.device["name"],
                            "record": time.record}
        before = self.before.get(test)
        low = high = math.nan
        remark = "" if before or not self.before else "not in the record"
        if before and before["device"] != time.device["name"]:
            remark, before = _DIFFERENT_GPU, None
        if before:
            low, high = _ratio(time, before)
            remark = "slower" if low > 1 else "faster" if high < 1 else "no difference shown"
        line = Line(test, time, before["median"] if before else None, low, high, remark)
        self.lines.append(line)
        return line

    def write(self) -> None:
        if self.report_to and self.lines:
            write_report([line.time.record for line in self.lines], "--output", self.report_to)
        if self.save_to is None or not self.saved:
            return
        self.save_to.parent.mkdir(exist_ok=True)
        text = json.dumps({"format": "jitterscope-benchmarks", "version": 1, "benchmarks": self.saved})
        complete = self.save_to.with_suffix(".part")
        complete.write_text(text, encoding="utf-8")
        complete.replace(self.save_to)


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
        if limit is not None and line.low > 1 + limit:
            pytest.fail(f"{test}: {time_text(time.median)} is slower than the {time_text(line.before or math.nan)} kept, "
                        f"by {line.low - 1:.1%} to {line.high - 1:.1%}, and {limit:.3g} is the limit", pytrace=False)
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
    group.addoption("--gpu-benchmark-save", metavar="NAME", help=f"keep all times in {FOLDER}/NAME.json")
    group.addoption("--gpu-benchmark-compare", metavar="NAME", help="compare with the times kept under this name")
    group.addoption("--gpu-benchmark-fail", metavar="slower:PERCENT",
                    help="a test fails whose time is shown to be slower by more, as slower:2%%")


    group.addoption("--gpu-benchmark-report", metavar="FILE.html", help="write a page with plots of all times")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_BENCHMARKS] = Benchmarks(config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    benchmarks = config.stash.get(_BENCHMARKS, None)
    if benchmarks is None or not benchmarks.lines:
        return
    terminalreporter.section("gpu benchmarks")
    rows = [["test", "time", "95 % interval", "against", "ratio", ""]]
    for line in benchmarks.lines:
        low, high = line.time.interval
        ratio = f"{line.low:.3f}–{line.high:.3f}" if line.before else ""
        rows.append([line.test, time_text(line.time.median), f"{time_text(low)} – {time_text(high)}",
                     time_text(line.before) if line.before else "", ratio, line.remark])
    used = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in used}
    for row in rows:
        terminalreporter.write_line("  ".join(row[i].ljust(widths[i]) for i in used).rstrip())


def pytest_sessionfinish(session: pytest.Session) -> None:
    benchmarks = session.config.stash.get(_BENCHMARKS, None)
    if benchmarks is not None:
        benchmarks.write()
