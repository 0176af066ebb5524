# SPDX-License-Identifier: BSD-3-Clause
"""The measuring time of an operation that lets several rounds of launches fit into the time of a whole run."""

from weft.kernel.budget import ROOM
from weft.kernel.registry import kernel_named
from weft.plan.records import Plan
from weft.plan.rounds import batches_of, start_s

LEAST_LAUNCHES = 4
"""Launches before a verdict (METHOD 9)."""
ROUNDS = 6
"""Rounds into which the time of a run is divided: the first answer comes after a sixth of it, or sooner."""
SHORTEST_S = 2e-3


def budget_within(plan: Plan) -> float:
    """Seconds that an operation may take in one launch, so that `ROUNDS` rounds fit into ``measure.time``.

    The study's own budget is the most. An operation whose one sample takes longer takes that sample all the same.
    """
    cells = [cell for cell in plan.cells if cell.status == "planned"]
    operations = sum(kernel_named(cell.kernel).budgets(cell.parameters, cell.ranks) for cell in cells)
    starts = sum(start_s(batch[0].launched.ranks) for batch in batches_of(plan).values())
    left = plan.measure.time / ROUNDS - starts
    return min(plan.measure.budget, max(left / (ROOM * max(operations, 1)), SHORTEST_S))


def rounds_within(plan: Plan) -> int:
    """Rounds that are planned at first: on a fabric whose launches go into a job as a whole, all that fit.

    Elsewhere rounds are added one by one while the run measures (:mod:`weft.run.refine`).
    """
    if plan.planned_fabric.runs_here:
        return LEAST_LAUNCHES
    one_s = sum(launch.expected_s for launch in plan.launches if launch.index == 1)
    return max(LEAST_LAUNCHES, min(10, int(plan.measure.time / one_s) if one_s else LEAST_LAUNCHES))
