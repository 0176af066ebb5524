# SPDX-License-Identifier: BSD-3-Clause
"""What the cost model expects of each algorithm, as text; beside it what users have published of such sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.format import format_bytes, format_seconds
from weft.report.tabular import Table
from weft.tune.model import Machine
from weft.tune.study import candidates

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
