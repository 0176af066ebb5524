# SPDX-License-Identifier: BSD-3-Clause
"""What a running cell shows: its median and interval so far, its last samples, and the busiest link."""

from collections.abc import Sequence

from weft.format import measured_seconds, plural
from weft.launch.live import Glimpse
from weft.store.links import LinkCount

BARS = "▁▂▃▄▅▆▇█"
LEAST_LOAD = 0.01
"""Share of its rate under which no link is worth a word."""


def sparkline(values: Sequence[float]) -> str:
    """One sign a value, from the smallest to the largest; all alike are in the middle."""
    if not values:
        return ""
    low, high = min(values), max(values)
    # differences under a hundredth are no picture of anything
    if high - low <= 0.01 * abs(high):
        return BARS[3] * len(values)
    return "".join(BARS[min(int((value - low) / (high - low) * len(BARS)), len(BARS) - 1)] for value in values)


def in_one_line(glimpse: Glimpse) -> str:
    """The samples of an operation so far, in words."""
    low, high = (glimpse.low_ns / 1e9, glimpse.high_ns / 1e9) if glimpse.high_ns else (None, None)
    time = measured_seconds(glimpse.median_ns / 1e9, low, high)
    return f"{glimpse.op}: {time}, {plural(glimpse.samples, 'sample')} {sparkline(glimpse.recent_ns)}".rstrip()


def busiest(before: Sequence[LinkCount], now: Sequence[LinkCount], seconds: float) -> str:
    """The link that used the largest share of its rate between two readings, in words; empty if none was used."""
    earlier = {(count.link, count.source): count.bytes for count in before}
    best, name = LEAST_LOAD, ""
    for count in now:
        then = earlier.get((count.link, count.source))
        if then is None or count.rate <= 0 or seconds <= 0 or count.bytes < then:
            continue
        share = (count.bytes - then) / seconds / count.rate
        if share > best:
            best, name = share, f"{count.source} to {count.target}"
    return f"busiest link: {name}, {min(best, 1.0):.0%} of its rate" if name else ""
