# SPDX-License-Identifier: BSD-3-Clause
"""Median polish of a node matrix: base of each class and factor of each outlier, fitted in turn until they converge.

Half a round trip of a and b takes base x (f(a, b) + f(b, a)) / 2, where f(a, b) is the product of the factors of all
outliers on the route from a to b. An outlier slows one direction only (a link), or both (`Candidate.slowed`): with
destination-based routes, a pair may cross a cable in one direction and not in the other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.candidates import Candidate, turned
from weft.analyse.outliers.rule import LEAST_FACTOR
from weft.analyse.pairs.places import Places

Floats = NDArray[np.float64]

#: A candidate that touches more than this share of a class cannot be distinguished from the class.
MOST_OF_CLASS = 0.9
#: With fewer untouched pairs than this, a class cannot show how much slower the touched ones are.
FEWEST_CLEAN = 4
SWEEPS = 3
#: A factor below this comes from the scatter of pairs or the error of another outlier.
LEAST_LEFT = 0.05


@dataclass(frozen=True, eq=False)
class Effect:
    """A candidate found to be slow."""

    candidate: Candidate
    factor: float  # by which it alone slows half a round trip: the median over its pairs
    share: float  # share of its pairs that are slower by at least half of that
    pairs: int  # number of measured pairs of nodes that it touches


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A node matrix decomposed."""

    effects: tuple[Effect, ...]  # outliers, the one that explains most of the excess first
    base: Floats  # seconds of the pair's class without outliers, shape (nodes, nodes)
    fitted: Floats  # seconds that base and outliers predict for each pair, shape (nodes, nodes); nan if unknown
    # number of outliers that touch each pair, shape (nodes, nodes); the two links of a cable count as one
    touched: NDArray[np.int16]
    # log(time) - log(fitted), shape (nodes, nodes); nan on the diagonal and for pairs that were not measured
    remainder: Floats


