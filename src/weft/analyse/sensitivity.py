# SPDX-License-Identifier: BSD-3-Clause
"""Sensitivity of simulated verdicts: each assumed or fitted number is moved over its plausible range.

Nothing is simulated again. The closed form (:func:`weft.bound.terms.closed_form`) gives the ratio by which a time
changes with a number, and the prediction changes by that ratio: T(x) = T_simulated T_closed(x) / T_closed(x_0), with
T_closed(x_0) in place of the simulated time where a cell was not simulated.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables.answers import MATTERS
from weft.analyse.tables.breakdown import SensitivityRow
from weft.analyse.tables.times import CallRow
from weft.bound.links import link_term, longest_way_s
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, closed_form, copy_rate
from weft.fabric.model import Fabric
from weft.fabric.numbers import LINK_LATENCIES, LINK_RATES, Doubtful, doubtful, number_of, with_number
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell, Plan

#: The term of the closed form that a rate scales; all other numbers it takes from the fabric.
SCALED = {"network.adapter_rate": INJECTION}
#: The latency that a message takes on one node, and the one between nodes.
LATENCIES = ("node.latency", "network.latency")
#: Values on either side of a link's rate at which the loads of the network are worked out; between them times follow
#: power laws, as bytes over a rate do.
KNOTS = 3
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]  # ascending values of a rate, and the seconds of each, (k,)
Values = Mapping[str, float]  # of numbers of a fabric, by their keys
WORTH = 1.05  # least factor between the times of two neighbouring points that makes more nodes worth while
STEPS = 16  # values on either side of a number: what flips between two of them and back is missed
COARSE = 4  # of these steps, one in so many tells whether a pair of numbers is worth all of them
HALVINGS = 40


class Point:
    """A cell of a series, with its predicted time in seconds as a function of the fabric's numbers."""

    def __init__(self, cell: Cell, row: CallRow, fabric: Fabric) -> None:
        self.cell, self.fabric, self.call = cell, fabric, row["call"]
        self.traffic = kernel_named(cell.kernel).traffic(cell.parameters, cell.ranks)[self.call]
        self.terms: dict[str, float] = dict(cell.bounds[self.call].terms)
        self.closed_s = closed_form(self.terms, cell, fabric, cell.block_bytes)
        self.basis: Literal["simulated", "closed form"] = "simulated" if row["status"] == "ok" else "closed form"
        self.seconds = float(row["median_s"] or 0.0) if row["status"] == "ok" else self.closed_s
        self.links: dict[str, Curve] = {}
        self.crossed: dict[str, float] = {}
        """Links between switches that the longest way crosses, by the key of their latency."""

    def learn(self, moved: Doubtful) -> None:
        """Work out a number's effect on links' loads or the longest way; number by number: few networks are kept."""
        if moved.key in LINK_RATES:
            below = np.geomspace(moved.low, moved.value, KNOTS + 1)
            values = np.unique(np.concatenate([below, np.geomspace(moved.value, moved.high, KNOTS + 1)]))
            fabrics = (with_number(self.fabric, moved.key, float(value)) for value in values)
            # which link is most loaded may change: a fast uplink leaves the pods' links, which this rate may not move
            loads = (link_term(self.traffic, self.cell, fabric).values() for fabric in fabrics)
            self.links[moved.key] = values, np.array([max(seconds, default=0.0) for seconds in loads])
        elif moved.key in LINK_LATENCIES and self.cell.nodes > 1:
            ends = (with_number(self.fabric, moved.key, value) for value in (moved.low, moved.high))
            low, high = (longest_way_s(self.cell, fabric) for fabric in ends)
            self.crossed[moved.key] = (high - low) / (moved.high - moved.low)

    def with_values(self, values: Values) -> float:
        """Seconds if numbers of the fabric, by key, had these values."""
        terms, there = self.terms, self.fabric
        for key, value in values.items():
            there = with_number(there, key, value)
            if key in self.links:
                terms = scaled(terms, LINK, self._link_ratio(key, value))
            elif key in SCALED:
                terms = scaled(terms, SCALED[key], (number_of(self.fabric, key) or value) / value)
            elif key == LATENCIES[self.cell.nodes > 1]:
                terms = scaled(terms, LATENCY, value / (number_of(self.fabric, key) or value))
        here_rate, there_rate = copy_rate(self.fabric, self.cell), copy_rate(there, self.cell)
        if here_rate and there_rate:
            terms = scaled(terms, COPY, here_rate / there_rate)
        closed_s = closed_form(terms, self.cell, there, self.cell.block_bytes) + self._crossing_s(values)
        return self.seconds * closed_s / (self.closed_s + self._crossing_s({}))

    def _crossing_s(self, values: Values) -> float:
        """Seconds that the links of the longest way add, which the closed form does not count."""
        return self.traffic.rounds * sum(
            count * values.get(key, number_of(self.fabric, key) or 0.0) for key, count in self.crossed.items()
        )

    def _link_ratio(self, key: str, value: float) -> float:
        """By what factor the most loaded link takes longer with another value of a link's rate."""
        values, seconds = self.links[key]
        if not seconds.all():
            return 1.0
        places = np.log([value, number_of(self.fabric, key) or value])
        there, here = np.interp(places, np.log(values), np.log(seconds)).tolist()
        return float(np.exp(there - here))


