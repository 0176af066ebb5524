# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a selection table from a run: the algorithms that were shown to beat the library's own.

Only what was measured becomes a rule: the nodes and ranks of the cells, and the sizes from the first to the last of a
row of measured sizes with one winner. Between two sizes with different winners, below the smallest and above the
largest, the library's own algorithm runs. So nothing is extrapolated, of Bruck's or of any other.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from weft.analyse.tables.answers import WINNERS, WinnerRow
from weft.analyse.winners import LEAST_WIN
from weft.kernel.traffic import is_skewed, peak_of, skew_of
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import PMPI, Evidence, Rule, is_own
from weft.report.view import RunView
from weft.tune.model import OPS, rows_by_algorithm

#: Algorithms of Weft that the selectors of a model have, too, by call, and the last words of their names there. What
#: they call bruck in an all-to-all of differing blocks sends each block by itself.
SAME: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("alltoall", "flat.pairwise"): ("pairwise", "ring"),
    ("alltoallv", "flat.pairwise"): ("pairwise", "ring"),
    ("alltoall", "bruck"): ("bruck",),
    ("alltoall", "bruck{r=2}"): ("bruck",),
}
LEAST_WIN_OF_MODEL = 0.97  # times that repeat exactly show 3 %


@dataclass(frozen=True)
class Choice:
    """The best algorithm of one call at one shape and size."""

    op: str
    nodes: int
    ranks_per_node: int
    ranks: int
    block_bytes: int
    algorithm: str  # a spec; ``pmpi`` where no other is shown to take at most 95 % of the library's time
    median_s: float
    low_s: float
    high_s: float
    default_s: float  # the library's time
    launches: int
    measured: Mapping[str, float] = field(default_factory=dict[str, float])  # medians of all algorithms, by spec
    ratio_low: float | None = None
    ratio_high: float | None = None

    @property
    def skew(self) -> float:
        """The busiest receiver's bytes over the mean: 1 where all blocks are alike."""
        pattern = self.op.partition("-")[2]
        return min(skew_of(pattern), float(self.ranks)) if pattern else 1.0

    @property
    def mean_bytes(self) -> tuple[int, int]:
        """The mean block, from to: that of a skewed call is known within 2 %, since blocks are whole bytes."""
        pattern = self.op.partition("-")[2]
        if not pattern:
            return self.block_bytes, self.block_bytes
        mean = self.block_bytes / peak_of(pattern, self.ranks)
        return math.floor(0.98 * mean), math.ceil(1.02 * mean)

    @property
    def ratio(self) -> float:
        """Its time divided by the library's."""
        return self.median_s / self.default_s


def choices(view: RunView) -> list[Choice]:
    """The best algorithm at each measured size, in the order of op, shape and size.

    On a real fabric an algorithm must win by the rules of `weft.analyse.winners`, in four launches or more, and by 5 %
    at the near end of the interval; the times of a model repeat exactly, so one launch and 3 % will do.
    """
    shown = {
        (row["call"], row["nodes"], row["ranks"], row["bytes"]): row
        for row in WINNERS.read(view.path)
        if row["high"] is not None and row["high"] <= LEAST_WIN
    }
    found: list[Choice] = []
    for place, every in sorted(rows_by_algorithm(view, is_chosen).items()):
        rows = {name: row for name, row in every.items() if name == DEFAULT or is_own(name)}
        if DEFAULT not in rows or len(rows) < 2:
            continue
        op, nodes, ranks, size = place
        winner = shown.get(place)
        best = winner["algorithm"] if winner else DEFAULT
        if view.plan.is_model:
            best = min(rows, key=lambda name: rows[name]["median_s"])
            best = best if rows[best]["median_s"] <= LEAST_WIN_OF_MODEL * rows[DEFAULT]["median_s"] else DEFAULT
            best = DEFAULT if is_used(op, best, rows[DEFAULT].get("algorithm") or "") else best
        row, own_s = rows[best], rows[DEFAULT]["median_s"]
        median_s, ratio = row["median_s"], row["median_s"] / own_s
        low, high = (median_s if end is None else end for end in (row["low_s"], row["high_s"]))
        ends = (winner["low"], winner["high"]) if winner and winner["algorithm"] == best else (ratio, ratio)
        where = op, nodes, row["ranks_per_node"], ranks, size, best if is_own(best) else PMPI
        measured = {name: each["median_s"] for name, each in rows.items()}
        found.append(Choice(*where, median_s, low, high, own_s, row["launches"], measured, *ends))
    return found


