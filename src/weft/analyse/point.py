# SPDX-License-Identifier: BSD-3-Clause
"""One predicted time as a function of a fabric's numbers (:mod:`weft.analyse.sensitivity`)."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables.times import CallRow
from weft.bound.links import link_term
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, closed_form
from weft.fabric.model import Fabric
from weft.fabric.numbers import LINK_RATES, Doubtful, number_of, with_number
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell

#: The term of the closed form that a number scales, and whether it is a rate; all others it takes from the fabric.
SCALED = {
    "node.copy_rate": (COPY, True),
    "network.adapter_rate": (INJECTION, True),
    "network.latency": (LATENCY, False),
}
KNOTS = 3
"""Values on either side of a link's rate at which the loads of the network are worked out; between them times follow
power laws, as bytes over a rate do."""

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Ascending values of a rate, and the seconds that go with each; both of shape (k,)."""
Values = Mapping[str, float]
"""Values of numbers of a fabric by their keys."""


class Point:
    """A cell of a series, with its predicted time in seconds as a function of the fabric's numbers.

    Parameters
    ----------
    cell, row
        The cell, and its row of the main call: simulated, or without a time.
    fabric
        The fabric.
    """

    def __init__(self, cell: Cell, row: CallRow, fabric: Fabric) -> None:
        self.cell, self.fabric, self.call = cell, fabric, row["call"]
        self.terms: dict[str, float] = dict(cell.bounds[self.call].terms)
        self.closed_s = closed_form(self.terms, cell, fabric, cell.block_bytes)
        self.basis: Literal["simulated", "closed form"] = "simulated" if row["status"] == "ok" else "closed form"
        self.seconds = float(row["median_s"] or 0.0) if row["status"] == "ok" else self.closed_s
        self.links: dict[str, Curve] = {}

    def learn(self, moved: Doubtful) -> None:
        """Work out what a number does to the links' loads, if it is a rate of links.

        Do so number by number for all points: each value is another network, and few are kept.
        """
        if moved.key in LINK_RATES:
            self.links[moved.key] = self._curve(moved)

    def with_values(self, values: Values) -> float:
        """Seconds if numbers of the fabric, by key, had these values."""
        terms: dict[str, float] = self.terms
        there = self.fabric
        for key, value in values.items():
            there = with_number(there, key, value)
            if key in self.links:
                terms = scaled(terms, LINK, self._link_ratio(key, value))
            elif key in SCALED:
                name, is_rate = SCALED[key]
                factor = value / (number_of(self.fabric, key) or value)
                terms = scaled(terms, name, 1 / factor if is_rate else factor)
        return self.seconds * closed_form(terms, self.cell, there, self.cell.block_bytes) / self.closed_s

    def _curve(self, moved: Doubtful) -> Curve:
        """Values of a link's rate from least to most, and the seconds of the most loaded link with each; both (k,).

        Which link that is may change: a fast uplink leaves the pods' links, which this rate may not move.
        """
        traffic = kernel_named(self.cell.kernel).traffic(self.cell.parameters, self.cell.ranks)[self.call]
        below = np.geomspace(moved.low, moved.value, KNOTS + 1)
        values = np.unique(np.concatenate([below, np.geomspace(moved.value, moved.high, KNOTS + 1)]))
        seconds = [
            max(link_term(traffic, self.cell, with_number(self.fabric, moved.key, float(value))).values(), default=0.0)
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
