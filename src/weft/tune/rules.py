# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a selection table from a run: algorithms shown to beat the library's own; and who wins where, as text.
Only what was measured becomes a rule: the nodes and ranks of the cells, and the sizes from the first to the last of a
row of measured sizes with one winner. Between two sizes with different winners, below the smallest and above the
largest, the library's own algorithm runs. So nothing is extrapolated, of Bruck's or of any other.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from weft.analyse.claims.make import claim_winners, judge
from weft.analyse.tables.answers import WINNERS, WinnerRow
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.winners import LEAST_WIN
from weft.fabric.model import Fabric
from weft.format import format_bytes, format_seconds, plural
from weft.kernel.traffic import is_skewed, peak_of, skew_of
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import PMPI, Evidence, Rule, is_own
from weft.report.tabular import Table, Words, make_table
from weft.report.view import RunView
from weft.tune.model import OPS, Machine, rows_by_algorithm
from weft.tune.study import candidates, predicted

FASTEST = " *"
WIDTH_OF_TIME = 13  # "8.92 us *" and the space between two columns
OFF = 2.0  # a prediction beyond this factor of what was measured is no help
#: Times that users published: nodes, ranks on each, bytes of a block; the call, its time, and the source.
PUBLISHED = (
    (128, 96, 8, "MPI_Alltoallv under a vendor's MPI: 2.3 s (pmodels/mpich issue 7601, Aurora)"),
    (64, 96, 1024, "osu_alltoallv under a vendor's MPI did not end (pmodels/mpich issue 7593, Aurora)"),
)
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
        if not (pattern := self.op.partition("-")[2]):
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
        (op, nodes, ranks, size), winner = place, shown.get(place)
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
    skews = sorted({choice.skew for choice in found})
    alike = groupby(found, key=lambda c: (c.algorithm, c.op, c.nodes, c.ranks_per_node, c.ranks))
    made = [_rule(list(some), skews) for (algorithm, *_), some in alike if algorithm != PMPI]
    return [*made, Rule(op="*", algorithm=PMPI)]


def _class_of(skew: float, skews: Sequence[float]) -> tuple[float, float] | None:
    """The skews that one measured stands for, half way to its neighbours and as far beyond the last; None if alone."""
    if len(skews) < 2:
        return None
    at = skews.index(skew)
    high = math.sqrt(skew * skews[at + 1]) if at + 1 < len(skews) else skew * math.sqrt(skew / skews[at - 1])
    return math.sqrt(skews[at - 1] * skew) if at else 0.0, high


def _rule(some: Sequence[Choice], skews: Sequence[float]) -> Rule:
    first = some[0]
    least = max(some, key=lambda choice: choice.ratio)  # the weakest evidence
    times = (least.median_s, least.low_s, least.high_s, least.default_s)
    median_us, low_us, high_us, pmpi_us = (1e6 * seconds for seconds in times)
    return Rule(
        op="alltoall" if first.op == "alltoall" else "alltoallv",
        skew=None if first.op == "alltoall" else _class_of(first.skew, skews),
        nodes=(first.nodes, first.nodes),
        ranks_per_node=(first.ranks_per_node, first.ranks_per_node),
        p=(first.ranks, first.ranks),
        bytes=(first.mean_bytes[0], some[-1].mean_bytes[1]),
        algorithm=first.algorithm,
        evidence=Evidence(median_us=median_us, interval_us=(low_us, high_us), pmpi_us=pmpi_us, n=least.launches),
    )


