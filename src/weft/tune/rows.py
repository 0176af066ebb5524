# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a tuning run by place and by the algorithm that was asked for."""

from collections.abc import Callable

from weft.analyse.tables.times import TimedRow, timed
from weft.kernel.sizes import split_op
from weft.mpi.algorithms import DEFAULT
from weft.report.view import RunView

OPS = ("alltoall", "alltoallv")
Place = tuple[str, int, int, int]
"""Op, nodes, ranks, and bytes of a block."""


def rows_by_algorithm(
    view: RunView, wanted: Callable[[str], bool] = lambda op: op in OPS
) -> dict[Place, dict[str, TimedRow]]:
    """Warm rows by place, and then by the name of the algorithm that was asked for."""
    algorithms = {cell.id: str(cell.parameters.get("algorithm", DEFAULT)) for cell in view.plan.measured}
    found: dict[Place, dict[str, TimedRow]] = {}
    for row in timed(view.rows, phase="warm"):
        op, size = split_op(row["call"])
        if size is not None and wanted(op):
            found.setdefault((op, row["nodes"], row["ranks"], size), {})[algorithms[row["cell"]]] = row
    return found
