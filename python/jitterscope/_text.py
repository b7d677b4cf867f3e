"""Times as tables write them."""

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
