# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft tune`` measures: the library's all-to-alls and Weft's interleaved, ``auto`` beside all others, a probe.
The probe measures the numbers of the cost model: LogGP's parameters, from the times of the kernel `probe`.

With t(k) the time of k messages of b bytes back to back, T(s) that of k messages of s bytes from each of P ranks, and
w half of a round trip (Culler, Liu, Martin and Yoshikawa, "Assessing fast network interfaces", 1996;
Hoefler, Lichei and Rehm, "Low-overhead LogGP parameter assessment for modern interconnection networks", 2007):

==============  =================================================================================
overhead        (t(4 k) - t(k)) / 3 k, of one rank alone: the larger of o and g
gap             (t(4 k) - t(k)) / 3 k P, of all ranks of a node, less the time of its b bytes
rate            B = k P s / (T(2 s) - T(s))
one way         w - b / B: L, the overhead of both ends, and gaps that the start left: at most the L of the model
copy rate       P s / (c(2 s) - c(s)), where all ranks of a node copy at once; the floor's where the run has one
==============  =================================================================================

Slopes have no constants in them: no barrier, no answer, no first message. Where each rank alone is as slow as all
together, the ranks are what limits and not the adapter, and the gap is an upper limit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.analyse.claims.make import judge
from weft.analyse.tables.claims import ClaimRow, QualityRow, make_claim
from weft.analyse.tables.times import reach_within, timed
from weft.errors import DataError, FabricError
from weft.fabric.model import Fabric
from weft.fit.run import copy_rate, floor_of
from weft.format import format_bytes, format_seconds
from weft.kernel.sizes import op_name
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import AUTO
from weft.report.tabular import Table, Words, make_table
from weft.report.view import RunView
from weft.tune.model import SCHEMA, USUAL_STAGES, Machine, MachineFile, rows_by_algorithm

SIZES = ("8 B", "64 B", "512 B", "4 KiB", "16 KiB", "64 KiB")
LAUNCHES = 4
STAGES = (1, 4, 12, 28, 64)
CALLS = ("Alltoall", "Alltoallv")
PATTERN = "moe"  # whose rows are even, so that the mean of a table is that of all blocks
SAME = 1.1  # all ranks together take no more than so many times what one alone takes
PROBE = """\
# Written by `weft tune --probe`.
name = {name}
title = {title}
kernel = "probe"

[measure]
launches = {launches}
budget = "0.5 s"
seed = 1

[[series]]
name = "probe"
scaling = "weak"
nodes = {nodes}
ranks_per_node = {ranks}
"""
STUDY = """\
# Written by `weft tune`: the library's own all-to-alls and Weft's, interleaved; the predicted winner first.
name = {name}
title = {title}
kernel = "collective"
explain = false

[measure]
launches = {launches}
budget = "0.5 s"
max_samples = 200
seed = 1
{start}
[collective]
collectives = {calls}
sizes = {sizes}
algorithm = {algorithms}
{more}
[placement]
oversubscribe = {oversubscribe}

[[series]]
name = "shapes"
scaling = "weak"
nodes = {nodes}
ranks_per_node = {ranks}
"""


def candidates(ranks_per_node: int) -> list[str]:
    """The algorithms that are worth measuring with so many ranks on a node.
    With one rank on a node those that know the nodes have nothing to gather. With several, one of them sends for all
    in 1 to 64 stages, which keeps messages in order, or all of them send, in one stage and in the usual number.
    """
    flat = ["flat.window{w=8}", "flat.pairwise", "sched.matrix", "bruck{r=2}", "bruck{r=8}"]
    if ranks_per_node == 1:
        return flat
    one = [f"node.multi{{nl=1,stages={count}}}" for count in STAGES]
    every = [f"node.multi{{nl={ranks_per_node},stages={count}}}" for count in (1, USUAL_STAGES)]
    return [*flat, *one, *every, "node.direct{w=64}", "node.bruck{r=2}"]


def predicted(fabric: Fabric, nodes: int, ranks_per_node: int, block_bytes: int) -> dict[str, float]:
    """Seconds of the candidates by the cost model, the winner first; none where the fabric lacks a number of it."""
    try:
        machine = Machine.of(fabric)
    except FabricError:
        return {}
    found = {each: machine.seconds(each, nodes, ranks_per_node, block_bytes) for each in candidates(ranks_per_node)}
    # what sched.matrix leaves to another one is as fast, after a comparison of counts
    return dict(sorted(found.items(), key=lambda each: (each[1], each[0] == "sched.matrix")))


