# SPDX-License-Identifier: BSD-3-Clause
"""Who wins where, and what the cost model expected, as text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from weft.analyse.claims.gate import judge
from weft.analyse.claims.sweeps import claim_winners
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.format import format_bytes, format_seconds, plural
from weft.mpi.alltoall import PMPI
from weft.report.tabular import Table, Words
from weft.report.view import RunView
from weft.tune.model import Machine
from weft.tune.rules import Choice, as_winners
from weft.tune.study import candidates, ordered

FASTEST = " *"


@dataclass(frozen=True)
class Published:
    """A time that users published."""

    # nodes, ranks_per_node, block_bytes: where
    nodes: int
    ranks_per_node: int
    block_bytes: int
    words: str  # the call, its time, and the source


PUBLISHED = (
    Published(128, 96, 8, "MPI_Alltoallv under a vendor's MPI: 2.3 s (pmodels/mpich issue 7601, Aurora)"),
    Published(64, 96, 1024, "osu_alltoallv under a vendor's MPI did not end (pmodels/mpich issue 7593, Aurora)"),
)


WIDTH_OF_TIME = 13  # "8.92 us *" and the space between two columns


def columns_of(sizes: Sequence[int], ranks_per_node: int, width: int) -> list[list[int]]:
    """The sizes in groups whose table has so many characters, with the longest name of an algorithm whole."""
    names = max(map(len, candidates(ranks_per_node)))
    most = max(1, (width - names - 2) // WIDTH_OF_TIME)
    return [list(sizes[first : first + most]) for first in range(0, len(sizes), most)]


def predicted_table(title: str, machine: Machine, nodes: int, ranks_per_node: int, sizes: Sequence[int]) -> Table:
    """One row for each algorithm and one column for each size of a block, the fastest marked."""
    names = candidates(ranks_per_node)
    times = {size: {name: machine.seconds(name, nodes, ranks_per_node, size) for name in names} for size in sizes}
    least = {size: min(column.values()) for size, column in times.items()}
    rows = tuple((name, *(_cell(times[size][name], least[size]) for size in sizes)) for name in names)
    shape = f"{title}, N = {nodes}, p = {nodes * ranks_per_node} (* the fastest)"
    return Table(shape, ("algorithm", *map(format_bytes, sizes)), rows)


def published(nodes: int, ranks_per_node: int, sizes: Sequence[int]) -> list[str]:
    """What users published of these sizes, on as many nodes."""
    return [
        f"Published, {format_bytes(each.block_bytes)} on {each.nodes} nodes of {each.ranks_per_node}: {each.words}"
        for each in PUBLISHED
        if (each.nodes, each.ranks_per_node) == (nodes, ranks_per_node) and each.block_bytes in sizes
    ]


def _cell(seconds: float, least: float) -> str:
    return format_seconds(seconds) + (FASTEST if seconds == least else "")


OFF = 2.0  # a prediction beyond this factor of what was measured is no help


def winners_table(title: str, found: Sequence[Choice], fabric: Fabric) -> Table:
    """One row for each call, shape and size: the choice, its time, the library's, and the predicted winner."""
    rows = [
        (
            choice.op,
            f"N = {choice.nodes}, p = {choice.ranks}",
            format_bytes(choice.block_bytes),
            choice.algorithm,
            format_seconds(choice.median_s),
            format_seconds(choice.default_s),
            f"{100 * (1 - choice.ratio):.0f} %" if choice.ratio < 1 else "–",
            *_predicted(choice, fabric),
        )
        for choice in found
    ]
    columns = (
        Words("call"), Words("shape"), "block", Words("take"), "time", "library", "saved", Words("predicted winner"),
        "predicted",
    )  # fmt: skip
    return Table(title, columns, tuple(rows))


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
        for name, predicted in _model_times(choice, fabric).items()
    ]
    off = [each for each in errors if not 1 / OFF <= each[0] <= OFF]
    if not off:
        return []
    _, name, predicted, choice = max(off, key=lambda each: abs(math.log(each[0])))
    return [
        f"The cost model is off by more than {OFF:g}x in {len(off)} of {plural(len(errors), 'time')}; worst: {name}, "
        f"{choice.op}, N = {choice.nodes}, p = {choice.ranks}, {format_bytes(choice.block_bytes)}: predicted "
        f"{format_seconds(predicted)}, measured {format_seconds(choice.measured[name])}. Do not rely on --predict here."
    ]


def _model_times(choice: Choice, fabric: Fabric) -> dict[str, float]:
    """Predicted seconds of each candidate that was measured at a choice's place."""
    try:
        machine = Machine.of(fabric)
    except FabricError:
        return {}
    if choice.skew > 1:
        return {}  # the model is of even blocks
    shape = (choice.nodes, choice.ranks_per_node, choice.block_bytes)
    known = [name for name in candidates(choice.ranks_per_node) if choice.measured.get(name)]
    return {name: machine.seconds(name, *shape) for name in known}


def _predicted(choice: Choice, fabric: Fabric) -> tuple[str, str]:
    try:
        machine = Machine.of(fabric)
    except FabricError:
        return "–", "–"
    if choice.skew > 1:
        return "–", "–"
    shape = (choice.nodes, choice.ranks_per_node, choice.block_bytes)
    best = ordered(fabric, *shape)[0]
    return best, format_seconds(machine.seconds(best, *shape))