class Polish:
    """Base of each class and factor of each outlier, fitted in turn."""

    def __init__(self, times: Floats, places: Places) -> None:
        count = len(times)
        off = ~np.eye(count, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.logs = np.where(off & (times > 0), np.log(times), np.nan).ravel()
        self.kind = places.classes.ravel().astype(np.int64)
        self.measured = np.isfinite(self.logs)
        self.of_kind = np.bincount(self.kind[self.measured], minlength=self.kind.max() + 1)
        self.count = count
        self.chosen: list[Candidate] = []
        self.own: list[Floats] = []  # log factor of each outlier at each of its `slowed`
        self.way = np.zeros(self.logs.size)  # log of the product of all factors from source to target
        self.base = np.full(self.logs.size, np.nan)
        self._set_base(_start_quantile(places), self.measured)

    def contrasts(self, candidate: Candidate) -> bool:
        """Whether some pairs of a class are touched and enough are not; otherwise the whole class is slow."""
        inside = np.bincount(self.kind[candidate.cells][self.measured[candidate.cells]], minlength=len(self.of_kind))
        return bool(((inside >= FEWEST_CLEAN) & (inside <= MOST_OF_CLASS * self.of_kind)).any())

    def contrast(self, candidate: Candidate, left: Floats) -> tuple[float, float]:
        """How much slower a candidate's pairs are than untouched pairs of the same class, and the number of pairs used.

        ``left`` holds remainders (natural logarithms, no unit) in the shape (nodes * nodes,). The number of pairs is
        that of one sample with the same error: 1 / (1 / touched + 1 / untouched).
        """
        inside = np.zeros(left.size, bool)
        inside[candidate.cells] = True
        clean = self.measured & ~inside & (self.touched() == 0)
        differences: list[Floats] = []
        others = 0
        for kind in np.unique(self.kind[candidate.cells]):
            of = self.kind == kind
            if (of & clean).sum() >= FEWEST_CLEAN:
                differences.append(left[of & inside & np.isfinite(left)] - np.median(left[of & clean]))
                others += int((of & clean).sum())
        together = np.concatenate(differences) if differences else np.zeros(0)
        if not together.size:
            return 0.0, 1.0
        return float(np.median(together)), 1 / (1 / together.size + 1 / others)

    def remainder(self) -> Floats:
        """Log of the time over what base and outliers predict, shape (nodes * nodes,), no unit; nan if not measured."""
        back = self.way.reshape(self.count, self.count).T.ravel()
        return self.logs - self.base - (np.logaddexp(self.way, back) - np.log(2))

    def choose(self, candidate: Candidate) -> None:
        """Make a candidate an outlier (of a cable both links, each with its own factor) and repeat the polish."""
        for part in candidate.parts or (candidate,):
            if part not in self.chosen:
                self.chosen.append(part)
                self.own.append(np.zeros(len(part.slowed)))
        touched = self.touched()
        for _ in range(SWEEPS):
            for index, outlier in enumerate(self.chosen):
                self.way[outlier.slowed] -= self.own[index]
                self.own[index] = self._factor(outlier, touched)
                self.way[outlier.slowed] += self.own[index]
            self._set_base(0.5, self.measured & (touched == 0))

    def touched(self) -> NDArray[np.int16]:
        """Counts of outliers that touch each pair, shape (nodes * nodes,); the two links of a cable count as one."""
        found = np.zeros(self.logs.size, np.int16)
        for group in self.groups():
            found[np.unique(np.concatenate([candidate.cells for candidate in group]))] += 1
        return found

    def groups(self) -> list[list[Candidate]]:
        """The outliers, the two links of a cable together."""
        groups: dict[str, list[Candidate]] = {}
        for candidate in self.chosen:
            groups.setdefault(candidate.cable or f"{candidate.kind} {candidate.name}", []).append(candidate)
        return list(groups.values())

    def _factor(self, outlier: Candidate, touched: NDArray[np.int16]) -> Floats:
        """The log factor that explains most pairs, by class: a constant delay has a larger factor on near pairs."""
        slowed = np.zeros(self.logs.size, bool)
        slowed[outlier.slowed] = True
        cells, returned = outlier.cells, turned(outlier.cells, self.count)
        there, back = slowed[cells], slowed[returned]
        out, into = np.exp(self.way[cells]), np.exp(self.way[returned])
        whole = 2 * np.exp(self.logs[cells] - self.base[cells])
        factor = (whole - ~there * out - ~back * into) / (there * out + back * into)
        with np.errstate(invalid="ignore"):
            logs = np.log(np.maximum(factor, LEAST_LEFT))
        kinds = self.kind[outlier.slowed]
        own = np.zeros(len(kinds))
        usable, alone = np.isfinite(logs), (touched[cells] == 1) & (outlier.kind == "node")
        for kind in np.unique(kinds):
            known = usable & (self.kind[cells] == kind)
            if (known & alone).sum() >= FEWEST_CLEAN:
                known &= alone  # another outlier may add to this one or not, as their slow directions meet or not
            own[kinds == kind] = np.median(logs[known]) if known.any() else 0.0
        return own

    def _set_base(self, quantile: float, usable: NDArray[np.bool_]) -> None:
        for kind in np.unique(self.kind[self.measured]):
            of = self.kind == kind
            if (of & usable).any():
                self.base[of] = np.quantile(self.logs[of & usable], quantile)

    def result(self) -> Decomposition:
        """The result: outliers whose effect after the polish, as if each were the only one, is `LEAST_FACTOR`."""
        left, shape = self.remainder(), (self.count, self.count)
        effects: list[Effect] = []
        for candidate, own in zip(self.chosen, self.own, strict=True):
            alone = np.zeros(self.logs.size)
            alone[candidate.slowed] = own
            cells = candidate.cells
            felt = np.logaddexp(alone[cells], alone[turned(cells, self.count)]) - np.log(2) + left[cells]
            felt = felt[np.isfinite(felt)]
            middle = float(np.median(felt))
            if middle >= np.log(LEAST_FACTOR):
                effects.append(Effect(candidate, float(np.exp(middle)), float((felt > middle / 2).mean()), len(felt)))
        base, fitted = np.exp(self.base), np.where(self.measured, np.exp(self.logs - left), np.exp(self.base))
        touched = self.touched().reshape(shape)
        return Decomposition(tuple(effects), base.reshape(shape), fitted.reshape(shape), touched, left.reshape(shape))


def _start_quantile(places: Places) -> float:
    """The quantile at which the median of the untouched pairs of a class lies if one node or one leaf's uplink is slow.

    A node touches 2 / N of all pairs, so with few nodes the median of a class would be biased by its slow pairs.
    """
    parts = [len(places.nodes)]
    if places.routed:
        parts.append(len(np.unique(places.network.leaf[places.host])))
    return min(((part - 2) / (2 * part) for part in parts if part > 2), default=0.5)
