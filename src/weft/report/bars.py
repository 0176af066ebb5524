# SPDX-License-Identifier: BSD-3-Clause
"""Times as bars for a terminal, from zero on one axis, each with a mark at its lower bound."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.analyse.tables.times import TimedRow, holding_bound_s
from weft.format import measured_seconds

WIDTH = 40
SHORTEST = 8
BAR, BOUND = "█", "┃"
KEY = f"{BAR} time   {BOUND} its lower bound"


class Bar(NamedTuple):
    """A time in seconds, with its lower bound and its range, if they are known.

    ``at_least``: the time is itself a lower bound; ``best``: it is the shortest alternative.
    """

    name: str
    seconds: float
    bound_s: float | None
    low_s: float | None = None
    high_s: float | None = None
    at_least: bool = False
    best: bool = False


def bar_of(name: str, row: TimedRow) -> Bar:
    """The bar of a row of the table of calls."""
    return Bar(name, row["median_s"], holding_bound_s(row), row["launch_low_s"], row["launch_high_s"])


def bar_lines(bars: Sequence[Bar], width: int = 120) -> list[str]:
    """A line a bar, and a key if any has a bound: ``N = 2  █████┃███████      4.10 ms``. None for less than two.

    Bars get shorter where ``width`` characters are too few for a line.
    """
    if len(bars) < 2:
        return []
    most = max(bar.seconds for bar in bars)
    names = max(len(bar.name) for bar in bars)
    times = [measured_seconds(bar.seconds) for bar in bars]
    length = max(SHORTEST, min(WIDTH, width - names - max(map(len, times)) - 6))
    lines = [
        f"  {bar.name:<{names}}  {_drawn(bar, most, length)}  {time}" for bar, time in zip(bars, times, strict=True)
    ]
    return [*lines, f"  {'':<{names}}  {KEY}"] if any(bar.bound_s for bar in bars) else lines


def _drawn(bar: Bar, most: float, width: int) -> str:
    filled = max(1, round(width * bar.seconds / most))
    drawn = (BAR * filled).ljust(width)
    if not bar.bound_s:
        return drawn
    mark = min(width - 1, round(width * bar.bound_s / most))
    return drawn[:mark] + BOUND + drawn[mark + 1 :]
