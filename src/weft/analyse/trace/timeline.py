# SPDX-License-Identifier: BSD-3-Clause
"""What ranks do over time: shares of each kind of call, lanes of all for a picture, and stretches that repeat."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow
from numpy.typing import NDArray

from weft.analyse.engine import Expression, connect, read
from weft.analyse.tables.traces import ACTIVITY, LETTERS, PhaseRow
from weft.analyse.trace.sums import NS, timed_calls
from weft.errors import DataError
from weft.store.tables import Table
from weft.store.trace import layout
from weft.store.trace.convert import rank_files
from weft.store.trace.folder import TRACE_RANKS, TraceFolder, TraceRankRow
from weft.store.trace.layout import Flag

pa: Any = pyarrow  # it comes without types
Floats = NDArray[np.float64]
#: Of the picture: lanes at most, columns at least and at most, and all of its points.
LANES, FEWEST, MOST, POINTS = 256, 1024, 4096, 1 << 18
KINDS = tuple(LETTERS)[:-1]
AT_ONCE = 8192
_CALLS_OF = {
    "other collective": layout.COLLECTIVES | layout.STARTED_COLLECTIVES | layout.NEIGHBOURHOOD,
    "file": layout.FILES,
    "wait or test": layout.WAITS,
    "receive": layout.RECEIVES | {"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Probe", "MPI_Mprobe"},
    "send": layout.SENDS,
}
MOST_CALLS = 1 << 20  # calls of rank 0 that are searched
LONGEST = 4096  # calls in the longest phase that is found
FEWEST_TIMES = 3  # times that a stretch must come in a row to be a phase
ODD = 0x9E3779B97F4A7C15  # any large odd number: sums that are equal by chance only cost time
Codes = NDArray[np.int64]
Sums = NDArray[np.uint64]


def find_activity(events: Expression, waited: Expression, ranks: Sequence[TraceRankRow]) -> Table:
    """The table ACTIVITY: of many ranks several share a lane."""
    shown = sorted((row for row in ranks if row["events"]), key=lambda row: row["rank"])
    if not shown:
        return ACTIVITY.schema.empty_table()
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
    return pa.table(dict(zip(ACTIVITY.schema.names, given, strict=True))).cast(ACTIVITY.schema)


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


@dataclass(frozen=True, eq=False)
class Timeline:
    """Begin and end in s since the first call; shares of a column's time by `KINDS`, the rest is computing."""

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


def timeline(
    folder: TraceFolder, begin_s: float | None, end_s: float | None, columns: int = 100, most_ranks: int = 32
) -> Timeline:
    """Shares of each kind of call in a stretch of a trace, or all of it, for the first ranks; DataError without any."""
    rows = TRACE_RANKS.read(folder.path)
    first = min((row["begin_ns"] for row in rows if row["events"]), default=0)
    whole_s = (max(row["end_ns"] for row in rows) - first) * NS
    begin_s, end_s = begin_s or 0.0, whole_s if end_s is None else end_s
    if not 0 <= begin_s < min(end_s, whole_s):
        what = f"from {begin_s:.6g} s to {end_s:.6g} s there is nothing: the trace lasts {whole_s:.6g} s"
        raise DataError(what, f"weft trace show {folder.path} --begin 0s --end {whole_s:.6g}s")
    ranks = [row["rank"] for row in rows[:most_ranks]]
    edges = first + np.linspace(begin_s, end_s, columns + 1) / NS
    events = timed_calls(read(connect(), rank_files(folder.events)))
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


