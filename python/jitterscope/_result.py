"""Results as Python sees them: seconds and hertz, and the command line's table when printed."""

from __future__ import annotations

import html
import importlib
import json
import os
import shutil
from typing import Any, NamedTuple, Optional

from ._errors import UsageError
from ._library import plots, show
from ._measurement import Measurement
from ._network import Total, own_total
from ._report import write_report
from ._text import interval_text, time_text, with_values
from ._words import in_python, page_in_python


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
    return [Finding(each["id"], in_python(each.get("headline", "")), in_python(each["sentence"]),
                    in_python(each.get("remedy", "")), each.get("effect"), each.get("evidence") or {},
                    tuple(each.get("places") or ())) for each in listed]


VEGA_LITE = "application/vnd.vegalite.v5+json"  # which JupyterLab draws


def refusals(results: list[dict[str, Any]]) -> list[str]:
    """Why kernels or counters that were asked for are not there."""
    said = []
    for what in ("kernels", "counters"):
        for result in results:
            reason = result.get(f"without_{what}")
            if reason:
                said.append(in_python(f"No {what} of {result['operation']}: {reason}."))
    return said


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
    """The answer of a command. `record` is the whole of it, as `--json` writes it and docs/reference/json.md says."""

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
        return [in_python(note) for note in self.record.get("notes", [])]

    @property
    def findings(self) -> list[Finding]:
        """About the machine; those about one operation stand with it."""
        return _findings(self.record.get("findings", []))

    def text(self, *, details: bool = False, top: Optional[int] = None, findings: Optional[str] = None,
             width: Optional[int] = None) -> str:
        """The command line's table; the same words as its flags --details, --top and --findings."""
        columns = max(60, width or min(200, shutil.get_terminal_size().columns))
        text = show(json.dumps(self.record), details=details, top=top, findings=findings, width=columns)
        if len(self.record.get("results", [])) == 1:
            text = text.replace(" of #1:", ":")
        return page_in_python(text, columns)

    def save(self, path: Any) -> None:
        """Writes the record, for `jitterscope show` and `jitterscope compare`."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.record, file)

    @property
    def plots(self) -> list[Plot]:
        """Its plots, the main one first; empty if it is words alone."""
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

    def __repr__(self) -> str:
        """Short: a table of all of it is what str() gives."""
        title = self.record.get("title", "")
        return f"<Record of {self.record.get('command', 'unknown')}{': ' + title if title else ''}>"

    def _rows(self) -> list[list[str]]:
        return []

    def _left_out(self) -> str:
        """A sentence about what the rows have no room for."""
        return ""

    def _repr_html_(self) -> str:
        rows = self._rows()
        if not rows:
            return f"<pre>{html.escape(self.text(width=100))}</pre>"
        rows = with_values(rows)
        lines = ["".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
                 for tag, row in zip(["th"] + ["td"] * len(rows), rows)]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        said = [self._left_out(), *map(str, self.findings), *self.notes]
        notes = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in said if sentence)
        return f"<table>{body}</table>" + (f"<ul>{notes}</ul>" if notes else "")


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
    def launch_cost(self) -> Optional[float]:
        """Seconds of the host for one call, median; None on a CPU, where no launch is apart from the work."""
        cost = self._result.get("launch_cost_seconds")
        return None if cost is None or self.device["capabilities"]["is_host"] else float(cost)

    @property
    def first_call(self) -> float:
        """Seconds of the host for the very first call, to its end."""
        return float(self._result["first_call_seconds"])

    @property
    def total(self) -> Total:
        """Seconds of all calls of it in a network, with their interval; of what was typed its own time."""
        return own_total(self._result, self.measurements[0].record)

    @property
    def notes(self) -> list[str]:
        """Sentences about how it was measured, and about what was asked for and is not there."""
        return super().notes + refusals([self._result])

    @property
    def waits_for_device(self) -> bool:
        """Whether each call waits for the GPU, so that its times hold the host's work."""
        return bool(self._result.get("waits_for_device", False))

    @property
    def kernels(self) -> list[KernelTime]:
        """The kernels of one call, in their order; empty unless `kernels=True`, and where there are none: `notes` says why."""
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
