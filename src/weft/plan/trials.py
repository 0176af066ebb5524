# SPDX-License-Identifier: BSD-3-Clause
"""The time of a run divided among its operations, and the plan of a run that moves knobs.

Such a run measures for each change-over its sizes again, with the knob as it was and moved.
A knob of value v is moved by half an octave, to 1.41 v or v / 1.41: farther, and the two protocols or algorithms may
cost the same where it then stands, so that no step shows. Cells are measured at sizes just below, between and above
both values, in rounds: each round has one launch with the knobs as they were and one for each knob that is moved,
shuffled by the seed (METHOD 9). Where messages of a size near v begin to switch depends on a header, so no size lies
within `HEADER` below a value.

What a knob is worth shows farther away. The most likely knob of a change-over is also set to 4 v, or v / 4, in
one more launch of the same rounds, and `FAR_SIZES` between v and there are measured with it and without.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from weft.kernel.budget import ROOM
from weft.kernel.registry import kernel_named
from weft.mpi.knobs import HEADER, setting_of
from weft.plan.records import Cell, Plan
from weft.plan.rounds import batches_of, launches_of, least_s, start_s

LEAST_LAUNCHES = 4  # launches before a verdict (METHOD 9)
CHECK_SHARE, AUDIT_SHARE = 0.35, 0.4  # of the time of check and audit, for samples; the rest: starts, warm-up, tables
ROUNDS_TIMING = 6  # into which the time of a run is divided: the first answer comes after a sixth of it, or sooner
SHORTEST_S = 2e-3
SLOW = 2.0  # ratio of a call's time to its lower bound that a round has room for
TURNS_WANTED = 6  # warm-ups and samples of a call in one launch, of which there is room for at least so many


def budget_within(plan: Plan) -> float:
    """Seconds for an operation, at most the study's, so that `ROUNDS_TIMING` rounds fit into ``measure.time``."""
    cells = [cell for cell in plan.cells if cell.status == "planned"]
    operations = sum(kernel_named(cell.kernel).budgets(cell.parameters, cell.ranks) for cell in cells)
    return min(plan.measure.budget, max(room_s(plan) / (ROOM * max(operations, 1)), SHORTEST_S))


def room_s(plan: Plan) -> float:
    """Seconds for the calls of a round, so that `ROUNDS_TIMING` of them fit into ``measure.time`` with all else."""
    starts = sum(start_s(batch[0].launched.ranks) for batch in batches_of(plan).values())
    return plan.measure.time / ROUNDS_TIMING - starts - apart_s(plan)


def apart_s(plan: Plan) -> float:
    """Seconds of a round that no budget shortens."""
    cells = [cell for cell in plan.measured if cell.status == "planned"]
    return sum(kernel_named(cell.kernel).apart_s(cell.parameters) for cell in cells)


def share_within(plan: Plan) -> float:
    """Share of a study's data or cells, at most 1, whose fewest calls leave time for `LEAST_LAUNCHES` slow rounds."""
    if not plan.measure.time or plan.planned_fabric.is_model:
        return 1.0
    calls_s = SLOW * sum(least_s(cell, TURNS_WANTED) for cell in plan.measured if cell.status == "planned")
    room = max(room_s(plan) + apart_s(plan), plan.measure.time / ROUNDS_TIMING / SLOW)
    return min(1.0, room / max(calls_s + apart_s(plan), SHORTEST_S))


def rounds_within(plan: Plan) -> int:
    """Rounds planned at first: all that fit into a job; elsewhere :mod:`weft.run.refine` adds them one by one."""
    if plan.planned_fabric.runs_here:
        return LEAST_LAUNCHES
    one_s = sum(launch.expected_s for launch in plan.launches if launch.index == 1)
    return max(LEAST_LAUNCHES, min(10, int(plan.measure.time / one_s) if one_s else LEAST_LAUNCHES))


ROUNDS = 9  # at least: from then on the 95 % interval (`weft.analyse.statistics.interval`) leaves out one either way
STEP = 2**0.5
#: Places of the sizes outside the two values, in octaves from them, and of those between them, as shares of the way.
OUTSIDE = (1 / 16, 3 / 16, 5 / 16)
BETWEEN = (0.1, 0.3, 0.5, 0.7, 0.9)
NEAR = 3  # of the sizes between the values, so many belong to each
WHOLE = 8  # bytes: a reduction takes whole doubles
SMALLEST = 8 * HEADER
FAR = 4
FAR_SIZES = (1 / 6, 1 / 2, 5 / 6)  # places of the sizes between the value and the far one, as shares of the way


