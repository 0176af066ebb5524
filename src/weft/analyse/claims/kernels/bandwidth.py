# SPDX-License-Identifier: BSD-3-Clause
"""What flows reach: between nodes if that was measured, from cache and from memory, and the eager limit."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from weft.analyse.claims.make import Known, find_thresholds
from weft.analyse.tables.claims import ClaimKind, ClaimRow, make_claim
from weft.analyse.tables.sweeps import Line, size_of
from weft.analyse.tables.times import TimedRow, reach
from weft.kernel.sizes import line_name
from weft.store.tables import grouped

SATURATED = 0.95  # so much of the highest rate of several pairs at once counts as all of it
SMALL = 8  # bytes: the rate of larger messages is one of bytes


def find_claims(known: Known) -> list[ClaimRow]:
    """The highest rate, that of the other patterns, that from memory, and the eager limit."""
    lines = known.lines
    if not lines:
        return [make_claim("bandwidth.untimed", "answer")]
    between = [line for line in lines if line.cell.nodes > 1]
    answers = between or lines
    sent = [line for line in answers if "transfer" not in line.cell.parameters]  # rather than one-sided
    best = max(sent or answers, key=lambda line: rate(peak(line)))
    first = _rate("bandwidth.rate", "answer", best, peak(best))
    others: dict[str, Line] = {}
    for line in lines:
        if pairs_at_once(line) == 1 or line is best:
            others[ends_of(line)] = max(others.get(ends_of(line), line), line, key=lambda each: rate(peak(each)))
    del others[ends_of(best)]
    patterns = [_rate("rate.pattern", "breakdown", line, peak(line)) for line in others.values()]
    by_cache = grouped(lines, lambda line: line.cell.parameters.get("cache"))
    hot = {ends_of(line) for line in by_cache.get("hot", ())}
    # of pairs that were measured hot, too: what codes get whose data is in no cache
    both = [line for line in by_cache.get("cold", ()) if ends_of(line) in hot]
    cold = [_rate("rate.from-memory", "breakdown", line, line.rows[-1]) for line in both]
    own, rest = ([row for row in cold if (row["subject"] == ends_of(best)) is same] for same in (True, False))
    busy = *_saturation(between), *_message_rate(answers)
    return [first, *own, *busy, *find_thresholds(known, lines), *patterns, *rest]


def pairs_at_once(line: Line) -> int:
    """Pairs of ranks that a line's rate is that of."""
    pattern = line.cell.parameters.get("pattern", "")
    return len(line.cell.parameters.get("members", ())) // 2 if pattern == "inter-node" else 1


def _saturation(lines: Sequence[Line]) -> Iterator[ClaimRow]:
    """The fewest pairs of ranks at once that fill the adapter, for each way and class measured with several numbers."""

    def kind(line: Line) -> tuple[str, ...]:
        keys = ("pattern", "hops", "way", "transfer", "cache")
        shape = (str(line.cell.nodes), str(line.cell.launched.ranks_per_node))
        return (*shape, *(str(line.cell.parameters.get(key, "")) for key in keys))

    for _, group in groupby(sorted(lines, key=kind), key=kind):
        own = sorted(group, key=pairs_at_once)
        counts, rates = [pairs_at_once(line) for line in own], [rate(peak(line)) for line in own]
        if len(set(counts)) > 1:
            place = next(place for place, each in enumerate(rates) if each >= SATURATED * max(rates))
            enough, full = peak(own[place]), counts[place] < counts[-1]
            yield make_claim(
                "rate.saturated", "breakdown", ends_of(own[0]), counts[place], "count", at=enough, counts=counts,
                bytes=size_of(enough), rate=max(rates), alone=rates[0] if counts[0] == 1 else None, full=full,
            )  # fmt: skip


def _message_rate(lines: Sequence[Line]) -> list[ClaimRow]:
    """Messages of at most 8 bytes that the fastest line passes in a second."""
    rows = [(row, line) for line in lines for row in line.rows if size_of(row) <= SMALL]
    if not rows:
        return []
    row, line = min(rows, key=lambda each: (each[0]["median_s"], each[1].cell.id))
    of, a_second, ends = ends_of(line), 1 / row["median_s"], _ends(row, 1)
    return [make_claim("rate.messages", "breakdown", of, a_second, "count", ends, at=row, bytes=size_of(row))]


def rate(row: TimedRow) -> float:
    """Bytes per second of a row."""
    return size_of(row) / row["median_s"]


def peak(line: Line) -> TimedRow:
    """The row with the highest rate."""
    return max(line.rows, key=rate)


def ends_of(line: Line) -> str:
    """The name of a line's pair, hot or cold."""
    return line_name(line.call, {**line.cell.parameters, "cache": ""})


def _ends(row: TimedRow, amount: int) -> tuple[float | None, float | None]:
    """The interval of an amount over a row's time; none where that has none."""
    low, high = reach(row)
    return (amount / high, amount / low) if row["low_s"] else (None, None)


def _rate(id: str, kind: ClaimKind, line: Line, row: TimedRow) -> ClaimRow:
    best, size = rate(row), size_of(row)
    short = [size_of(each) for each in line.rows if rate(each) < best / 2 and size_of(each) < size]
    half = min((size_of(each) for each in line.rows if size_of(each) > max(short, default=-1)), default=0)
    return make_claim(
        id, kind, ends_of(line), best, "rate", _ends(row, size), at=row, bytes=size, half=half if half < size else None,
        rises=row is line.rows[-1] or None, between=line.cell.nodes > 1,
    )  # fmt: skip
