# SPDX-License-Identifier: BSD-3-Clause
"""One predicted time as a function of a fabric's numbers (:mod:`weft.analyse.sensitivity`)."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables.times import CallRow
from weft.bound.links import link_term, longest_way_s
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, closed_form, copy_rate
from weft.fabric.model import Fabric
from weft.fabric.numbers import LINK_LATENCIES, LINK_RATES, Doubtful, number_of, with_number
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell

#: The term of the closed form that a rate scales; all other numbers it takes from the fabric.
SCALED = {"network.adapter_rate": INJECTION}
#: The latency that a message takes on one node, and the one between nodes.
LATENCIES = ("node.latency", "network.latency")
KNOTS = 3
"""Values on either side of a link's rate at which the loads of the network are worked out; between them times follow
power laws, as bytes over a rate do."""

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Ascending values of a rate, and the seconds that go with each; both of shape (k,)."""
Values = Mapping[str, float]
"""Values of numbers of a fabric by their keys."""


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
        """Work out what a number does to the links' loads, if it is a rate of links, or to the longest way.

        Do so number by number for all points: each value is another network, and few are kept.
        """
        if moved.key in LINK_RATES:
            self.links[moved.key] = self._curve(moved)
        elif moved.key in LINK_LATENCIES and self.cell.nodes > 1:
            low, high = (
                longest_way_s(self.cell, with_number(self.fabric, moved.key, value))
                for value in (moved.low, moved.high)
            )
            self.crossed[moved.key] = (high - low) / (moved.high - moved.low)

    def with_values(self, values: Values) -> float:
        """Seconds if numbers of the fabric, by key, had these values."""
        terms: dict[str, float] = self.terms
        there = self.fabric
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

    def _curve(self, moved: Doubtful) -> Curve:
        """Values of a link's rate from least to most, and the seconds of the most loaded link with each; both (k,).

        Which link that is may change: a fast uplink leaves the pods' links, which this rate may not move.
        """
        below = np.geomspace(moved.low, moved.value, KNOTS + 1)
        values = np.unique(np.concatenate([below, np.geomspace(moved.value, moved.high, KNOTS + 1)]))
        seconds = [
            max(
                link_term(self.traffic, self.cell, with_number(self.fabric, moved.key, float(value))).values(),
                default=0.0,
            )
            for value in values
        ]
        return values, np.array(seconds)

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
