"""What was measured, as Python sees it: seconds and hertz, and the command line's table when it is printed."""

from __future__ import annotations

import html
import importlib
import json
import math
import os
import shutil
from typing import Any, Iterator, NamedTuple, Optional, Union

from ._errors import UsageError
from ._library import plots, show
from ._report import write_report


class Finding(NamedTuple):
    """A cause that moved a time, with its evidence and one remedy."""

    id: str
    headline: str
    sentence: str
    remedy: str
    effect: Optional[float]  # by how much, relative: 0.11 is 11 %
    evidence: dict[str, Any]  # the unit of a number ends its key: _s, _hz, _w
    places: tuple[dict[str, Any], ...] = ()  # measurement and rounds where it happened; empty: at all times

    def __str__(self) -> str:
        return f"{self.id}: {self.sentence} {self.remedy}".rstrip()


class KernelTime(NamedTuple):
    """One kernel of a launch; seconds."""

    name: str
    median: float
    minimum: float
    maximum: float


def _findings(listed: list[dict[str, Any]]) -> list[Finding]:
    return [Finding(each["id"], each.get("headline", ""), each["sentence"], each.get("remedy", ""), each.get("effect"),
                    each.get("evidence") or {}, tuple(each.get("places") or ())) for each in listed]


def array(values: list[float]) -> Any:
    """As numpy has it, where numpy is there; else the list."""
    try:
        return importlib.import_module("numpy").asarray(values, dtype=float)
    except ImportError:
        return values


