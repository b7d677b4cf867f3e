"""Times and their changes as tables write them."""

from __future__ import annotations

import math


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


def with_values(rows: list[list[str]]) -> list[list[str]]:
    """A table, its headings first, without the columns that have no value."""
    kept = [i for i in range(len(rows[0])) if any(row[i] not in ("", "–") for row in rows[1:])]
    return [[row[i] for i in kept] for row in rows]


def change_text(ratio: float) -> str:
    """A difference, as the command line says it: "-26.7 %", from a factor of two on "14.4 times" or "1/14.4"."""
    if not math.isfinite(ratio):
        return "–"
    factor = max(ratio, 1 / ratio) if ratio > 0 else 1.0
    if factor >= 2:
        digits = f"{factor:.3g}" if factor < 1000 else f"{factor:.0f}"
        return f"{digits} times" if ratio > 1 else f"1/{digits}"
    change = ratio - 1
    return f"{change * 100:+.{2 if abs(change) < 0.01 else 1}f} %"


def change_with_interval(ratio: float, low: float, high: float) -> str:
    """A difference and its interval with as many digits as it is known to, as the command line says it: "-2.21 % (-2.37 to
    -2.05 %)"."""
    if not all(map(math.isfinite, (ratio, low, high))) or not 0.5 < ratio < 2:
        return f"{change_text(ratio)} ({change_text(low)} to {change_text(high)})"
    half = (high - low) / 2
    digits = 2 if half < 0.00995 else 1 if half < 0.0995 else 0
    first, last = (f"{(end - 1) * 100:+.{digits}f}" for end in (low, high))
    ends = f"± {max(0.01, half * 100):.2f} %" if first == last else f"{first} to {last} %"
    return f"{(ratio - 1) * 100:+.{digits}f} % ({ends})"
