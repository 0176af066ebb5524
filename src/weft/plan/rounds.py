# SPDX-License-Identifier: BSD-3-Clause
"""The launches of a plan: which cells start together, in which order, and how long that may take."""

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from weft.errors import StudyError
from weft.kernel.budget import MOST_PARTNERS
from weft.kernel.registry import kernel_named
from weft.kernel.steps import TURNS
from weft.plan.records import Cell, LaunchPlan, Plan
from weft.study import MOST_CELLS

START_LIMIT_S = 60.0  # a launcher waits this long for ranks that do not start
MOST_LAUNCHES = 4 * MOST_CELLS  # four of each cell
FEWEST_TURNS = 2  # a warm-up and a sample: what the kernel takes of a call whose budget is over at once
APART = 2  # calls that no budget ends: the first one, and the one that proves the data
OPERATION_S = 2e-3  # overhead of the harness per operation: measured on one host with empty operations


def launches_of(plan: Plan) -> Iterable[LaunchPlan]:
    """Rounds of launches, each shuffled by the seed (METHOD 9); StudyError for more than 80,000. Floors are in every
    round, each time in another launch of their placement, after its cells: so the rate behind a bound is measured
    beside them, and their first calls meet no peer before.
    """
    batches, rounds = batches_of(plan), plan.measure.launches
    hosts = floor_hosts(plan, batches)
    if len(batches) * rounds > MOST_LAUNCHES:
        raise StudyError(
            f"{len(batches):,} launches in each of {rounds:,} rounds are {len(batches) * rounds:,}",
            f"lower measure.launches, or split the study: a run has {MOST_LAUNCHES:,} launches at most",
        )
    for index in range(1, rounds + 1):
        floors = {names[(index - 1) % len(names)]: floor for floor, names in hosts}
        order = list(batches)
        random.Random(f"{plan.seed}/{index}").shuffle(order)
        for name in order:
            cells = list(batches[name])  # within a batch the order is shuffled too
            random.Random(f"{plan.seed}/{index}/{name}").shuffle(cells)
            cells += floors.get(name, ())
            job = cells[0].launched  # they share their placement and their settings
            yield LaunchPlan(
                **dict(job), id=f"{name}.l{index}", index=index, cells=tuple(cell.id for cell in cells),
                order=cells[0].order, limit_s=sum(cell.limit_s for cell in cells) + START_LIMIT_S,
                expected_s=start_s(job.ranks) + sum(cell_s(cell, plan) for cell in cells),
                settings=cells[0].parameters.get("setting", {}),
            )  # fmt: skip


def floor_hosts(plan: Plan, batches: dict[str, list[Cell]]) -> list[tuple[list[Cell], list[str]]]:
    """Floors of each placement, and the batches that can measure them; a batch of their own if all set the library."""
    found: list[tuple[list[Cell], list[str]]] = []
    placed: dict[tuple[Any, ...], list[str]] = {}
    for name, cells in batches.items():
        placed.setdefault(placement_of(cells[0]), []).append(name)
    for floors in together([cell for cell in plan.floors if cell.status == "planned"]):
        if names := placed.get(placement_of(floors[0])):
            found.append((floors, names))
        else:
            batches[floors[0].id] = floors
    return found


def with_launches(plan: Plan, launches: int) -> Plan:
    """The plan with so many rounds: the missing ones added, or the last ones left out; the others stay as they are."""
    other = plan.model_copy(update={"measure": plan.measure.model_copy(update={"launches": launches})})
    kept = [launch for launch in plan.launches if launch.index <= launches]
    new = [launch for launch in launches_of(other) if launch.index > plan.measure.launches]
    return other.model_copy(update={"launches": (*kept, *new)})


def batches_of(plan: Plan) -> dict[str, list[Cell]]:
    """Cells that one launch measures: one, or those of one placement of a batched kernel within `MOST_PARTNERS`."""
    planned = [cell for cell in plan.measured if cell.status == "planned"]
    if not kernel_named(plan.kernel).batched:
        return {cell.id: [cell] for cell in planned}
    batches: list[list[Cell]] = []
    for cells in together(planned):
        room = 0
        for cell in cells:
            partners = kernel_named(plan.kernel).partners(cell.parameters)
            if cell is cells[0] or partners > room:
                batches.append([])
                room = MOST_PARTNERS
            batches[-1].append(cell)
            room -= partners
    return {f"g{index:03}": cells for index, cells in enumerate(batches)}


def together(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that can share a launch: with one placement and the same library settings."""
    placed: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        placed.setdefault(placement_of(cell), []).append(cell)
    return list(placed.values())


def placement_of(cell: Cell) -> tuple[Any, ...]:
    """What cells of one launch have in common: hosts, ranks on each, their order, and the library's settings."""
    job = cell.launched
    return job.hosts, job.ranks_per_node, cell.order, json.dumps(cell.parameters.get("setting", {}), sort_keys=True)


def breakdown_s(cell: Cell, plan: Plan) -> float:
    """Expected seconds of a cell's breakdowns in one launch: its steps share a budget, each as the call's bound."""
    measure = plan.measure
    calls = min(measure.warmup_most, 25) + min(3 * measure.min_samples, measure.max_samples)
    explained = kernel_named(cell.kernel).explained(cell.parameters, cell.ranks)
    each_s = [len(TURNS) * cell.bounds[call].seconds for call in explained if call in cell.bounds]
    sampled = sum(max(min(calls * each, 1.2 * measure.budget), FEWEST_TURNS * each) for each in each_s)
    return sampled + OPERATION_S * len(TURNS) * len(explained)


def least_s(cell: Cell, turns: int = FEWEST_TURNS) -> float:
    """Seconds of a cell's calls at their lower bounds if each is warmed up and sampled ``turns`` times in all."""
    explained = kernel_named(cell.kernel).explained(cell.parameters, cell.ranks)
    each = {call: 1 + len(TURNS) * (call in explained) for call in cell.bounds}
    return sum(bound.seconds * (APART + turns * each[call]) for call, bound in cell.bounds.items())


def start_s(ranks: int) -> float:
    """Seconds to start and end the ranks: measured with mpiexec on one host, growing with the ranks."""
    return 0.5 + 0.02 * ranks


def cell_s(cell: Cell, plan: Plan) -> float:
    """Expected seconds of one launch of a cell, its arrays written and validated once. Every operation is called once
    cold, warmed up, then sampled three times the least number, at its lower bound, but never much longer than its
    budget, or than the fewest calls that are made of it.
    """
    if "expected_s" in cell.parameters:  # the kernel's own estimate
        return cell.parameters["expected_s"]
    measure = plan.measure
    calls = APART + min(measure.warmup_most, 25) + min(3 * measure.min_samples, measure.max_samples)
    longest, rate = 1.2 * measure.budget, plan.planned_fabric.node.copy_rate
    unbounded = kernel_named(cell.kernel).unbounded_s(cell.parameters, cell.ranks_per_node, rate)
    each_s = [*(each.seconds for each in cell.bounds.values()), *unbounded]
    sampled = sum(max(min(calls * each, longest + each), (APART + FEWEST_TURNS) * each) for each in each_s)
    sampled += OPERATION_S * len(cell.bounds) + breakdown_s(cell, plan)
    touched = 4 * cell.local_bytes * cell.ranks_per_node / rate if rate else 0.0
    return sampled + touched + kernel_named(cell.kernel).apart_s(cell.parameters)
