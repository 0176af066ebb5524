# SPDX-License-Identifier: BSD-3-Clause
"""A run folder as one side of a comparison."""

import math
from collections.abc import Sequence
from pathlib import Path

from weft.analyse.compare.pair_points import pair_points
from weft.analyse.compare.sides import Side, points_of
from weft.analyse.floor import Floor
from weft.analyse.tables.times import CALLS, FLOOR, MEDIANS, CallRow
from weft.bound.effects import left_out
from weft.fabric.model import Fabric
from weft.fabric.numbers import SPREADS, number_of, standing
from weft.kernel.registry import kernel_named
from weft.plan.records import Plan
from weft.store.tables import read_table


def side_of(root: Path, plan: Plan, name: str, mpi: str) -> Side:
    """Read one side of a comparison from a run.

    Raises
    ------
    DataError
        A table is missing or incomplete.
    """
    rows: Sequence[CallRow] = ()
    if kernel_named(plan.kernel).has_pair_samples:
        nodes, ranks = (max(getattr(cell, key) for cell in plan.measured) for key in ("nodes", "ranks"))
        points = pair_points(plan.kernel, read_table(root, "pairs"), nodes, ranks)
    else:
        parameters = {cell.id: cell.parameters for cell in plan.cells}
        rows = CALLS.read(root)
        points = points_of(rows, MEDIANS.read(root), parameters, Floor(FLOOR.read(root)))
    return Side(
        name=name,
        path=str(root),
        study=plan.study,
        fabric=plan.fabric,
        kind=plan.fabric_kind,
        mpi=mpi,
        precision=plan.measure.precision,
        points=points,
        left_out=effects_left_out(plan, rows) if any(point.span_s for point in points.values()) else (),
        assumed=model_numbers(plan.planned_fabric, assumed=True),
        stated=model_numbers(plan.planned_fabric, assumed=False),
    )


def model_numbers(fabric: Fabric, *, assumed: bool) -> dict[str, float]:
    """Numbers of a model's fabric by key, those that are assumed or the others; empty where nothing is modelled."""
    found = {spread.key: number_of(fabric, spread.key) for spread in SPREADS} if fabric.is_model else {}
    return {
        key: value
        for key, value in found.items()
        if value is not None and (standing(fabric, key) == "assumed") is assumed
    }


def effects_left_out(plan: Plan, rows: Sequence[CallRow]) -> tuple[str, ...]:
    """Names of the effects that the model of a plan's fabric leaves out of its calls, or of those in ``rows``.

    Only these have a noise floor's barrier.
    """
    found: set[str] = set()
    for cell in plan.cells:
        planned = {*cell.bounds, *kernel_named(cell.kernel).operations(cell.parameters, cell.ranks)}
        for call in planned | {row["call"] for row in rows if row["cell"] == cell.id}:
            found |= {effect.cause for effect in left_out(cell, call, plan.planned_fabric, math.inf)}
    return tuple(sorted(found))
