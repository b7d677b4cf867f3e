"""A network's time: that of all its calls, and which layers take most of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

from ._text import interval_text, time_text

SHOWN = 10  # layers, as the command line's first screen has


class Total(NamedTuple):
    """Times of all calls of a network added up, in one cache state under one load; seconds."""

    cache: str
    load: str
    seconds: float
    interval: tuple[float, float]  # 95 %; not a number where a layer has none
    calls: int
    timed_calls: int  # fewer where some failed: then the time is a lower bound


def own_total(result: dict[str, Any], measurement: dict[str, Any]) -> Total:
    """All calls of one operation."""
    count, time, conditions = int(result.get("count", 1)), measurement["time"], measurement["conditions"]
    return Total(conditions["cache"], conditions["load"], count * float(time["median_seconds"]),
                 (count * float(time.get("low_seconds", math.nan)),
                  count * float(time.get("high_seconds", math.nan))), count, count)


def timed_part(record: dict[str, Any]) -> Optional[tuple[float, str]]:
    """The timed share of a file, if a part could not be timed, and a sentence about it."""
    untimed = record.get("untimed", [])
    timed = sum(each.get("count", 1) for each in record["results"] if each.get("measurements"))
    if not untimed or not timed:
        return None
    calls = sum(each.get("count", 1) for each in record["results"]) + sum(each["count"] for each in untimed)
    sentence = f"{timed} of the {calls} calls of the record are timed"
    recorded = record.get("recorded_gpu_seconds")
    if not recorded:
        return timed / calls, sentence
    share = max(0.0, 1.0 - sum(each.get("recorded_seconds", 0.0) for each in untimed) / recorded)
    return share, f"{sentence}, {share:.1%} of its GPU time"


def ended_early(record: dict[str, Any]) -> bool:
    """Interrupted, or ended as others had failed, before all that can be timed was: in records of earlier versions
    and of runs that were killed no operator says whether it was reached."""
    return any(each.get("is_unreached", record.get("interrupted", False)) for each in record.get("untimed", []))


def totals_of(record: dict[str, Any]) -> list[Total]:
    """In the order of conditions; none of what is no network."""
    return [Total(each["cache"], each["load"], float(each["seconds"]),
                  (float(each.get("low_seconds", math.nan)), float(each.get("high_seconds", math.nan))),
                  int(each["calls"]), int(each["timed_calls"])) for each in record.get("totals", [])]


def _is_under(wanted: dict[str, Any], result: dict[str, Any], measurement: dict[str, Any]) -> bool:
    # Calls that wait for the device run eagerly where the rest does not.
    found = measurement["conditions"]
    return all(found[key] == wanted[key] for key in found
               if key in wanted and not (key == "queue" and result.get("waits_for_device")))


def _time_under(wanted: dict[str, Any], result: dict[str, Any]) -> Optional[dict[str, Any]]:
    for measurement in result.get("measurements", []):
        if _is_under(wanted, result, measurement):
            time: dict[str, Any] = measurement["time"]
            return time
    return None


def _shares(record: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Rows of the first total, the largest first, with the result of each."""
    total = record["totals"][0]
    shares = []
    for result in record["results"]:
        time = _time_under(total, result)
        share = result["count"] * time["median_seconds"] / total["seconds"] if time and total["seconds"] > 0 else 0.0
        shares.append((share, result))
    return sorted(shares, key=lambda each: -each[0])


def _cells(time: Optional[dict[str, Any]]) -> list[str]:
    if time is None:
        return ["–", "–"]
    ends = (float(time.get("low_seconds", math.nan)), float(time.get("high_seconds", math.nan)))
    return [time_text(time["median_seconds"]), interval_text(ends)]


def _name(result: dict[str, Any]) -> str:
    """Its layer's; of several alike the first one's."""
    layers = result.get("layers") or [result["operation"]]
    return str(layers[0]) if len(layers) == 1 else f"{layers[0]} and {len(layers) - 1} alike"


def network_rows(record: dict[str, Any]) -> list[list[str]]:
    """The total, and below it the layers that take most."""
    head, whole = ["layer", "calls", "share"], ["all", str(record["totals"][0]["calls"]), "100 %"]
    for total in totals_of(record):
        head += [f"{total.cache}, {total.load}", "95 % interval"]
        over = "" if total.timed_calls == total.calls else "over "
        whole += [over + time_text(total.seconds), interval_text(total.interval) if not over else "–"]
    rows = [head, whole]
    for share, result in _shares(record)[:SHOWN]:
        row = [_name(result), str(result["count"]), f"{share * 100:.1f} %"]
        for wanted in record["totals"]:
            row += _cells(_time_under(wanted, result))
        rows.append(row)
    return rows


def rest_sentence(record: dict[str, Any]) -> str:
    """A sentence about what the rows leave out; empty if they have all."""
    rest = _shares(record)[SHOWN:]
    if not rest:
        return ""
    return (f"The {SHOWN} slowest of {SHOWN + len(rest)} operations; the other {len(rest)} take "
            f"{sum(share for share, _ in rest) * 100:.0f} % of the total: text(top={SHOWN + len(rest)}) has them.")