def scaled(terms: Mapping[str, float], name: str, factor: float) -> dict[str, float]:
    """Terms of a bound in seconds, those whose name begins with ``name`` times ``factor``."""
    return {each: seconds * (factor if each.startswith(name) else 1.0) for each, seconds in terms.items()}


def conclusion(kind: Literal["strong", "weak"], times: Mapping[int, float]) -> str:
    """What the times of a series say, in words. `times`: predicted seconds by number of nodes, two at least."""
    points = sorted(times)
    first, last = points[0], points[-1]
    if kind == "strong":
        ends = (each for each in pairwise(points) if times[each[0]] < WORTH * times[each[1]])
        return next((f"stops scaling between N = {a} and {b}" for a, b in ends), f"still scales at N = {last}")
    if times[last] > MATTERS * times[first]:
        return f"rises from N = {first} to {last}"
    return f"{'falls' if times[first] > MATTERS * times[last] else 'hardly changes'} from N = {first} to {last}"


def sensitivity_rows(plan: Plan, rows: Sequence[CallRow], call: str) -> list[SensitivityRow]:
    """Sensitivities of every series that scales over nodes, those whose verdict flips first; none of a measured run."""
    fabric = plan.planned_fabric
    if not fabric.is_model:
        return []
    cells, moved = {cell.id: cell for cell in plan.cells}, doubtful(fabric)
    warm = [row for row in rows if (row["call"], row["phase"]) == (call, "warm") and call in cells[row["cell"]].bounds]
    judged = [row for row in warm if call in kernel_named(row["kernel"]).fitted]
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
    """A series that scales."""

    series: str
    kind: Literal["strong", "weak"]
    call: str  # by which it is judged
    points: Mapping[int, Point]  # its cells by number of nodes

    def says(self, values: Values) -> str:
        """What its times say if numbers of the fabric, by key, had these values."""
        return conclusion(self.kind, {nodes: point.with_values(values) for nodes, point in self.points.items()})


def joint_flips(subject: Subject, numbers: Sequence[Doubtful], alone: Sequence[SensitivityRow]) -> list[SensitivityRow]:
    """Pairs of numbers that turn a verdict together only, one row each: it moves the one that has to move least."""
    turning = {row["key"] for row in alone if row["flips"]}
    own = subject.says({})
    found: dict[frozenset[str], SensitivityRow] = {}
    for moved, given in permutations([each for each in numbers if each.key not in turning], 2):
        for end in sorted({given.low, given.high} - {given.value}):
            # most pairs do nothing: a few values tell, before all are gone through
            few = [value for edge in (moved.low, moved.high) for value in steps(moved.value, edge)[COARSE::COARSE]]
            if all(subject.says({given.key: end, moved.key: value}) == own for value in few):
                continue
            row = sensitivity(subject, moved, (given, end))
            pair = frozenset((moved.key, given.key))
            if row["flips"] and (pair not in found or distance(row) < distance(found[pair])):
                found[pair] = row
    return list(found.values())


def distance(row: SensitivityRow) -> float:
    """How far a number has to move to turn the verdict, as the size of a logarithm; endless to or from 0."""
    value, flips_at = row["value"], row["flips_at"]
    return abs(math.log(flips_at / value)) if value and flips_at else math.inf


def sensitivity(subject: Subject, moved: Doubtful, given: tuple[Doubtful, float] | None = None) -> SensitivityRow:
    """What one number does to the verdict of a series and to the time at its last point."""
    beside = {given[0].key: given[1]} if given else {}

    def says(value: float) -> str:
        return subject.says({**beside, moved.key: value})

    at, values = max(subject.points), [*steps(moved.value, moved.low), *steps(moved.value, moved.high)]
    last, flips = subject.points[at], list[float]()
    for end in (moved.low, moved.high):
        pairs = ((near, far) for near, far in pairwise(steps(moved.value, end)) if says(far) != says(moved.value))
        if first := next(pairs, None):
            flips.append(edge(says, *first, whole=moved.unit == "B"))
    flip = min(flips, key=lambda value: abs(value - moved.value), default=None)
    # the fabric's own values are among those that are plausible, also where another number is moved besides
    times = [last.seconds, *(last.with_values({**beside, moved.key: value}) for value in values)]
    return SensitivityRow(
        series=subject.series, kind=subject.kind, call=subject.call, key=moved.key,
        given_key=given[0].key if given else "", given_unit=given[0].unit if given else "",
        given_value=given[1] if given else None,
        standing=moved.standing, unit=moved.unit, value=moved.value, low=moved.low, high=moved.high,
        verdict=says(moved.value), flips=flip is not None, flips_at=flip,
        becomes=says(flip) if flip is not None else "", at=at, seconds=last.seconds, least_s=min(times),
        most_s=max(times), basis=last.basis,
    )  # fmt: skip


def steps(start: float, end: float) -> list[float]:
    """Values from ``start`` to ``end``, both included: in equal ratios, or in equal steps from 0."""
    if start == end:
        return [start]
    if min(start, end) <= 0:
        return [start + (end - start) * step / STEPS for step in range(STEPS + 1)]
    return [start * (end / start) ** (step / STEPS) for step in range(STEPS + 1)]


def edge(says: Callable[[float], str], near: float, far: float, *, whole: bool) -> float:
    """The value nearest to ``near`` for which a series says what it says at ``far``; whole bytes for a size."""
    kept = says(near)
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if says(middle) == kept else (near, middle)
    if not whole:
        return far
    return next((float(value) for value in (math.floor(far), math.ceil(far)) if says(value) != kept), far)
