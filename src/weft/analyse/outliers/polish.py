# SPDX-License-Identifier: BSD-3-Clause
"""Median polish of a node matrix: base of each class and factor of each culprit, fitted in turn until they converge.

Half a round trip of a and b takes base x (f(a, b) + f(b, a)) / 2, where f(a, b) is the product of the factors of all
culprits on the route from a to b. A culprit slows one direction only (a link), or both (`Suspect.slowed`): with
destination-based routes, a pair may cross a cable in one direction and not in the other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.candidates import Candidate, Cells
from weft.analyse.pairs.places import Places

Floats = NDArray[np.float64]

#: A suspect that touches more than this share of a class cannot be distinguished from the class.
MOST_OF_CLASS = 0.9
#: With fewer untouched pairs than this, a class cannot show how much slower the touched ones are.
FEWEST_CLEAN = 4
SWEEPS = 3
#: A factor below this comes from the scatter of pairs or the error of another culprit.
LEAST_LEFT = 0.05
MAD = 1.4826  # the standard deviation of a normal distribution over its median absolute deviation


@dataclass(frozen=True, eq=False)
class Effect:
    """A suspect found to be slow.

    Attributes
    ----------
    suspect
        The suspect.
    log_factor
        Natural logarithm of the factor by which it alone slows half a round trip: the median over its pairs.
    share
        Share of its pairs that are slower by at least half of that.
    pairs
        Number of measured pairs of nodes that it touches.
    """

    suspect: Candidate
    log_factor: float
    share: float
    pairs: int

    @property
    def factor(self) -> float:
        """The factor by which half a round trip is slower."""
        return float(np.exp(self.log_factor))


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A node matrix decomposed.

    Attributes
    ----------
    effects
        Culprits, the one that explains most of the excess first.
    base
        Seconds of the pair's class without culprits, shape (nodes, nodes).
    fitted
        Seconds that base and culprits predict for each pair of nodes, shape (nodes, nodes); nan if unknown.
    touched
        Number of culprits that touch each pair, shape (nodes, nodes); the two links of a cable count as one.
    remainder
        log(time) - log(fitted), shape (nodes, nodes); nan on the diagonal and for pairs that were not measured.
    scale
        Standard deviation of the remainders, from their median absolute deviation.
    """

    effects: tuple[Effect, ...]
    base: Floats
    fitted: Floats
    touched: NDArray[np.int16]
    remainder: Floats
    scale: float


