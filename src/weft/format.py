# SPDX-License-Identifier: BSD-3-Clause
"""Formatting of sizes, rates, times, counts and factors (`weft.units` parses them). Numbers have three significant
digits and never an exponent; the unit is chosen after rounding: 999.6 us reads "1 ms". ``format_*`` writes a value as
in a file ("1.2 us"), ``measured_*`` keeps trailing zeros ("1.20 us"), which are significant in a measured value, and
adds the interval. Microseconds are ``us`` everywhere.
"""

import math
from collections.abc import Mapping

from weft.units import RATES, SIZES, TIMES

SECONDS = {name: float(TIMES[name]) for name in ("ns", "us", "ms", "s")}
UNKNOWN = "–"
DIGITS = 3
MOST_DECIMALS = 4  # further decimals are noise, even in the smallest unit
MINUTES_FROM_S, HOURS_FROM_S = 120, 7200  # from here on a time is easier to read in the longer unit


def decimals(value: float, digits: int = DIGITS) -> int:
    """Number of decimals with which ``value``, after rounding, has ``digits`` significant digits."""
    if value == 0 or not math.isfinite(value):
        return 0
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return min(max(0, digits - 1 - exponent), MOST_DECIMALS)


def unit_of(value: float, units: Mapping[str, float], digits: int = DIGITS) -> tuple[str, float]:
    """The unit for ``value``: after rounding, the number is at least 1 in it and less than 1 in the next."""
    for name, factor in reversed(list(units.items())):
        if float(f"{abs(_in(value, factor)):.{digits - 1}e}") >= 1:
            return name, factor
    return next(iter(units.items()))


def seconds_unit(seconds: float) -> tuple[str, float]:
    """Name and factor of the unit of a time in seconds, from ns to s: ``("us", 1e-6)``."""
    return unit_of(seconds, SECONDS)


def rate_unit(rate: float) -> tuple[str, float]:
    """Name and factor of the unit of a rate in bytes a second: ``("MB/s", 1e6)``."""
    return unit_of(rate, RATES)


def format_bytes(size: float) -> str:
    """A size of memory or traffic in bytes, rounded: ``91.1 MiB``."""
    return _scaled(size, SIZES)


def exact_bytes(size: int) -> str:
    """A size in bytes without rounding: ``4 KiB``, but ``4,466 B``."""
    for name, factor in reversed(SIZES.items()):
        if size >= factor and size % factor == 0:
            return f"{size // factor:,} {name}"
    return f"{size:,} B"


def format_rate(rate: float, digits: int = DIGITS) -> str:
    """A rate in bytes a second with a decimal prefix: ``3.5 GB/s``."""
    return _scaled(rate, RATES, digits)


def format_seconds(seconds: float, digits: int = DIGITS) -> str:
    """A time in seconds, in ns to s, in minutes from two minutes, in hours from two hours: ``1.2 us``."""
    if seconds < MINUTES_FROM_S:
        return _scaled(seconds, SECONDS, digits)
    unit = "min" if seconds < HOURS_FROM_S else "h"
    return _scaled(seconds, {unit: float(TIMES[unit])}, digits)


def format_factor(factor: float) -> str:
    """A factor without trailing zeros: ``2.5``, ``170``, ``1,200``."""
    return _number(factor, decimals(factor), zeros=False)


def measured_seconds(seconds: float | None, low: float | None = None, high: float | None = None) -> str:
    """A measured time in seconds, with its interval in the same unit: ``52.1 ms (51.8–52.9)``; ``–`` for None."""
    return UNKNOWN if seconds is None else _measured(seconds, low, high, seconds_unit(seconds))


def distinct_seconds(one: float, other: float) -> tuple[str, str]:
    """Two times in seconds, with as many digits as it takes to tell them apart: ``3.2768 ms`` and ``3.2751 ms``."""
    texts = measured_seconds(one), measured_seconds(other)
    for digits in range(DIGITS + 1, 8):
        if texts[0] != texts[1] or one == other:
            break
        texts = format_seconds(one, digits), format_seconds(other, digits)
    return texts


def measured_rate(size: int, seconds: float | None, low: float | None = None, high: float | None = None) -> str:
    """Bytes over a measured time, with the interval of the time's: ``5.21 GB/s (5.10–5.33)``; ``–`` for None."""
    if not seconds:
        return UNKNOWN
    ends = (size / high, size / low) if low and high else (None, None)
    return rate_text(size / seconds, *ends)


def measured_factor(factor: float, low: float | None = None, high: float | None = None, what: str = "") -> str:
    """A factor with its interval: ``1.25 (1.20–1.31)``, ``170``, ``1.25 times (1.20–1.31)``."""
    return _measured(factor, low, high, (what, 1.0))


