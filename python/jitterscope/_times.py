"""Several times of one record: cases of a benchmark, a sweep, layers of a network."""

from __future__ import annotations

from typing import Any, Iterator, Optional, Union

from ._errors import UsageError
from ._network import Total, ended_early, network_rows, rest_sentence, timed_part, totals_of
from ._result import Record, Time, refusals
from ._text import interval_text, time_text


class Times(Record):
    """Several times: what a benchmark measured, in the order of its parameters, a sweep, or the layers of a network."""

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__(record)
        # A failed operation has a place in the record and the table, and no time. A note about all is repeated for none.
        rest = {key: value for key, value in record.items()
                if key not in ("totals", "where_to_work", "sequence", "recorded_gpu_seconds")}
        self._times = [Time({**rest, "title": (each.get("layers") or [each["operation"]])[0], "untimed": [],
                             "summary": [row for row in record.get("summary", []) if row["operation"] == each["operation"]],
                             "results": [each]})
                       for each in record["results"] if each.get("measurements")]

    def __iter__(self) -> Iterator[Time]:
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, key: Union[int, str]) -> Time:
        """One time, by place or by name: `times["attention(n=256)"]`."""
        if not isinstance(key, str):
            return self._times[key]
        for time in self._times:
            if time.name == key:
                return time
        raise KeyError(key)

    @property
    def notes(self) -> list[str]:
        """Sentences about how they were measured, and about what was asked for and is not there."""
        part = timed_part(self.record)
        where = self.where_to_work
        return (([f"{where['advice']}."] if where else []) + super().notes + ([f"{part[1]}: the total is theirs."] if part else [])
                + refusals(self.record["results"]))

    @property
    def where_to_work(self) -> Optional[dict[str, Any]]:
        """A network's `advice` in one sentence, and its time by `kinds` and `parts`, with what each could save at most if
        it ran at its ceiling, as shares of the time. None where it is no network of several operations."""
        where: Optional[dict[str, Any]] = self.record.get("where_to_work")
        return where

    @property
    def totals(self) -> list[Total]:
        """Seconds of all calls of a network, under each of the conditions; empty where it is no network."""
        return totals_of(self.record)

    @property
    def total(self) -> Total:
        """Seconds of all calls of a network, with their interval, under the first of the conditions."""
        if self.totals:
            return self.totals[0]
        if len(self._times) == 1:
            return self._times[0].total
        failures = [each["failure"] for each in self.record["results"] if each.get("failure")]
        if not self._times:
            raise UsageError(f"there is no time: {failures[0] if failures else 'nothing was measured'}")
        raise UsageError(f"these are {len(self._times)} times that do not add up: take one, as times[0].median or "
                         f"times[{self._times[0].name!r}].median")

    @property
    def median(self) -> float:
        """Seconds: of a network that of all its calls, of a single time its median. UsageError where there are several
        times, of a file of which less than half was timed, and of a run that ended early: `total` has the time of what was."""
        return self._whole().seconds

    @property
    def interval(self) -> tuple[float, float]:
        """Seconds: 95 %, of `median`."""
        return self._whole().interval

    def _whole(self) -> Total:
        part = timed_part(self.record)
        if part and (part[0] < 0.5 or ended_early(self.record)):
            raise UsageError(f"there is no time of the whole: {part[1]}; .total has the time of these")
        return self.total

    def _rows(self) -> list[list[str]]:
        if self.totals:
            return network_rows(self.record)
        rows = [["", "conditions", "time", "95 % interval"]]
        for time in self._times:
            for each in time.measurements:
                rows.append([time.name, f"{each.cache}, {each.load}", time_text(each.median),
                             interval_text(each.interval)])
        return rows

    def _left_out(self) -> str:
        return rest_sentence(self.record) if self.totals else ""

    def __repr__(self) -> str:
        if self.totals:
            what = f"{len(self._times)} operations" if len(self._times) > 1 else f"{self.total.calls} calls"
            return f"<Times of {self.record.get('title', 'a network')}: {what}, {time_text(self.total.seconds)} in all>"
        names = [time.name for time in self._times]
        return f"<Times of {', '.join(names[:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}>"


def result_of(record: dict[str, Any]) -> Union[Time, Times]:
    """The record of a run of one call as a Time, of several as Times; of what failed, Times that are none."""
    results = record["results"]
    is_one_call = len(results) == 1 and results[0].get("measurements") and results[0].get("count", 1) == 1
    return Time(record) if is_one_call else Times(record)