class Polish:
    """Base of each class and factor of each culprit, fitted in turn."""

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
        self.own: list[Floats] = []  # log factor of each culprit at each of its `slowed`
        self.way = np.zeros(self.logs.size)  # log of the product of all factors from source to target
        self.base = np.full(self.logs.size, np.nan)
        self._set_base(_start_quantile(places), self.measured)

    def contrasts(self, suspect: Candidate) -> bool:
        """Whether some pairs of a class are touched and enough are not; otherwise the whole class is slow."""
        inside = np.bincount(self.kind[suspect.cells][self.measured[suspect.cells]], minlength=len(self.of_kind))
        return bool(((inside >= FEWEST_CLEAN) & (inside <= MOST_OF_CLASS * self.of_kind)).any())

    def contrast(self, suspect: Candidate, left: Floats) -> tuple[float, float]:
        """How much slower a suspect's pairs are than untouched pairs of the same class, and the number of pairs used.

        ``left`` holds remainders (natural logarithms, no unit) in the shape (nodes * nodes,). The number of pairs is
        that of one sample with the same error: 1 / (1 / touched + 1 / untouched).
        """
        inside = np.zeros(left.size, bool)
        inside[suspect.cells] = True
        clean = self.measured & ~inside & (self.touched() == 0)
        differences: list[Floats] = []
        others = 0
        for kind in np.unique(self.kind[suspect.cells]):
            of = self.kind == kind
            if (of & clean).sum() >= FEWEST_CLEAN:
                differences.append(left[of & inside & np.isfinite(left)] - np.median(left[of & clean]))
                others += int((of & clean).sum())
        together = np.concatenate(differences) if differences else np.zeros(0)
        if not together.size:
            return 0.0, 1.0
        return float(np.median(together)), 1 / (1 / together.size + 1 / others)

    def remainder(self) -> Floats:
        """Log of the time over what base and culprits predict, shape (nodes * nodes,), no unit; nan if not measured."""
        back = self.way.reshape(self.count, self.count).T.ravel()
        return self.logs - self.base - (np.logaddexp(self.way, back) - np.log(2))

    def choose(self, suspect: Candidate) -> None:
        """Make a suspect a culprit (of a cable both links, each with its own factor) and repeat the polish."""
        for part in suspect.parts or (suspect,):
            if part not in self.chosen:
                self.chosen.append(part)
                self.own.append(np.zeros(len(part.slowed)))
        touched = self.touched()
        for _ in range(SWEEPS):
            for index, culprit in enumerate(self.chosen):
                self.way[culprit.slowed] -= self.own[index]
                self.own[index] = self._factor(culprit, touched)
                self.way[culprit.slowed] += self.own[index]
            self._set_base(0.5, self.measured & (touched == 0))

    def touched(self) -> NDArray[np.int16]:
        """Counts of culprits that touch each pair, shape (nodes * nodes,); the two links of a cable count as one."""
        found = np.zeros(self.logs.size, np.int16)
        for group in self._groups():
            found[np.unique(np.concatenate([suspect.cells for suspect in group]))] += 1
        return found

    @property
    def culprits(self) -> int:
        """Number of culprits; the two links of a cable count as one."""
        return len(self._groups())

    def _groups(self) -> list[list[Candidate]]:
        groups: dict[str, list[Candidate]] = {}
        for suspect in self.chosen:
            groups.setdefault(suspect.cable or f"{suspect.kind} {suspect.name}", []).append(suspect)
        return list(groups.values())

    def _met(self, suspect: Candidate) -> tuple[Cells, NDArray[np.bool_], NDArray[np.bool_]]:
        """For each pair that a suspect touches: its transpose, and whether each of its two directions is slowed."""
        slowed = np.zeros(self.logs.size, bool)
        slowed[suspect.slowed] = True
        turned = (suspect.cells % self.count) * self.count + suspect.cells // self.count
        return turned, slowed[suspect.cells], slowed[turned]

    def _factor(self, culprit: Candidate, touched: NDArray[np.int16]) -> Floats:
        """The log factor that explains most pairs, by class: a constant delay has a larger factor on near pairs."""
        cells = culprit.cells
        turned, there, back = self._met(culprit)
        out, into = np.exp(self.way[cells]), np.exp(self.way[turned])
        whole = 2 * np.exp(self.logs[cells] - self.base[cells])
        factor = (whole - ~there * out - ~back * into) / (there * out + back * into)
        with np.errstate(invalid="ignore"):
            logs = np.log(np.maximum(factor, LEAST_LEFT))
        kinds = self.kind[culprit.slowed]
        own = np.zeros(len(kinds))
        usable, alone = np.isfinite(logs), (touched[cells] == 1) & (culprit.kind == "node")
        for kind in np.unique(kinds):
            known = usable & (self.kind[cells] == kind)
            if (known & alone).sum() >= FEWEST_CLEAN:
                known &= alone  # another culprit may add to this one or not, as their slow directions meet or not
            own[kinds == kind] = np.median(logs[known]) if known.any() else 0.0
        return own

    def _set_base(self, quantile: float, usable: NDArray[np.bool_]) -> None:
        for kind in np.unique(self.kind[self.measured]):
            of = self.kind == kind
            if (of & usable).any():
                self.base[of] = np.quantile(self.logs[of & usable], quantile)

    def result(self, least_factor: float) -> Decomposition:
        """The result: culprits whose effect after the polish is at least ``least_factor``."""
        left = self.remainder()
        effects = [self._effect(suspect, own, left) for suspect, own in zip(self.chosen, self.own, strict=True)]
        kept = [effect for effect in effects if effect.log_factor >= np.log(least_factor)]
        shape = (self.count, self.count)
        fitted = np.exp(self.logs - left)
        fitted[~self.measured] = np.exp(self.base[~self.measured])
        base, touched = np.exp(self.base), self.touched()
        known = left[np.isfinite(left)]
        return Decomposition(
            tuple(kept),
            base.reshape(shape),
            fitted.reshape(shape),
            touched.reshape(shape),
            left.reshape(shape),
            deviation(known),
        )

    def _effect(self, suspect: Candidate, own: Floats, left: Floats) -> Effect:
        """A culprit's effect over all its pairs as if it were the only one, and the share of them that are slower."""
        alone = np.zeros(self.logs.size)
        alone[suspect.slowed] = own
        turned, _, _ = self._met(suspect)
        felt = np.logaddexp(alone[suspect.cells], alone[turned]) - np.log(2) + left[suspect.cells]
        felt = felt[np.isfinite(felt)]
        middle = float(np.median(felt))
        return Effect(suspect, middle, float((felt > middle / 2).mean()), len(felt))


def _start_quantile(places: Places) -> float:
    """The quantile at which the median of the untouched pairs of a class lies if one node or one leaf's uplink is slow.

    A node touches 2 / N of all pairs, so with few nodes the median of a class would be biased by its slow pairs.
    """
    parts = [len(places.nodes)]
    if places.routed:
        parts.append(len(np.unique(places.network.leaf[places.host])))
    return min(((part - 2) / (2 * part) for part in parts if part > 2), default=0.5)


def deviation(values: Floats) -> float:
    """Standard deviation of values (n,), in their unit, from the median absolute deviation; any unit."""
    return float(MAD * np.median(np.abs(values - np.median(values)))) if values.size else 0.0