def ordered(fabric: Fabric, nodes: int, ranks_per_node: int, block_bytes: int) -> list[str]:
    """The candidates, the predicted winner first; in their own order where the fabric lacks a number of the model."""
    return list(predicted(fabric, nodes, ranks_per_node, block_bytes)) or candidates(ranks_per_node)


@dataclass(frozen=True)
class What:
    """What to measure on a fabric."""

    nodes: tuple[int, ...]
    ranks_per_node: int
    sizes: tuple[str, ...]  # bytes of a block, such as "512 B"
    launches: int
    calls: tuple[str, ...] = CALLS  # ``Alltoall``, ``Alltoallv`` or both
    skew: tuple[float, ...] = ()  # of Alltoallv, beside even blocks: the busiest receiver over the mean
    oversubscribe: bool = False  # whether ranks may share cores


def tuning_study(fabric: Fabric, what: What) -> str:
    """The study of the library's choice and Weft's candidates, as the text of a study file."""
    return _written(fabric, "tune", f"All-to-alls on {fabric.name}", what, ())


def checking_study(fabric: Fabric, what: What, table: Path) -> str:
    """The same with every algorithm that the library lets one choose, and ``auto`` by a table."""
    title = f"All-to-alls by {table.name} beside all others on {fabric.name}"
    lines = f'table = {json.dumps(str(table.resolve()))}\nalgorithms = "each"\n'
    return _written(fabric, "check", title, what, (AUTO,), lines)


def _written(fabric: Fabric, kind: str, title: str, what: What, others: Sequence[str], more: str = "") -> str:
    return STUDY.format(
        # A model's ranks can start at one time exactly. After a barrier they start as unevenly as what was simulated
        # before left them: one algorithm then differs from itself by 3 % at a few bytes.
        start='start = "window"\n' if fabric.is_model else "",
        name=json.dumps(f"{kind}-{fabric.name}"),
        title=json.dumps(title),
        launches=what.launches,
        calls=json.dumps(list(what.calls)),
        sizes=json.dumps(list(what.sizes)),
        algorithms=json.dumps([DEFAULT, *ordered(fabric, max(what.nodes), what.ranks_per_node, 512), *others]),
        more=more + (f'patterns = ["equal", "{PATTERN}"]\nskew = {list(what.skew)}\n' if what.skew else ""),
        nodes=list(what.nodes),
        ranks=what.ranks_per_node,
        oversubscribe=json.dumps(what.oversubscribe),
    )


def probing_study(fabric: Fabric, what: What) -> str:
    """The study of a probe between two nodes, or within the only one, as the text of a study file."""
    name, title = json.dumps(f"probe-{fabric.name}"), json.dumps(f"Messages on {fabric.name}")
    nodes, ranks = min(2, len(fabric.hosts)), what.ranks_per_node
    return PROBE.format(name=name, title=title, launches=what.launches, nodes=nodes, ranks=ranks)


def probed(view: RunView) -> MachineFile:
    """The numbers from a run's warm medians; DataError if one is missing, or it is too noisy for a slope."""
    cell = next(iter(view.plan.measured))
    seconds = {row["call"]: row["median_s"] for row in timed(view.rows, phase="warm") if row["cell"] == cell.id}
    senders = cell.ranks_per_node if cell.nodes > 1 else cell.ranks // 2
    found = from_times(seconds, cell.parameters, senders, cell.ranks_per_node)
    changes: dict[str, Any] = {"fabric": view.plan.fabric, "run": view.path.name}
    if (floor := copy_rate(floor_of(view.path))) is not None:
        changes["copy_rate_bytes_per_s"] = floor
    return found.model_copy(update=changes)


