# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks did over time, for a picture: shares of waiting, moving, files and computing in equal stretches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

from weft.analyse.engine import Expression
from weft.analyse.tables.traces import ACTIVITY
from weft.analyse.trace.sums import NS, calls_of
from weft.store.files import Table
from weft.store.trace.calls import FILES
from weft.store.trace.layout import Flag
from weft.store.trace.tables import TraceRankRow

pa: Any = pyarrow  # it comes without types
Floats = NDArray[np.float64]

#: Of the picture: lanes at most, columns at least and at most, and all of its points.
LANES, FEWEST, MOST, POINTS = 256, 1024, 4096, 1 << 18
KINDS = ("waiting", "moving", "file", "inside")


def find_activity(events: Expression, waited: Expression, ranks: Sequence[TraceRankRow]) -> Table:
    """The table ACTIVITY: of many ranks several share a lane."""
    shown = sorted((row for row in ranks if row["events"]), key=lambda row: row["rank"])
    if not shown:
        return ACTIVITY.table([])
    begin, end = min(row["begin_ns"] for row in shown), max(row["end_ns"] for row in shown)
    each = -(-len(shown) // LANES)
    firsts = [row["rank"] for row in shown[::each]]
    columns = max(FEWEST, min(MOST, POINTS // len(firsts)))
    width = max(end - begin, 1) / columns
    spent = np.zeros((len(KINDS), len(firsts), columns))
    for kind, spans in enumerate(_spans(events, waited)):
        spent[kind] = _sum_spans(spans, firsts, begin, width, columns)
    alive = np.zeros((len(firsts), columns))
    edges = begin + width * np.arange(columns + 1)
    for place, row in enumerate(shown):
        alive[place // each] += np.diff(np.clip(edges, row["begin_ns"], row["end_ns"]))
    waiting, moving, file, inside = spent
    unknown = np.clip(inside - file - waiting - moving, 0, None)
    whole = np.maximum(np.maximum(alive, waiting + moving + file + unknown), width * 1e-9)
    parts = [part / whole for part in (waiting, moving, file, unknown)]
    parts.append(np.where(alive > 0, np.clip(1 - np.sum(parts, axis=0), 0, None), 0.0))
    return _as_table(parts, firsts, width, columns)


def _as_table(parts: Sequence[Floats], firsts: Sequence[int], width: float, columns: int) -> Table:
    lanes = np.repeat(np.arange(len(firsts)), columns)
    begin = np.tile(np.arange(columns), len(firsts)) * width * NS
    given = (lanes, np.repeat(firsts, columns), begin, begin + width * NS, *(part.ravel() for part in parts))
    named = dict(zip(ACTIVITY.schema.names, given, strict=True))
    return pa.table(named).cast(ACTIVITY.schema)


def _spans(events: Expression, waited: Expression) -> tuple[Expression, ...]:
    """rank, begin and end of each stretch, by `KINDS`: a call waits first, then moves data."""
    calls = calls_of(events)
    inside = calls.filter((calls.flags & int(Flag.SUMMARY)) == 0).select("rank", "call", "begin_ns", "end_ns")
    turn = waited.mutate(turn_ns=waited.begin_ns + waited.waiting_ns)
    return (
        turn.select("rank", "begin_ns", end_ns=turn.turn_ns),
        turn.select("rank", begin_ns=turn.turn_ns, end_ns=turn.end_ns),
        inside.filter(inside.call.isin(sorted(FILES))).drop("call"),
        inside.drop("call"),
    )


def _sum_spans(spans: Expression, firsts: Sequence[int], begin: int, width: float, columns: int) -> Floats:
    """Time of spans in each column, shape (lanes, columns), in ns; summed by their columns in the engine."""
    import ibis

    spans = spans.filter(spans.end_ns > spans.begin_ns)
    starts = (spans.begin_ns - begin).cast("float64")
    ends = (spans.end_ns - begin).cast("float64")

    def column(at: Expression) -> Expression:
        return ibis.least(ibis.greatest((at / width).floor(), 0), columns - 1).cast("int32")

    placed = spans.select("rank", start=starts, end=ends, first=column(starts), last=column(ends))
    grouped = placed.group_by(["rank", "first", "last"]).agg(
        count=placed.count(), start=placed.start.sum(), end=placed.end.sum()
    )
    found = grouped.to_pyarrow()
    rank, first, last, count, start, end = (np.asarray(found[name].to_numpy()) for name in found.column_names)
    lane = np.maximum(np.searchsorted(np.array(firsts, np.int64), rank, side="right") - 1, 0)
    spent, steps = np.zeros((len(firsts), columns)), np.zeros((len(firsts), columns + 1))
    one = first == last
    np.add.at(spent, (lane[one], first[one]), (end - start)[one])
    some = ~one
    np.add.at(spent, (lane[some], first[some]), (count * (first + 1) * width - start)[some])
    np.add.at(spent, (lane[some], last[some]), (end - count * last * width)[some])
    np.add.at(steps, (lane[some], first[some] + 1), count[some])
    np.add.at(steps, (lane[some], last[some]), -count[some])
    return np.clip(spent + np.cumsum(steps, axis=1)[:, :-1] * width, 0, None)