def _middle(values: list[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def time_text(seconds: float) -> str:
    """With four digits: "12.34 µs"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def interval_text(interval: tuple[float, float]) -> str:
    """Both ends; a dash where there is none, below six rounds."""
    low, high = interval
    return f"{time_text(low)} – {time_text(high)}" if math.isfinite(low) and math.isfinite(high) else "–"


VEGA_LITE = "application/vnd.vegalite.v5+json"  # which JupyterLab draws


class Plot:
    """A picture of a record: in a notebook it draws itself. `spec` is of Vega-Lite 5 and holds its data."""

    def __init__(self, drawn: dict[str, Any]) -> None:
        self.id: str = drawn["id"]
        self.title: str = drawn["title"]
        self.caption: str = drawn["caption"]
        self.spec: dict[str, Any] = drawn["spec"]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {VEGA_LITE: self.spec, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<Plot {self.id}: {self.title}>"


class Record:
    """What a command found out. `record` is the whole of it, as `--json` writes it and docs/reference/json.md says."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record

    @property
    def device(self) -> dict[str, Any]:
        """The device that it was found out on."""
        device: dict[str, Any] = self.record["device"]
        return device

    @property
    def notes(self) -> list[str]:
        """Sentences about how it was measured."""
        return list(self.record.get("notes", []))

    @property
    def findings(self) -> list[Finding]:
        """About the machine; those about one operation stand with it."""
        return _findings(self.record.get("findings", []))

    def text(self, *, details: bool = False, top: Optional[int] = None, findings: Optional[str] = None,
             width: Optional[int] = None) -> str:
        """The command line's table; the same words as its flags --details, --top and --findings."""
        columns = max(60, min(200, width or shutil.get_terminal_size().columns))
        return show(json.dumps(self.record), details=details, top=top, findings=findings, width=columns)

    def save(self, path: Any) -> None:
        """Writes the record, for `jitterscope show` and `jitterscope compare`."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.record, file)

    @property
    def plots(self) -> list[Plot]:
        """What can be drawn of it, the main plot first; empty where it is words alone."""
        return [Plot(each) for each in plots(json.dumps(self.record))]

    def html(self, path: Any) -> None:
        """Writes a page with its plots: one file that needs no network."""
        write_report([self.record], "--output", os.fspath(path))

    def plot(self, path: Any) -> None:
        """Writes the main plot, by the name's ending as PNG or SVG. Needs the package vl-convert-python."""
        write_report([self.record], "--plot", os.fspath(path))

    def _ipython_display_(self) -> None:
        display = importlib.import_module("IPython.display").display
        display({"text/html": self._repr_html_(), "text/plain": str(self)}, raw=True)
        for plot in self.plots[:1]:
            display(plot)

    def __str__(self) -> str:
        return self.text()

    def _rows(self) -> list[list[str]]:
        return []

    def _repr_html_(self) -> str:
        rows = self._rows()
        if not rows:
            return f"<pre>{html.escape(self.text(width=100))}</pre>"
        lines = ["".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
                 for tag, row in zip(["th"] + ["td"] * len(rows), rows)]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        said = [str(finding) for finding in self.findings] + self.notes
        notes = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in said)
        return f"<table>{body}</table>" + (f"<ul>{notes}</ul>" if notes else "")


class Measurement:
    """The times in one cache state under one load."""

    def __init__(self, measured: dict[str, Any]) -> None:
        self.record = measured

    @property
    def cache(self) -> str:
        """warm, cold, dirty or produced."""
        return str(self.record["conditions"]["cache"])

    @property
    def load(self) -> str:
        """burst or sustained."""
        return str(self.record["conditions"]["load"])

    @property
    def queue(self) -> str:
        """saturated, eager or graph: how it was launched, which may differ from what was asked for."""
        return str(self.record["conditions"]["queue"])

    @property
    def instrument(self) -> str:
        """events, graph, cupti or host: how a duration was read."""
        return str(self.record["instrument"])

    @property
    def median(self) -> float:
        """Seconds of one launch: the median over rounds."""
        return float(self.record["time"]["median_seconds"])

    @property
    def interval(self) -> tuple[float, float]:
        """Seconds: holds with 95 % what another process will read. Not a number below six rounds."""
        time = self.record["time"]
        return (float(time.get("low_seconds", "nan")), float(time.get("high_seconds", "nan")))

    @property
    def precision(self) -> float:
        """Half the interval over the median: 0.005 is ±0.5 %."""
        low, high = self.interval
        return (high - low) / 2 / self.median

    @property
    def clock(self) -> Optional[float]:
        """Hertz, median over rounds; None where the device cannot tell."""
        clock = self.record.get("clock")
        return float(clock["median_hertz"]) if clock else None

    @property
    def rounds(self) -> Any:
        """Seconds of one launch in each round."""
        return array([_middle(each["launch_seconds"]) for each in self.record["rounds"]])

    @property
    def launches(self) -> Any:
        """Seconds of each launch, or of each group of launches that was timed as one."""
        return array([value for each in self.record["rounds"] for value in each["launch_seconds"]])

    def __repr__(self) -> str:
        plus = f" ± {self.precision:.2%}" if self.precision == self.precision else ""
        return f"<{self.cache} {self.load}: {time_text(self.median)}{plus}>"


class Time(Record):
    """One callable's times. Its numbers are those of the first cache state and load that were asked for; `time["cold"]`
    and `measurements` have the others."""

    def __init__(self, record: dict[str, Any], memory: Optional[int] = None) -> None:
        super().__init__(record)
        # Bytes that one call allocates through PyTorch; None where PyTorch has no part in it.
        self.memory = memory
        self._result: dict[str, Any] = record["results"][0]
        self.measurements = [Measurement(each) for each in self._result.get("measurements", [])]
        if not self.measurements:
            raise UsageError(f"{self.name}: there is no time in this record")

    def __getitem__(self, word: str) -> Measurement:
        for measurement in self.measurements:
            if word in (measurement.cache, measurement.load, f"{measurement.cache} {measurement.load}"):
                return measurement
        raise KeyError(word)

    @property
    def name(self) -> str:
        """As tables call it: the function's own, or what it was given; an operation's text."""
        return str(self._result["operation"])

    @property
    def median(self) -> float:
        """Seconds of one launch: the median over rounds."""
        return self.measurements[0].median

    @property
    def interval(self) -> tuple[float, float]:
        """Seconds: holds with 95 % what another process will read."""
        return self.measurements[0].interval

    @property
    def precision(self) -> float:
        """Half the interval over the median: 0.005 is ±0.5 %."""
        return self.measurements[0].precision

    @property
    def clock(self) -> Optional[float]:
        """Hertz of the SM or the core, median over rounds; None where the device cannot tell."""
        return self.measurements[0].clock

    @property
    def rounds(self) -> Any:
        """Seconds of one launch in each round; a numpy array where numpy is there."""
        return self.measurements[0].rounds

    @property
    def launches(self) -> Any:
        """Seconds of each launch, or of each group that was timed as one."""
        return self.measurements[0].launches

    @property
    def launch_cost(self) -> float:
        """Seconds of the host for one call, median."""
        return float(self._result["launch_cost_seconds"])

    @property
    def first_call(self) -> float:
        """Seconds of the host for the very first call, to its end."""
        return float(self._result["first_call_seconds"])

    @property
    def waits_for_device(self) -> bool:
        """Whether each call waits for the GPU, so that its times hold the host's work."""
        return bool(self._result.get("waits_for_device", False))

    @property
    def kernels(self) -> list[KernelTime]:
        """Of one call, in their order; empty unless `kernels=True`."""
        return [KernelTime(each["name"], each["median_seconds"], each["minimum_seconds"], each["maximum_seconds"])
                for each in self._result.get("kernels", [])]

    @property
    def findings(self) -> list[Finding]:
        """About the callable, then about the machine."""
        return _findings(self._result.get("findings", [])) + super().findings

    def _rows(self) -> list[list[str]]:
        rows = [[self.name, "time", "95 % interval", "clock", "rounds"]]
        for each in self.measurements:
            clock = f"{each.clock / 1e6:.0f} MHz" if each.clock else ""
            rows.append([f"{each.cache}, {each.load}", time_text(each.median), interval_text(each.interval),
                         clock, str(len(each.record["rounds"]))])
        return rows

    def __repr__(self) -> str:
        return f"<Time of {self.name}: {', '.join(repr(each)[1:-1] for each in self.measurements)}>"


class Times(Record):
    """Several callables' times: what a benchmark measured, in the order of its parameters."""

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__(record)
        # What failed has a place in the record and the table, and no time.
        self._times = [Time({**record, "results": [each]}) for each in record["results"] if each.get("measurements")]

    def __iter__(self) -> Iterator[Time]:
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, key: Union[int, str]) -> Time:
        """By place, or by name: `times["attention(n=256)"]`."""
        if not isinstance(key, str):
            return self._times[key]
        for time in self._times:
            if time.name == key:
                return time
        raise KeyError(key)

    def _rows(self) -> list[list[str]]:
        rows = [["", "conditions", "time", "95 % interval"]]
        for time in self._times:
            for each in time.measurements:
                rows.append([time.name, f"{each.cache}, {each.load}", time_text(each.median),
                             interval_text(each.interval)])
        return rows

    def __repr__(self) -> str:
        return f"<Times of {', '.join(time.name for time in self._times)}>"


def result_of(record: dict[str, Any]) -> Record:
    """A run of one as a Time, of several as Times, any other record as it is."""
    if record.get("command") != "run" or not any(each.get("measurements") for each in record["results"]):
        return Record(record)
    return Time(record) if len(record["results"]) == 1 else Times(record)
