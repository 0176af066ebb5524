# SPDX-License-Identifier: BSD-3-Clause
"""What ranks do over time: shares of each kind of call in a stretch of a trace, and lanes of all for a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow
from numpy.typing import NDArray

from weft.analyse.engine import Expression, connect, read
from weft.analyse.tables.traces import ACTIVITY, LETTERS
from weft.analyse.trace.sums import NS, timed_calls
from weft.errors import DataError
from weft.store.tables import Table
from weft.store.trace import layout
from weft.store.trace.convert import event_files
from weft.store.trace.folder import TRACE_RANKS, TraceFolder, TraceRankRow

pa: Any = pyarrow  # it comes without types
Floats = NDArray[np.float64]

#: Of the picture: lanes at most, columns at least and at most, and all of its points.
LANES, FEWEST, MOST, POINTS = 256, 1024, 4096, 1 << 18


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
    spans = _spans(events, waited)
    waiting, moving, file, inside = (_sum_spans(each, firsts, begin, width, columns) for each in spans)
    alive = np.zeros((len(firsts), columns))
    edges = begin + width * np.arange(columns + 1)
    for place, row in enumerate(shown):
        alive[place // each] += np.diff(np.clip(edges, row["begin_ns"], row["end_ns"]))
    unknown = np.clip(inside - file - waiting - moving, 0, None)
    whole = np.maximum(np.maximum(alive, waiting + moving + file + unknown), width * 1e-9)
    parts = [part / whole for part in (waiting, moving, file, unknown)]
    parts.append(np.where(alive > 0, np.clip(1 - np.sum(parts, axis=0), 0, None), 0.0))
    lanes = np.repeat(np.arange(len(firsts)), columns)
    begin = np.tile(np.arange(columns), len(firsts)) * width * NS
    given = (lanes, np.repeat(firsts, columns), begin, begin + width * NS, *(part.ravel() for part in parts))
    named = dict(zip(ACTIVITY.schema.names, given, strict=True))
    return pa.table(named).cast(ACTIVITY.schema)


def _spans(events: Expression, waited: Expression) -> tuple[Expression, ...]:
    """rank, begin and end of stretches of waiting, moving, files and calls: a call waits first, then moves data."""
    calls = timed_calls(events)
    inside = calls.filter((calls.flags & int(layout.Flag.SUMMARY)) == 0).select("rank", "call", "begin_ns", "end_ns")
    turn = waited.mutate(turn_ns=waited.begin_ns + waited.waiting_ns)
    return (
        turn.select("rank", "begin_ns", end_ns=turn.turn_ns),
        turn.select("rank", begin_ns=turn.turn_ns, end_ns=turn.end_ns),
        inside.filter(inside.call.isin(sorted(layout.FILES))).drop("call"),
        inside.drop("call"),
    )


def _sum_spans(spans: Expression, firsts: Sequence[int], begin: int, width: float, columns: int) -> Floats:
    """Time of spans in each column, shape (lanes, columns), in ns; summed by their columns in the engine."""
    spans = spans.filter(spans.end_ns > spans.begin_ns)
    starts = (spans.begin_ns - begin).cast("float64")
    ends = (spans.end_ns - begin).cast("float64")

    def column(at: Expression) -> Expression:
        return ibis.least(ibis.greatest((at / width).floor(), 0), columns - 1).cast("int32")

    placed = spans.select("rank", start=starts, end=ends, first=column(starts), last=column(ends))
    sums = {"count": placed.count(), "start": placed.start.sum(), "end": placed.end.sum()}
    found = placed.group_by(["rank", "first", "last"]).agg(**sums).to_pyarrow()
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


KINDS = tuple(LETTERS)[:-1]
AT_ONCE = 8192


@dataclass(frozen=True, eq=False)
class Timeline:
    """Shares of time.

    Begin and end are s since the first call of the first rank. Shares are of a column's time, from 0 to 1, shape
    (ranks, kinds, columns), by `KINDS`; what is left is computing.
    """

    begin_s: float
    end_s: float
    ranks: list[int]
    shares: Floats

    def letters(self) -> dict[int, str]:
        """For each rank a letter a column: what took most of it, computing among them."""
        outside = 1 - self.shares.sum(axis=1, keepdims=True)
        most = np.concatenate([self.shares, outside], axis=1).argmax(axis=1)
        rows = np.array(list(LETTERS.values()))[most].tolist()
        return {rank: "".join(row) for rank, row in zip(self.ranks, rows, strict=True)}


def kind_of(call: str) -> str:
    """Which of `KINDS` a call is."""
    family = layout.VOCABULARY[call].family
    if family.startswith("AllToAll"):
        return "all-to-all"
    if family == "Barrier":
        return "barrier"
    return next((kind for kind, calls in _CALLS_OF.items() if call in calls), "other call")


_CALLS_OF = {
    "other collective": layout.COLLECTIVES | layout.STARTED_COLLECTIVES | layout.NEIGHBOURHOOD,
    "file": layout.FILES,
    "wait or test": layout.WAITS,
    "receive": layout.RECEIVES | {"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Probe", "MPI_Mprobe"},
    "send": layout.SENDS,
}


def timeline(
    folder: TraceFolder, begin_s: float | None, end_s: float | None, columns: int = 100, most_ranks: int = 32
) -> Timeline:
    """Shares of each kind of call in a stretch of a trace, or all of it, for the first ranks; DataError without any."""
    rows = TRACE_RANKS.read(folder.path)
    first = min((row["begin_ns"] for row in rows if row["events"]), default=0)
    whole_s = (max(row["end_ns"] for row in rows) - first) * NS
    begin_s, end_s = begin_s or 0.0, whole_s if end_s is None else end_s
    if not 0 <= begin_s < min(end_s, whole_s):
        raise DataError(
            f"from {begin_s:.6g} s to {end_s:.6g} s there is nothing: the trace lasts {whole_s:.6g} s",
            f"weft trace show {folder.path} --begin 0s --end {whole_s:.6g}s",
        )
    ranks = [row["rank"] for row in rows[:most_ranks]]
    edges = first + np.linspace(begin_s, end_s, columns + 1) / NS
    events = timed_calls(read(connect(), event_files(folder)))
    inside = (events.end_ns > float(edges[0])) & (events.begin_ns < float(edges[-1])) & events.rank.isin(ranks)
    shown = events.filter(inside, (events.flags & int(layout.Flag.SUMMARY)) == 0)
    return Timeline(begin_s, end_s, ranks, _shares(shown, ranks, edges))


def _shares(events: Expression, ranks: list[int], edges: Floats) -> Floats:
    """The time spent up to each edge, by rank and kind; its differences are the times of columns."""
    rows = events.select("rank", "call", "begin_ns", "end_ns").to_pyarrow()
    place = {rank: index for index, rank in enumerate(ranks)}
    rank = np.array([place[each] for each in rows["rank"].to_pylist()], np.int64)
    kind = np.array([KINDS.index(kind_of(each)) for each in rows["call"].to_pylist()], np.int64)
    begin, end = (rows[name].to_numpy().astype(np.float64) for name in ("begin_ns", "end_ns"))
    spent = np.zeros((len(ranks), len(KINDS), len(edges)))
    for start in range(0, len(begin), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        so_far = np.clip(edges[None, :] - begin[some, None], 0, (end[some] - begin[some])[:, None])
        np.add.at(spent, (rank[some], kind[some]), so_far)
    return np.clip(np.diff(spent, axis=2) / (edges[1] - edges[0]), 0, 1)
