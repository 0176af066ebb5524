# SPDX-License-Identifier: BSD-3-Clause
"""What two ranks reach: between nodes if that was measured, from cache and from memory, and the eager limit."""

from collections.abc import Sequence

from weft.analyse.claims.known import Known
from weft.analyse.claims.sweeps import find_thresholds
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.sweeps import Line, size_of
from weft.analyse.tables.times import TimedRow, reach
from weft.kernel.sizes import line_name


def find_claims(known: Known) -> list[ClaimRow]:
    """The highest rate, that of the other patterns, that from memory, and the eager limit."""
    lines = known.lines
    if not lines:
        return [make_claim("bandwidth.untimed", "answer")]
    between = [line for line in lines if line.cell.nodes > 1]
    best = max(between or lines, key=lambda line: rate(peak(line)))
    first = _rate("bandwidth.rate", "answer", best, peak(best), lines)
    others: dict[str, Line] = {}
    for line in lines:
        others[ends_of(line)] = max(others.get(ends_of(line), line), line, key=lambda each: rate(peak(each)))
    del others[ends_of(best)]
    told = [_rate("rate.pattern", "breakdown", line, peak(line), lines) for line in others.values()]
    cold = [_rate("rate.from-memory", "breakdown", line, line.rows[-1], lines) for line in measured_twice(lines)]
    own = [each for each in cold if each["subject"] == ends_of(best)]
    rest = [each for each in cold if each["subject"] != ends_of(best)]
    return [first, *own, *find_thresholds(known, lines), *told, *rest]


def rate(row: TimedRow) -> float:
    """Bytes per second of a row."""
    return size_of(row) / row["median_s"]


def peak(line: Line) -> TimedRow:
    """The row with the highest rate."""
    return max(line.rows, key=rate)


def ends_of(line: Line) -> str:
    """The name of a line's pair, hot or cold."""
    return line_name(line.call, {**line.cell.parameters, "cache": ""})


def measured_twice(lines: Sequence[Line]) -> list[Line]:
    """The cold line of each pair that was measured hot, too: what codes get whose data is in no cache."""

    def cache(line: Line) -> str:
        return str(line.cell.parameters.get("cache", ""))

    hot = {ends_of(line) for line in lines if cache(line) == "hot"}
    return [line for line in lines if cache(line) == "cold" and ends_of(line) in hot]


def _rate(id: str, kind: str, line: Line, row: TimedRow, lines: Sequence[Line]) -> ClaimRow:
    best, (low, high) = rate(row), reach(row)
    short = [size_of(each) for each in line.rows if rate(each) < best / 2 and size_of(each) < size_of(row)]
    half = min((size_of(each) for each in line.rows if size_of(each) > max(short, default=-1)), default=0)
    return make_claim(
        id, "answer" if kind == "answer" else "breakdown", ends_of(line), best, "rate",
        (size_of(row) / high, size_of(row) / low) if row["low_s"] else (None, None), cell=row["cell"],
        call=row["call"], bytes=size_of(row), half=half if half < size_of(row) else None,
        rises=row is line.rows[-1] or None, between=line.cell.nodes > 1,
    )  # fmt: skip