@dataclass(frozen=True)
class Trial:
    """A knob to be moved because of one change-over; all numbers are bytes."""

    cell: str  # of the change-over
    call: str  # the name of its series
    lower: int  # its gap
    upper: int
    knob: str  # name of the variable
    value: int  # its present one
    moved: int
    far: int = 0  # the value farther away at which its gain is measured; 0 if it is not

    @property
    def setting(self) -> dict[str, str]:
        """The environment variable that moves it."""
        return setting_of(self.knob, self.moved)

    @property
    def far_setting(self) -> dict[str, str]:
        """The environment variable that moves it far."""
        return setting_of(self.knob, self.far)

    @property
    def far_sizes(self) -> tuple[int, ...]:
        """Bytes between the value and the far one."""
        return between(self.value, self.far, FAR_SIZES) if self.far else ()

    @property
    def sizes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Bytes below both values, between them, and above both."""
        low, high = sorted((self.value, self.moved))
        below = tuple(_whole((low - HEADER) / 2**place) for place in reversed(OUTSIDE))
        return below, between(low, high, BETWEEN), tuple(_whole(high * 2**place) for place in OUTSIDE)


def moved_value(value: int, *, up: bool, sizes: Sequence[int]) -> int | None:
    """Where to move a knob of ``value`` bytes: up or down; the other way if the sweep ends too near; else None."""
    for moved in (value * STEP, value / STEP) if up else (value / STEP, value * STEP):
        low, high = sorted((value, _whole(moved)))
        if low >= SMALLEST and low / 2 >= min(sizes) and high * STEP <= max(sizes):
            return _whole(moved)
    return None


def far_value(value: int, moved: int, sizes: Sequence[int]) -> int:
    """The value, beyond the one it is moved to, at which a knob's gain is measured; 0 if the sweep ends before."""
    far = value * FAR if moved > value else _whole(value / FAR)
    within = between(value, far, FAR_SIZES)
    return far if far >= SMALLEST and min(sizes) <= within[0] and within[-1] <= max(sizes) else 0


def between(one: int, other: int, places: Sequence[float]) -> tuple[int, ...]:
    """Sizes between two values in bytes, at shares of the way in octaves from the smaller, and clear of the larger."""
    low, high = sorted((one, other))
    return tuple(_whole(low * ((high - HEADER) / low) ** share) for share in places)


def trial_plan(plan: Plan, trials: Sequence[Trial]) -> Plan:
    """The plan of the run that moves knobs."""
    found: list[tuple[Cell, dict[str, Any]]] = []
    for name in dict.fromkeys(trial.cell for trial in trials):
        cell, own = plan.cell(name), [trial for trial in trials if trial.cell == name]
        sizes = {size for trial in own for zone in (*trial.sizes, trial.far_sizes) for size in zone}
        found.append((cell, resized(cell, sizes) | {"trial": {"cell": name}}))
        for trial in own:
            near = resized(cell, {size for zone in trial.sizes for size in zone})
            found.append((cell, near | {"setting": near.get("setting", {}) | trial.setting, "trial": asdict(trial)}))
            if trial.far:
                far = resized(cell, set(trial.far_sizes))
                moved = far.get("setting", {}) | trial.far_setting
                found.append((cell, far | {"setting": moved, "trial": {"far": asdict(trial)}}))
    measure = plan.measure.model_copy(update={"launches": max(ROUNDS, plan.measure.launches)})
    cells = tuple(trial_cell(f"c{place:03}", cell, values, plan) for place, (cell, values) in enumerate(found))
    changed = {"title": f"Knobs moved: {plan.title}", "measure": measure, "series": (), "cells": cells, "notes": ()}
    plain = plan.model_copy(update=changed)
    return plain.model_copy(update={"launches": tuple(launches_of(plain))})


def resized(cell: Cell, sizes: set[int]) -> dict[str, Any]:
    """Parameters of a cell that sweeps over sizes, with these sizes (bytes), none refined and no breakdown."""
    kept = {key: value for key, value in cell.parameters.items() if key not in ("explain", "expected_s")}
    return kept | {"bytes": sorted(sizes), "refine": 0}


def trial_cell(name: str, cell: Cell, values: dict[str, Any], plan: Plan) -> Cell:
    """A cell of the run in which knobs are moved; it takes no more memory than the one whose change-over it is for."""
    budgets_s = ROOM * plan.measure.budget * kernel_named(cell.kernel).budgets(values, cell.ranks)
    changed = {"id": name, "series": (), "parameters": values, "bound": None, "bounds": {}, "alone_s_per_byte": None}
    return cell.model_copy(update=changed | {"limit_s": max(cell.limit_s, budgets_s)})


def _whole(size: float) -> int:
    return int(size) // WHOLE * WHOLE
