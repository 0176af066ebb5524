# SPDX-License-Identifier: BSD-3-Clause
"""Numbers as people read them: scaled, with as many digits as they deserve, beside their interval."""

import math
from collections.abc import Mapping
from typing import Any

from weft.units import RATES, SIZES

SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def second_unit(seconds: float) -> tuple[str, float]:
    """Name and size of the unit in which a time reads best: at least 1, below 1000."""
    for name, size in SECONDS:
        if abs(seconds) >= size * 0.9995:  # 0.9996 ms reads 1.00 ms, not 1000 us
            return name, size
    return SECONDS[-1]


def decimals(scaled: float) -> int:
    """Digits after the point that leave three significant ones."""
    if scaled == 0 or not math.isfinite(scaled):
        return 0
    return max(0, 2 - math.floor(math.log10(abs(scaled) * 1.0005)))


def seconds_text(seconds: float | None) -> str:
    """A time with three significant digits: ``52.1 ms``."""
    if seconds is None:
        return "–"
    name, size = second_unit(seconds)
    scaled = seconds / size
    return f"{scaled:.{min(decimals(scaled), 3)}f} {name}"


def interval_text(seconds: float | None, low: float | None, high: float | None) -> str:
    """A time and its interval in one unit: ``52.1 ms (51.8–52.9)``."""
    if seconds is None or low is None or high is None:
        return seconds_text(seconds)
    name, size = second_unit(seconds)
    digits = min(decimals(seconds / size), 3)
    value, below, above = (f"{number / size:.{digits}f}" for number in (seconds, low, high))
    return f"{value} {name} ({below}–{above})"


def size_text(size: int) -> str:
    """Bytes with a binary prefix where that is exact: ``4 KiB``, but ``4,466 B``."""
    for name, unit in reversed(SIZES.items()):
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} B"


def rate_text(size: int, seconds: float | None, low: float | None = None, high: float | None = None) -> str:
    """Bytes over a time, with the interval of the time turned round: ``5.21 GB/s (5.10–5.33)``."""
    if not seconds:
        return "–"
    rate = size / seconds
    name, unit = next(((name, unit) for name, unit in reversed(RATES.items()) if rate >= unit * 0.9995), ("B/s", 1))
    digits = min(decimals(rate / unit), 3)
    text = f"{rate / unit:.{digits}f} {name}"
    if not low or not high:
        return text
    return f"{text} ({size / high / unit:.{digits}f}–{size / low / unit:.{digits}f})"


def time_text(row: Mapping[str, Any]) -> str:
    """A time of the table of calls with its interval, or the status of a row that has none."""
    return interval_text(row["median_s"], row["low_s"], row["high_s"]) if row["status"] == "ok" else row["status"]


def bound_text(row: Mapping[str, Any]) -> str:
    """The lower bound and what it comes from."""
    return f"{seconds_text(row['bound_s'])}, {row['bound']}" if row["bound_s"] else "–"


def plural(count: int, noun: str) -> str:
    """``1 launch``, ``3 launches``."""
    ending = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count:,} {noun}" + ("" if count == 1 else ending)
