# SPDX-License-Identifier: BSD-3-Clause
"""Tables of sweeps over sizes: times and bounds by process count, rates by pattern, change-overs and their knobs."""

from collections.abc import Sequence

from weft.analyse.scaling import times
from weft.report.numbers import bound_text, rate_text, seconds_text, size_text, time_text
from weft.report.sweeps import Line, NamedChange, all_sizes
from weft.report.view import Row
from weft.tabular import Table
from weft.units import format_rate

CHANGES = "Change-over points"


def time_table(title: str, lines: Sequence[Line]) -> Table:
    """Sizes by process counts: the time with its interval, and its lower bound."""
    bounded = [any(row["bound_s"] for row in line.rows) for line in lines]
    columns, units = ["Message"], ["bytes"]
    for line, has in zip(lines, bounded, strict=True):
        columns += [line.place, *(["at least"] if has else [])]
        units += ["median (95 %)", *(["bound"] if has else [])]
    rows = [tuple(units)]
    for size in all_sizes(lines):
        cells = [size_text(size)]
        for line, has in zip(lines, bounded, strict=True):
            row = line.at(size)
            cells += [time_text(row) if row else "–", *([bound_text(row) if row else "–"] if has else [])]
        rows.append(tuple(cells))
    return Table(title, tuple(columns), tuple(rows))


def rate_table(title: str, lines: Sequence[Line], names: Sequence[str]) -> Table:
    """Sizes by patterns: the rate with its interval, and the time of one message."""
    columns = ["Message", *(text for name in names for text in (name, "one message"))]
    units = ["bytes", *("rate (95 %)", "median") * len(lines)]
    rows = [tuple(units)]
    for size in all_sizes(lines):
        cells = [size_text(size)]
        for line in lines:
            row = line.at(size)
            cells += [_rate(size, row), seconds_text(row["median_s"])] if row else ["–", "–"]
        rows.append(tuple(cells))
    return Table(title, tuple(columns), tuple(rows))


def _rate(size: int, row: Row) -> str:
    return rate_text(size, row["median_s"], row["low_s"], row["high_s"])


def change_table(title: str, lines: Sequence[Line], names: Sequence[str]) -> Table | None:
    """Every change-over: where, what happens, on what sides, by which knob; None where there is none.

    Parameters
    ----------
    names
        What each line is called: call and process count, or pattern.
    """
    columns = ("Change-over of", "Between", "Knob", "Kind", "Time x", "Before", "After", "Sure")
    rows = [
        (
            name,
            f"{size_text(named.change.lower)} – {size_text(named.change.upper)}",
            _knob(named),
            named.change.kind,
            f"{times(named.change.factor)} ({times(named.change.low)}–{times(named.change.high)})",
            _slope(named.change.before_rate),
            _slope(named.change.after_rate),
            sureness(named),
        )
        for line, name in zip(lines, names, strict=True)
        for named in line.changes
    ]
    heading = ("call", "sizes", "present value", "", "factor (95 %)", "each byte at", "each byte at", "1 - p")
    return Table(title, columns, (heading, *rows), frozenset({0, 2, 3})) if rows else None


def _knob(named: NamedChange) -> str:
    """The likeliest knob alone: the finding has all names."""
    return f"{named.knob.names[0]} ({named.knob.value:,} B)" if named.knob else "none known here"


def _slope(rate: float | None) -> str:
    return format_rate(rate) if rate else "flat"


def sureness(named: NamedChange) -> str:
    """The confidence, which never is a certainty."""
    return "> 99.9 %" if named.change.confidence > 0.999 else f"{named.change.confidence:.1%}"


def slower_table(title: str, lines: Sequence[Line], names: Sequence[str]) -> Table | None:
    """METHOD 18: sizes that take longer than their double; None where there is none."""
    rows = [
        (
            name,
            size_text(slow.size),
            seconds_text(slow.seconds),
            size_text(slow.double),
            seconds_text(slow.double_seconds),
            times(slow.seconds / slow.double_seconds),
        )
        for line, name in zip(lines, names, strict=True)
        for slow in line.slower
    ]
    columns = ("Slower than its double", "Size", "Takes", "Double", "Takes only", "Ratio")
    return Table(title, columns, (("call", "bytes", "median", "bytes", "median", "t / t"), *rows)) if rows else None
