# SPDX-License-Identifier: BSD-3-Clause
"""A stretch of a trace in columns of equal time: which share of each a rank spent in which kind of call."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression, connect, read
from weft.analyse.tables.traces import LETTERS
from weft.analyse.trace.sums import NS, calls_of
from weft.errors import DataError
from weft.store.trace.calls import (
    COLLECTIVES,
    FILES,
    NEIGHBOURHOOD,
    RECEIVES,
    SENDS,
    STARTED_COLLECTIVES,
    VOCABULARY,
    WAITS,
)
from weft.store.trace.convert import event_files
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import Flag
from weft.store.trace.tables import TRACE_RANKS

Floats = NDArray[np.float64]
KINDS = tuple(LETTERS)[:-1]
AT_ONCE = 8192


@dataclass(frozen=True, eq=False)
class Timeline:
    """Shares of time."""

    # begin_s, end_s: of the stretch, in s since the first call of the first rank
    begin_s: float
    end_s: float
    ranks: list[int]  # the ranks shown
    # shape (ranks, kinds, columns), ratios from 0 to 1: of a column's time, by `KINDS`; what is left is computing
    shares: Floats

    def letters(self) -> dict[int, str]:
        """For each rank a letter a column: what took most of it, computing among them."""
        outside = 1 - self.shares.sum(axis=1, keepdims=True)
        most = np.concatenate([self.shares, outside], axis=1).argmax(axis=1)
        letters = list(LETTERS.values())
        rows: list[list[int]] = most.tolist()
        return {rank: "".join(letters[each] for each in row) for rank, row in zip(self.ranks, rows, strict=True)}


def kind_of(call: str) -> str:
    """Which of `KINDS` a call is."""
    family = VOCABULARY[call].family
    if family.startswith("AllToAll"):
        return "all-to-all"
    if family == "Barrier":
        return "barrier"
    for kind, calls in _CALLS_OF.items():
        if call in calls:
            return kind
    return "other call"


_CALLS_OF = {
    "other collective": COLLECTIVES | STARTED_COLLECTIVES | NEIGHBOURHOOD,
    "file": FILES,
    "wait or test": WAITS,
    "receive": RECEIVES | {"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Probe", "MPI_Mprobe"},
    "send": SENDS,
}


def timeline(
    folder: TraceFolder, begin_s: float | None, end_s: float | None, columns: int = 100, most_ranks: int = 32
) -> Timeline:
    """Shares of each kind of call in a stretch of a trace, for the first ranks.

    `begin_s`, `end_s`: of the stretch, in s since the first call of the first rank; None: those of the trace. Raises
    DataError: the stretch is empty or not in the trace.
    """
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
    events = calls_of(read(connect(), event_files(folder)))
    inside = (events.end_ns > float(edges[0])) & (events.begin_ns < float(edges[-1])) & events.rank.isin(ranks)
    shown = events.filter(inside, (events.flags & int(Flag.SUMMARY)) == 0)
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