def columns_of(sizes: Sequence[int], ranks_per_node: int, width: int) -> list[list[int]]:
    """The sizes in groups whose table has so many characters, with the longest name of an algorithm whole."""
    most = max(1, (width - max(map(len, candidates(ranks_per_node))) - 2) // WIDTH_OF_TIME)
    return [list(sizes[first : first + most]) for first in range(0, len(sizes), most)]


def predicted_table(title: str, machine: Machine, nodes: int, ranks_per_node: int, sizes: Sequence[int]) -> Table:
    """One row for each algorithm and one column for each size of a block, the fastest marked."""
    names = candidates(ranks_per_node)
    times = {size: {name: machine.seconds(name, nodes, ranks_per_node, size) for name in names} for size in sizes}
    least = {size: min(column.values()) for size, column in times.items()}
    rows = tuple(
        (name, *(format_seconds(times[size][name]) + (FASTEST if times[size][name] == least[size] else "")
                 for size in sizes))
        for name in names
    )  # fmt: skip
    shape = f"{title}, N = {nodes}, p = {nodes * ranks_per_node} (* the fastest)"
    return Table(shape, ("algorithm", *map(format_bytes, sizes)), rows)


def published(nodes: int, ranks_per_node: int, sizes: Sequence[int]) -> list[str]:
    """What users published of these sizes, on as many nodes."""
    return [
        f"Published, {format_bytes(block_bytes)} on {nodes} nodes of {ranks_per_node}: {words}"
        for *shape, block_bytes, words in PUBLISHED
        if shape == [nodes, ranks_per_node] and block_bytes in sizes
    ]


def winners_table(title: str, found: Sequence[Choice], fabric: Fabric) -> Table:
    """One row for each call, shape and size: the choice, its time, the library's, and the predicted winner."""
    expected = [next(iter(_predicted(choice, fabric).items()), None) for choice in found]
    return make_table(
        title, list(zip(found, expected, strict=True)),
        (Words("call"), "", lambda row: row[0].op),
        (Words("shape"), "", lambda row: f"N = {row[0].nodes}, p = {row[0].ranks}"),
        ("block", "", lambda row: format_bytes(row[0].block_bytes)), (Words("take"), "", lambda row: row[0].algorithm),
        ("time", "", lambda row: format_seconds(row[0].median_s)),
        ("library", "", lambda row: format_seconds(row[0].default_s)),
        ("saved", "", lambda row: f"{100 * (1 - row[0].ratio):.0f} %" if row[0].ratio < 1 else "–"),
        (Words("predicted winner"), "", lambda row: row[1][0] if row[1] else "–"),
        ("predicted", "", lambda row: format_seconds(row[1][1]) if row[1] else "–"),
    )  # fmt: skip


def tuning_claims(found: Sequence[Choice], table: str, view: RunView) -> list[ClaimRow]:
    """Where an algorithm of Weft is faster, and what the selection table saves at most."""
    doubts = view.claimed("doubt")
    if not found:
        return judge([make_claim("collective.untimed", "answer"), *doubts], view.quality)
    answers, best = claim_winners(as_winners(found)), min(found, key=lambda each: each.ratio)
    saved = best.default_s - best.median_s
    remedy = make_claim(
        "remedy.table", "remedy", table, saved / best.default_s, "share", bound=saved,
        basis="simulated" if view.plan.is_model else "measured",
        next=f"weft exec --table {table} -- mpirun ...",
    )  # fmt: skip
    return judge([*answers, *([remedy] if best.algorithm != PMPI else []), *doubts], view.quality)


def prediction_errors(found: Sequence[Choice], fabric: Fabric) -> list[str]:
    """A line where the cost model is off by more than `OFF` for what was measured, with the worst of them."""
    errors = [
        (predicted / choice.measured[name], name, predicted, choice)
        for choice in found
        for name, predicted in _predicted(choice, fabric).items()
        if choice.measured.get(name)
    ]
    if not (off := [each for each in errors if not 1 / OFF <= each[0] <= OFF]):
        return []
    _, name, predicted, choice = max(off, key=lambda each: abs(math.log(each[0])))
    return [
        f"The cost model is off by more than {OFF:g}x in {len(off)} of {plural(len(errors), 'time')}; worst: {name}, "
        f"{choice.op}, N = {choice.nodes}, p = {choice.ranks}, {format_bytes(choice.block_bytes)}: predicted "
        f"{format_seconds(predicted)}, measured {format_seconds(choice.measured[name])}. Do not rely on --predict here."
    ]


def _predicted(choice: Choice, fabric: Fabric) -> dict[str, float]:
    """Seconds of each candidate at a choice's place, the fastest first; none of a skewed call: the model is of even."""
    return predicted(fabric, choice.nodes, choice.ranks_per_node, choice.block_bytes) if choice.skew <= 1 else {}
