"""The times of one callable in one cache state under one load."""

from __future__ import annotations

import importlib
import math
from typing import Any, Optional

from ._text import time_text


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
        """Half the interval over the median: 0.005 is ±0.5 %. Not a number where the median is zero."""
        low, high = self.interval
        return (high - low) / 2 / self.median if self.median > 0 else math.nan

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