def times_text(factor: float | None, low: float | None = None, high: float | None = None) -> str:
    """A factor: ``248x (216–288)``; without a point its range, ``130x to 470x``."""
    if factor is None:
        return UNKNOWN if low is None or high is None else f"{measured_factor(low)}x to {measured_factor(high)}x"
    value, _, interval = measured_factor(factor, low, high).partition(" ")
    return f"{value}x {interval}".rstrip()


def faster_text(
    factor: float | None, low: float | None = None, high: float | None = None, coverage: float | None = None
) -> str:
    """A factor of a time: ``248x slower (95 % 216–288)``, ``3.2x faster (3.0–3.4)``; no word if it may be 1."""
    ends = (factor, factor) if low is None or high is None else (low, high)
    if ends[0] is None or ends[1] is None:
        return UNKNOWN
    word = "slower" if min(ends[0], factor or ends[0]) > 1 else "faster" if max(ends[1], factor or ends[1]) < 1 else ""
    if word == "faster":
        factor, low, high = (None if each is None else 1 / each for each in (factor, high, low))
    value, _, interval = times_text(factor, low, high).partition(" (")
    stated = f" ({percent(coverage)} {interval}" if coverage and interval else f" ({interval}" if interval else ""
    return f"{value} {word}".rstrip() + stated


def seconds_text(seconds: float | None, low: float | None = None, high: float | None = None) -> str:
    """A time with its interval: ``52.1 ms (51.8–52.9)``; its range without a point: ``30 ms to 90 ms``."""
    if seconds is None and low is not None and high is not None:
        return f"{format_seconds(low)} to {format_seconds(high)}"
    return measured_seconds(seconds, low, high)


def rate_text(rate: float | None, low: float | None = None, high: float | None = None) -> str:
    """A measured rate in bytes per second with its interval: ``5.21 GB/s (5.10–5.33)``; its range without a point."""
    if rate is None:
        return UNKNOWN if low is None or high is None else f"{format_rate(low)} to {format_rate(high)}"
    return _measured(rate, low, high, rate_unit(rate))


def percent(share: float) -> str:
    """A share: ``79 %``, ``4.2 %``, ``under 0.1 %``."""
    if 0 < abs(share) < 0.001:
        return "under 0.1 %"
    return f"{100 * share:,.{abs(share) < 0.0995:d}f}".removesuffix(".0") + " %"


def relative_error(error: float, digits: int = 1) -> str:
    """A fraction as a signed percentage: ``+2.2 %``; ``0.0 %`` without a sign, for that of a zero says nothing."""
    text = f"{100 * error:+.{digits}f} %"
    return text if any(digit in text for digit in "123456789") else text[1:]


def capital(text: str) -> str:
    """A text as a sentence begins: its first letter large, the others as they are; what users type keeps its case."""
    first = text.partition(" ")[0].rstrip(".,:;")
    is_typed = first == "weft" or any(mark in first for mark in "._=/")
    return text if is_typed else text[:1].upper() + text[1:]


def plural(count: int, noun: str) -> str:
    """A count and its noun: ``1 launch``, ``3 launches``, ``1,200 cells``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "es" if noun.endswith(("ch", "s", "x")) else "s")


def with_title(name: str, title: str) -> str:
    """A name and its title: ``made: All-to-all on a made machine``; the name alone where there is no title."""
    return f"{name}: {title}" if title else name


def _in(value: float, factor: float) -> float:
    """``value`` in units of ``factor``; restores a tie that division made slightly smaller (999.5 us in ms)."""
    return value / factor * (1 + 1e-12)


def _scaled(value: float, units: Mapping[str, float], digits: int = DIGITS) -> str:
    name, factor = unit_of(value, units, digits)
    shown = _in(value, factor)
    text = _number(shown, decimals(shown, digits), zeros=False)
    return f"{text.replace(',', '')} {name}"  # weft.units does not accept separators


def _measured(value: float, low: float | None, high: float | None, unit: tuple[str, float]) -> str:
    name, factor = unit
    digits = decimals(_in(value, factor))
    ends = [value] if low is None or high is None else [value, low, high]
    text, *interval = (_number(_in(each, factor), digits) for each in ends)
    return f"{text} {name}".rstrip() + (f" ({'–'.join(interval)})" if interval else "")


def _number(value: float, digits: int, zeros: bool = True) -> str:
    text = f"{value:,.{digits}f}"
    return text if zeros or "." not in text else text.rstrip("0").rstrip(".")