def as_winners(found: Sequence[Choice]) -> list[WinnerRow]:
    """Choices as rows of winners; without an algorithm of Weft the library's own choice is the winner."""
    rows: list[WinnerRow] = []
    for each in found:
        name, seconds, low, high = each.algorithm, each.median_s, each.ratio_low, each.ratio_high
        if name == PMPI:
            name, seconds, low, high = DEFAULT, each.default_s, None, None
        rows.append({
            "call": each.op, "nodes": each.nodes, "ranks": each.ranks, "bytes": each.block_bytes, "algorithm": name,
            "median_s": seconds, "default_s": each.default_s, "ratio": seconds / each.default_s,
            "low": low, "high": high,
        })  # fmt: skip
    return rows


def is_used(op: str, algorithm: str, recorded: str) -> bool:
    """Whether a model's call took an algorithm, as recorded (``ompi_pairwise``): choosing it again gains nothing."""
    return recorded.rpartition("_")[2] in SAME.get((op, algorithm), ())


def is_chosen(op: str) -> bool:
    """Whether a table chooses for an operation: an all-to-all of even blocks, or of a known skew."""
    name, _, pattern = op.partition("-")
    return name in OPS and (not pattern or is_skewed(pattern))


def rules(found: Sequence[Choice]) -> list[Rule]:
    """The rules for choices in order, and last the library's own for everything else."""
    made: list[Rule] = []
    skews = sorted({choice.skew for choice in found})
    for place, same in groupby(found, key=lambda c: (c.op, c.nodes, c.ranks_per_node, c.ranks)):
        for algorithm, some in groupby(same, key=lambda choice: choice.algorithm):
            if algorithm != PMPI:
                made.append(_rule(place, algorithm, list(some), skews))
    return [*made, Rule(op="*", algorithm=PMPI)]


def _class_of(skew: float, skews: Sequence[float]) -> tuple[float, float] | None:
    """The skews that one measured stands for, half way to its neighbours and as far beyond the last; None if alone."""
    if len(skews) < 2:
        return None
    at = skews.index(skew)
    low = math.sqrt(skews[at - 1] * skew) if at else 0.0
    high = math.sqrt(skew * skews[at + 1]) if at + 1 < len(skews) else skew * math.sqrt(skew / skews[at - 1])
    return low, high


def _rule(place: tuple[str, int, int, int], algorithm: str, some: Sequence[Choice], skews: Sequence[float]) -> Rule:
    op, nodes, ranks_per_node, ranks = place
    weakest = max(some, key=lambda choice: choice.ratio)
    median_us, low_us, high_us, pmpi_us = (
        1e6 * seconds for seconds in (weakest.median_s, weakest.low_s, weakest.high_s, weakest.default_s)
    )
    return Rule(
        op="alltoall" if op == "alltoall" else "alltoallv",
        skew=None if op == "alltoall" else _class_of(some[0].skew, skews),
        nodes=(nodes, nodes),
        ranks_per_node=(ranks_per_node, ranks_per_node),
        p=(ranks, ranks),
        bytes=(some[0].mean_bytes[0], some[-1].mean_bytes[1]),
        algorithm=algorithm,
        evidence=Evidence(median_us=median_us, interval_us=(low_us, high_us), pmpi_us=pmpi_us, n=weakest.launches),
    )
