# SPDX-License-Identifier: BSD-3-Clause
"""A run folder as one side of a comparison."""

import json
import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from weft.analyse.compare.sides import Key, Point, Side, points_of
from weft.analyse.floor import Floor
from weft.analyse.pairs.pair_times import PairFile
from weft.analyse.tables.times import CALLS, FLOOR, MEDIANS, CallRow
from weft.bound.effects import left_out
from weft.fabric.model import Fabric
from weft.fabric.numbers import SPREADS, number_of, standing
from weft.kernel.registry import kernel_named
from weft.plan.records import Plan

#: Operation, and the statistic it takes of the medians of all pairs of a launch.
TAKEN = {"middle pair": np.median, "slowest pair": np.max}


def pair_points(kernel: str, root: Path, nodes: int, ranks: int, parameters: str = "") -> dict[Key, Point]:
    """Rows that stand for a run's pairs: there are thousands of single pairs, and these show how two runs differ."""
    found: dict[tuple[str, str, int], dict[int, float]] = {}
    with closing(PairFile(root)) as file:
        for size, mode, launch in sorted({(piece.bytes, piece.mode, piece.number) for piece in file.pieces}):
            own = [piece for piece in file.pieces if (piece.bytes, piece.mode, piece.number) == (size, mode, launch)]
            times = file.read("median_s", own)
            times = times[np.isfinite(times)]
            for name, take in TAKEN.items() if len(times) else ():
                found.setdefault((name, mode, size), {})[launch] = float(take(times))
    return {
        Key(kernel, f"{name}, {mode}@{size}", "warm", nodes, ranks, None, None, parameters): Point(
            (), "ok", "", medians, None, False
        )
        for (name, mode, size), medians in found.items()
    }


def side_of(root: Path, plan: Plan, name: str, mpi: str) -> Side:
    """Read one side of a comparison from a run. Raises DataError: a table is missing or incomplete."""
    rows: Sequence[CallRow] = ()
    if kernel_named(plan.kernel).has_pair_samples:
        nodes, ranks = (max(getattr(cell, key) for cell in plan.measured) for key in ("nodes", "ranks"))
        # a window of messages and one message are two operations
        window = max(cell.parameters.get("window", 1) for cell in plan.measured)
        points = pair_points(plan.kernel, root, nodes, ranks, json.dumps({"window": window}) if window > 1 else "")
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
