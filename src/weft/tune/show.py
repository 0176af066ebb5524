# SPDX-License-Identifier: BSD-3-Clause
"""Who wins where, and what the cost model expected, as text."""

import math
from collections.abc import Sequence

from weft.analyse.claims.known import claim_winners
from weft.analyse.claims.make import judge
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.fabric.model import Fabric
from weft.format import format_bytes, format_seconds, plural
from weft.mpi.alltoall import PMPI
from weft.report.tabular import Table, Words, make_table
from weft.report.view import RunView
from weft.tune.model import Machine
from weft.tune.rules import Choice, as_winners
from weft.tune.study import candidates, predicted

FASTEST = " *"


#: Times that users published: nodes, ranks on each, bytes of a block; the call, its time, and the source.
PUBLISHED = (
    (128, 96, 8, "MPI_Alltoallv under a vendor's MPI: 2.3 s (pmodels/mpich issue 7601, Aurora)"),
    (64, 96, 1024, "osu_alltoallv under a vendor's MPI did not end (pmodels/mpich issue 7593, Aurora)"),
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


OFF = 2.0  # a prediction beyond this factor of what was measured is no help


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
    off = [each for each in errors if not 1 / OFF <= each[0] <= OFF]
    if not off:
        return []
    _, name, predicted, choice = max(off, key=lambda each: abs(math.log(each[0])))
    return [
        f"The cost model is off by more than {OFF:g}x in {len(off)} of {plural(len(errors), 'time')}; worst: {name}, "
        f"{choice.op}, N = {choice.nodes}, p = {choice.ranks}, {format_bytes(choice.block_bytes)}: predicted "
        f"{format_seconds(predicted)}, measured {format_seconds(choice.measured[name])}. Do not rely on --predict here."
    ]


def _predicted(choice: Choice, fabric: Fabric) -> dict[str, float]:
    """Seconds of each candidate at a choice's place, the fastest first; none of a skewed call: the model is of even."""
    even = choice.skew <= 1
    return predicted(fabric, choice.nodes, choice.ranks_per_node, choice.block_bytes) if even else {}
