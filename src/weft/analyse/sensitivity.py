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
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from typing import Literal

from weft.analyse.point import Point, Values
from weft.analyse.tables.answers import MATTERS
from weft.analyse.tables.sensitivity import SensitivityRow
from weft.analyse.tables.times import CallRow
from weft.fabric.numbers import Doubtful, doubtful
from weft.kernel.registry import kernel_named
from weft.plan.records import Plan

WORTH = 1.05
"""Least factor between the times of two neighbouring points that counts: below it more nodes are not worth while."""
STEPS = 16  # values on either side of a number: what flips between two of them and back is missed
COARSE = 4  # of these steps, one in so many tells whether a pair of numbers is worth all of them
HALVINGS = 40

Times = Mapping[int, float]
"""Seconds by number of nodes."""


def conclusion(kind: Literal["strong", "weak"], times: Times) -> str:
    """What the times of a series say, in words.

    Parameters
    ----------
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
    if times[last] > MATTERS * times[first]:
        return f"rises from N = {first} to {last}"
    return f"{'falls' if times[first] > MATTERS * times[last] else 'hardly changes'} from N = {first} to {last}"


def sensitivity_rows(plan: Plan, rows: Sequence[CallRow], call: str) -> list[SensitivityRow]:
    """Sensitivities of every series that scales over nodes, those whose verdict flips first; none of a measured run."""
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
            for number, point in product(moved, own.values()):
                point.learn(number)
            subject = Subject(series.name, series.scaling, call, own)
            alone = [sensitivity(subject, each) for each in moved]
            found += [*alone, *joint_flips(subject, moved, alone)]
    # rounded, so that ties keep the order of the numbers whatever the last bits of a ratio are
    return sorted(found, key=lambda row: (not row["flips"], -round(row["most_s"] / row["least_s"], 6)))


@dataclass(frozen=True)
class Subject:
    """A series that scales.

    Attributes
    ----------
    series, kind, call
        Its name, its kind of scaling, and the call that it is judged by.
    points
        Its cells by number of nodes.
    """

    series: str
    kind: Literal["strong", "weak"]
    call: str
    points: Mapping[int, Point]

    def says(self, values: Values) -> str:
        """What its times say if numbers of the fabric, by key, had these values."""
        return conclusion(self.kind, {nodes: point.with_values(values) for nodes, point in self.points.items()})


def joint_flips(subject: Subject, numbers: Sequence[Doubtful], alone: Sequence[SensitivityRow]) -> list[SensitivityRow]:
    """Pairs of numbers that turn a verdict together, though neither does alone: one row for each pair.

    Of the two the row moves the one that has to move least, with the other at an end of its range.
    """
    turning = {row["key"] for row in alone if row["flips"]}
    own = subject.says({})
    found: dict[frozenset[str], SensitivityRow] = {}
    for moved, given in permutations([each for each in numbers if each.key not in turning], 2):
        for end in sorted({given.low, given.high} - {given.value}):
            # most pairs do nothing: a few values tell, before all are gone through
            few = [value for edge in (moved.low, moved.high) for value in steps(moved.value, edge)[COARSE::COARSE]]
            if all(subject.says({given.key: end, moved.key: value}) == own for value in few):
                continue
            row = sensitivity(subject, moved, given, end)
            pair = frozenset((moved.key, given.key))
            if row["flips"] and (pair not in found or distance(row) < distance(found[pair])):
                found[pair] = row
    return list(found.values())


def distance(row: SensitivityRow) -> float:
    """How far a number has to move to turn the verdict, as the size of a logarithm; endless to or from 0."""
    values = (row["value"], row["flips_at"] or 0.0)
    return abs(math.log(values[1] / values[0])) if all(values) else math.inf


def sensitivity(
    subject: Subject, moved: Doubtful, given: Doubtful | None = None, given_value: float | None = None
) -> SensitivityRow:
    """What one number does to the verdict of a series and to the time at its last point."""
    beside = {} if given is None or given_value is None else {given.key: given_value}

    def says(value: float) -> str:
        return subject.says({**beside, moved.key: value})

    points, last = subject.points, max(subject.points)
    values = [*steps(moved.value, moved.low), *steps(moved.value, moved.high)]
    # the fabric's own values are among those that are plausible, also where another number is moved besides
    times = [points[last].seconds, *(points[last].with_values({**beside, moved.key: value}) for value in values)]
    verdict = says(moved.value)
    flip = nearest_flip(says, moved)
    return SensitivityRow(
        series=subject.series, kind=subject.kind, call=subject.call, key=moved.key,
        given_key=given.key if given else "", given_unit=given.unit if given else "", given_value=given_value,
        standing=moved.standing, unit=moved.unit, value=moved.value, low=moved.low, high=moved.high, verdict=verdict,
        flips=flip is not None, flips_at=flip, becomes=says(flip) if flip is not None else "", at=last,
        seconds=points[last].seconds, least_s=min(times), most_s=max(times), basis=points[last].basis,
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