def repeating(codes: Codes, longest: int = LONGEST) -> list[tuple[int, int, int]]:
    """Stretches of codes, (n,), that repeat at once: (first, length, times), what covers most first, none overlap."""
    # sums of the first calls, each times a power of an odd number modulo 2^64, and the powers; shape (n + 1,)
    powers = np.cumprod(np.append(np.uint64(1), np.full(len(codes), ODD, np.uint64)), dtype=np.uint64)
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers[:-1], dtype=np.uint64, out=sums[1:])
    found = [
        (begin, period, (end - begin) // period + 1)
        for period in range(1, min(longest, len(codes) // FEWEST_TIMES) + 1)
        for begin, end in _stretches(codes, sums, powers, period)
        if end - begin >= (FEWEST_TIMES - 1) * period
    ]
    found.sort(key=lambda each: (-each[1] * each[2], each[1]))
    free = np.ones(len(codes), bool)
    kept: list[tuple[int, int, int]] = []
    for first, period, times in found:
        covered = slice(first, first + period * times)
        if free[covered].all():
            free[covered] = False
            kept.append((first, period, times))
    return kept


def _stretches(codes: Codes, sums: Sums, powers: Sums, period: int) -> list[tuple[int, int]]:
    """Longest stretches (begin, end) of calls that equal those a period later, if as long as two periods. Each holds a
    whole block of a period that equals the next: blocks are compared by sums first (Karp and Rabin).
    """
    at = sums[::period]
    blocks = at[1:] - at[:-1]
    alike = blocks[:-1] * powers[period] == blocks[1:]
    if not alike.any():
        return []
    found: list[tuple[int, int]] = []
    for begin, end in (_runs(alike) * period).tolist():
        if not np.array_equal(codes[begin:end], codes[begin + period : end + period]):
            runs = _runs(codes[period:] == codes[:-period]).tolist()  # two blocks of the same sum: compare every call
            return [(first, last) for first, last in runs if last - first >= 2 * period]
        # it may reach on to either side, by less than a period
        first, last = max(0, begin - period), min(len(codes) - period, end + period)
        before = np.flatnonzero(codes[first:begin] != codes[first + period : begin + period])
        after = np.flatnonzero(codes[end:last] != codes[end + period : last + period])
        first = first + int(before[-1]) + 1 if len(before) else first
        found.append((first, end + int(after[0]) if len(after) else last))
    return found


def _runs(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Begin and end of each run of what is true, shape (runs, 2)."""
    return np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).reshape(-1, 2)


def phases(events: Expression, sites: Sequence[str], most: int = 8) -> list[PhaseRow]:
    """Rows of PHASES, the longest in time first."""
    calls = timed_calls(events)
    own = calls.filter((calls.rank == 0) & (calls.call != "MPI_Start") & ((calls.flags & int(Flag.SUMMARY)) == 0))
    # polls without success come as often as the clock will have it
    polls = own.filter((own.flags & int(Flag.UNFINISHED)) == 0).order_by("event").limit(MOST_CALLS)
    rows = polls.select("event", "call", "site", "begin_ns", "end_ns").to_pyarrow()
    if not rows.num_rows:
        return []
    names, call = np.unique(rows["call"].cast("string").to_numpy(zero_copy_only=False), return_inverse=True)
    begin, end, event, site = (rows[name].to_numpy() for name in ("begin_ns", "end_ns", "event", "site"))
    found: list[PhaseRow] = []
    for first, period, times in repeating(call.astype(np.int64) * (int(site.max()) + 1) + site):
        within = slice(first, first + period * times)
        took = (end[within] - begin[within]) * NS
        sums: dict[tuple[str, int], float] = defaultdict(float)
        for name, each, seconds in zip(names[call[within]].tolist(), site[within].tolist(), took.tolist(), strict=True):
            sums[name, each] += seconds
        best = sorted(sums, key=lambda key: -sums[key])[:3]
        texts = (f"{name} at {sites[each]}" if sites[each] else name for name, each in best)
        found.append(PhaseRow(
            first_event=int(event[first]), calls=period, times=times, begin_s=float(begin[first] - begin[0]) * NS,
            seconds=float(end[within][-1] - begin[first]) * NS, mpi_s=float(took.sum()),
            text=", ".join(texts),
        ))  # fmt: skip
    return sorted(found, key=lambda row: -row["seconds"])[:most]