def from_times(
    seconds: Mapping[str, float], values: Mapping[str, int], senders: int, ranks_per_node: int
) -> MachineFile:
    """The numbers from the seconds of each operation by name; DataError as of :func:`probed`."""
    keys = ("small", "large", "messages", "trains", "more", "longer")
    small, large, few, trains, times, longer = (int(values[key]) for key in keys)

    def rise(short: str, long: str) -> float:
        if short not in seconds or long not in seconds or seconds[long] <= seconds[short]:
            times = f"{seconds.get(short)} s and {seconds.get(long)} s"
            raise DataError(f"{short} and {long} took {times}: no slope", "measure again on a quiet machine")
        return seconds[long] - seconds[short]

    def longer_by(op: str) -> float:
        return rise(op_name(op, large), op_name(op, longer * large))

    alone, together = (
        rise(op_name(f"{who}-{few}", small), op_name(f"{who}-{times * few}", small)) / ((times - 1) * few)
        for who in ("one", "all")
    )
    added = (longer - 1) * large
    rate = trains * senders * added / longer_by(f"all-{trains}")
    return MachineFile(
        schema=SCHEMA,  # pyright: ignore[reportCallIssue]
        fabric="",
        run="",
        gap_s=max(together / senders - small / rate, 0.0),
        gap_is_limit=senders > 1 and together <= SAME * alone,
        overhead_s=alone,
        one_way_s=max(seconds.get(op_name("trip", small), 0.0) - small / rate, 0.0),
        rate_bytes_per_s=rate,
        copy_rate_bytes_per_s=ranks_per_node * added / longer_by("copy"),
    )


@dataclass(frozen=True)
class Checked:
    """``auto`` at one size of one call at one shape."""

    op: str
    nodes: int
    ranks: int
    block_bytes: int
    auto_s: float  # medians of ``auto``
    default_s: float  # ... of the library's own choice
    best: str  # the fastest of all others
    best_s: float
    # whether its interval and that of the library's choice stand apart; a model's times have none and repeat exactly
    shown: bool

    @property
    def ratio(self) -> float:
        """Time of ``auto`` divided by that of the best other."""
        return self.auto_s / self.best_s

    @property
    def to_default(self) -> float:
        """Time of ``auto`` divided by that of the library's own choice."""
        return self.auto_s / self.default_s


def checked(view: RunView) -> list[Checked]:
    """Each call, shape and size of a run that has ``auto``, in order."""
    found: list[Checked] = []
    for place, rows in sorted(rows_by_algorithm(view).items()):
        if AUTO in rows and DEFAULT in rows:
            auto, own = rows[AUTO], rows[DEFAULT]
            best = min((name for name in rows if name != AUTO), key=lambda name: rows[name]["median_s"])
            shown = auto["low_s"] is None or own["low_s"] is None
            if not shown:
                (low, high), (own_low, own_high) = reach_within(auto), reach_within(own)
                shown = low > own_high or high < own_low
            found.append(Checked(*place, auto["median_s"], own["median_s"], best, rows[best]["median_s"], shown))
    return found


def check_table(title: str, found: Sequence[Checked]) -> Table:
    """One row for each call, shape and size."""
    return make_table(
        title, found,
        (Words("call"), "", lambda each: each.op),
        (Words("shape"), "", lambda each: f"N = {each.nodes}, p = {each.ranks}"),
        ("block", "", lambda each: format_bytes(each.block_bytes)),
        ("auto", "", lambda each: format_seconds(each.auto_s)), (Words("best other"), "", lambda each: each.best),
        ("its time", "", lambda each: format_seconds(each.best_s)), ("ratio", "", lambda each: f"{each.ratio:.2f}"),
        ("library", "", lambda each: format_seconds(each.default_s)),
        ("ratio", "", lambda each: f"{each.to_default:.2f}" + ("" if each.shown else " ~")),
    )  # fmt: skip


def check_claims(found: Sequence[Checked], quality: Sequence[QualityRow], doubts: Sequence[ClaimRow]) -> list[ClaimRow]:
    """The largest ratios: to the best of all others, and to the library's own choice where a difference is shown."""
    to_best = max(found, key=lambda each: each.ratio, default=None)
    to_library = max((each for each in found if each.shown), key=lambda each: each.to_default, default=None)
    if to_best is None:
        return judge([make_claim("auto.untimed", "answer"), *doubts], quality)
    same = make_claim("auto.same", "answer")
    library = _claim("auto.library", to_library, to_library.to_default) if to_library else same
    return judge([_claim("auto.best", to_best, to_best.ratio, to_best.best), library, *doubts], quality)


def _claim(id: str, each: Checked, ratio: float, other: str = "") -> ClaimRow:
    return make_claim(
        id, "answer", other, ratio, "factor", name=f"MPI_{each.op.capitalize()}", bytes=each.block_bytes,
        nodes=each.nodes, ranks=each.ranks,
    )  # fmt: skip
