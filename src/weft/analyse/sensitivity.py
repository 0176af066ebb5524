# SPDX-License-Identifier: BSD-3-Clause
r"""Sensitivity of simulated verdicts: each assumed or fitted number is moved over its plausible range.

Nothing is simulated again. The closed form (:func:`weft.bound.terms.closed_form`) gives the ratio by which a time
changes with a number, and the prediction changes by that ratio:

.. math:: T(x) = T_\mathrm{simulated} \, \frac{T_\mathrm{closed}(x)}{T_\mathrm{closed}(x_0)}

with T_closed(x_0) in place of the simulated time where a cell was not simulated. A few thousand evaluations of a
formula take some milliseconds, whatever the cells would take to simulate.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from weft.analyse.tables.sensitivity import SensitivityRow
from weft.analyse.tables.times import CallRow
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, closed_form
from weft.fabric.model import Fabric
from weft.fabric.numbers import Doubtful, doubtful, number_of, with_number
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell, Plan

WORTH = 1.05
"""Least factor between the times of two neighbouring points that counts: below it more nodes are not worth while."""
STEPS = 16  # values on either side of a number: what flips between two of them and back is missed
HALVINGS = 40

#: The term of the closed form that a number scales, and whether it is a rate; all others it takes from the fabric.
SCALED = {
    "node.copy_rate": (COPY, True),
    "network.adapter_rate": (INJECTION, True),
    "network.tree.link_rate": (LINK, True),
    "network.torus.link_rate": (LINK, True),
    "network.latency": (LATENCY, False),
}

Times = Mapping[int, float]
"""Seconds by number of nodes."""


def conclusion(kind: Literal["strong", "weak"], times: Times) -> str:
    """What the times of a series say, in words.

    Parameters
    ----------
    kind
        ``strong`` or ``weak`` scaling.
    times
        Predicted seconds by number of nodes, two at least.
    """
    points = sorted(times)
    first, last = points[0], points[-1]
    if kind == "strong":
        for before, after in pairwise(points):
            if times[before] < WORTH * times[after]:
                return f"stops scaling between N = {before} and {after}"
        return f"still scales at N = {last}"
    if times[last] > WORTH * times[first]:
        return f"rises from N = {first} to {last}"
    return f"{'falls' if times[first] > WORTH * times[last] else 'stays the same'} from N = {first} to {last}"


def sensitivity_rows(plan: Plan, rows: Sequence[CallRow], call: str) -> list[SensitivityRow]:
    """Sensitivities of every series that scales over nodes, those whose verdict flips first; none of a measured run.

    Parameters
    ----------
    plan, rows
        The run's plan and its table of calls.
    call
        The kernel's main call.
    """
    fabric = plan.planned_fabric
    if not fabric.is_model:
        return []
    cells = {cell.id: cell for cell in plan.cells}
    moved = doubtful(fabric)
    judged = [
        row
        for row in rows
        if (row["call"], row["phase"]) == (call, "warm")
        and call in kernel_named(row["kernel"]).fitted
        and call in cells[row["cell"]].bounds
    ]
    found: list[SensitivityRow] = []
    for series in plan.series:
        own = {row["nodes"]: Point(cells[row["cell"]], row, fabric) for row in judged if series.name in row["series"]}
        if series.scaling != "none" and len(own) > 1:
            found += [sensitivity(series.name, series.scaling, call, own, each) for each in moved]
    return sorted(found, key=lambda row: (not row["flips"], -row["most_s"] / row["least_s"]))


class Point:
    """A cell of a series, with its predicted time in seconds as a function of the fabric's numbers."""

    def __init__(self, cell: Cell, row: CallRow, fabric: Fabric) -> None:
        self.cell, self.fabric = cell, fabric
        self.terms = dict(cell.bounds[row["call"]].terms)
        self.closed_s = closed_form(self.terms, cell, fabric, cell.block_bytes)
        self.basis: Literal["simulated", "closed form"] = "simulated" if row["status"] == "ok" else "closed form"
        self.seconds = float(row["median_s"] or 0.0) if row["status"] == "ok" else self.closed_s

    def with_value(self, key: str, value: float) -> float:
        """Seconds if the number ``key`` of the fabric were ``value``."""
        terms, there = self.terms, with_number(self.fabric, key, value)
        if key in SCALED:
            name, is_rate = SCALED[key]
            factor = value / (number_of(self.fabric, key) or value)
            factor = 1 / factor if is_rate else factor
            terms = {each: seconds * (factor if each.startswith(name) else 1.0) for each, seconds in terms.items()}
        return self.seconds * closed_form(terms, self.cell, there, self.cell.block_bytes) / self.closed_s


def sensitivity(
    series: str, kind: Literal["strong", "weak"], call: str, points: Mapping[int, Point], moved: Doubtful
) -> SensitivityRow:
    """What one number does to the verdict of a series and to the time at its last point."""

    def says(value: float) -> str:
        return conclusion(kind, {nodes: point.with_value(moved.key, value) for nodes, point in points.items()})

    last = max(points)
    values = [*steps(moved.value, moved.low), *steps(moved.value, moved.high)]
    times = [points[last].with_value(moved.key, value) for value in values]
    verdict = says(moved.value)
    flip = nearest_flip(says, moved)
    return SensitivityRow(
        series=series, kind=kind, call=call, key=moved.key, standing=moved.standing, unit=moved.unit,
        value=moved.value, low=moved.low, high=moved.high, verdict=verdict, flips=flip is not None, flips_at=flip,
        becomes=says(flip) if flip is not None else "", at=last, seconds=points[last].seconds, least_s=min(times),
        most_s=max(times), basis=points[last].basis,
    )  # fmt: skip


def steps(start: float, end: float) -> list[float]:
    """Values from ``start`` to ``end``, both included: in equal ratios, or in equal steps from 0."""
    if start == end:
        return [start]
    if min(start, end) <= 0:
        return [start + (end - start) * step / STEPS for step in range(STEPS + 1)]
    return [start * (end / start) ** (step / STEPS) for step in range(STEPS + 1)]


def nearest_flip(says: Callable[[float], str], moved: Doubtful) -> float | None:
    """The value nearest to the number's own, within its range, for which a series says something else; else None."""
    found: list[float] = []
    for end in (moved.low, moved.high):
        for near, far in pairwise(steps(moved.value, end)):
            if says(far) != says(moved.value):
                found.append(edge(says, near, far, whole=moved.unit == "B"))
                break
    return min(found, key=lambda value: abs(value - moved.value), default=None)


def edge(says: Callable[[float], str], near: float, far: float, *, whole: bool) -> float:
    """The value nearest to ``near`` for which a series says what it says at ``far``; whole bytes for a size."""
    kept = says(near)
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if says(middle) == kept else (near, middle)
    if not whole:
        return far
    return next((float(value) for value in (math.floor(far), math.ceil(far)) if says(value) != kept), far)
