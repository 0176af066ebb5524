# SPDX-License-Identifier: BSD-3-Clause
"""The polish of a matrix of nodes: base of each class and factor of each culprit, taken in turn until they settle.

Half a round trip of a and b takes base x (f(a, b) + f(b, a)) / 2, where f(a, b) is the product of the factors of all
culprits on the way from a to b. A culprit slows one direction only (a link), or both alike (`Suspect.slowed`): routes
that depend on the destination may cross a cable on the way there and not on the way back.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.pairs.places import Places
from weft.analyse.pairs.suspects import Cells, Suspect

Floats = NDArray[np.float64]

#: Somebody who touches more than this of a class cannot be told from the class.
MOST_OF_CLASS = 0.9
#: A class with fewer untouched pairs says nothing of how slow the touched ones are.
FEWEST_CLEAN = 4
SWEEPS = 3
#: A factor below this is one that a pair's scatter, or another culprit's error, has pushed there.
LEAST_LEFT = 0.05
MAD = 1.4826  # the standard deviation of a normal distribution over its median absolute deviation


@dataclass(frozen=True, eq=False)
class Effect:
    """A suspect found to be slow.

    Attributes
    ----------
    suspect
        Who.
    log_factor
        How much slower it alone makes half a round trip, as a natural logarithm: the median over its pairs.
    share
        Share of its pairs that are slower by at least half of that.
    pairs
        How many pairs of nodes it touches, of those that were measured.
    """

    suspect: Suspect
    log_factor: float
    share: float
    pairs: int

    @property
    def factor(self) -> float:
        """How many times slower."""
        return float(np.exp(self.log_factor))


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A matrix of nodes taken apart.

    Attributes
    ----------
    effects
        Culprits, the one that explains most first.
    base
        Seconds of the pair's class where no culprit touches it, shape (nodes, nodes).
    fitted
        Seconds that base and culprits give for each pair of nodes, shape (nodes, nodes); nan where nothing is known.
    touched
        How many culprits touch each pair, shape (nodes, nodes); the two links of a cable count as one.
    remainder
        log(time) - log(fitted), shape (nodes, nodes); nan on the diagonal and where nothing was measured.
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
    """Base of each class and factor of each culprit, polished in turn."""

    def __init__(self, times: Floats, places: Places) -> None:
        count = len(times)
        off = ~np.eye(count, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.logs = np.where(off & (times > 0), np.log(times), np.nan).ravel()
        self.kind = places.classes.ravel().astype(np.int64)
        self.measured = np.isfinite(self.logs)
        self.count = count
        self.chosen: list[Suspect] = []
        self.own: list[Floats] = []  # log factor of each culprit at each of its `slowed`
        self.way = np.zeros(self.logs.size)  # log of the product of all factors on the way there
        self.base = np.full(self.logs.size, np.nan)
        self._set_base(_start_quantile(places), self.measured)

    def contrasts(self, suspect: Suspect) -> bool:
        """Whether some pairs of a class are touched and enough are not: else the class as a whole is what is slow."""
        inside = np.bincount(self.kind[suspect.cells][self.measured[suspect.cells]], minlength=self.kind.max() + 1)
        whole = np.bincount(self.kind[self.measured], minlength=self.kind.max() + 1)
        return bool(((inside >= FEWEST_CLEAN) & (inside <= MOST_OF_CLASS * whole)).any())

    def contrast(self, suspect: Suspect, left: Floats) -> tuple[float, float]:
        """How much slower a suspect's pairs are than untouched ones of the same class, and how many pairs say so.

        The number is that of one sample with the same error: 1 / (1 / touched + 1 / untouched).
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
        """What neither base nor culprits explain."""
        back = self.way.reshape(self.count, self.count).T.ravel()
        return self.logs - self.base - (np.logaddexp(self.way, back) - np.log(2))

    def choose(self, suspect: Suspect) -> None:
        """Make a suspect a culprit and polish everything anew; of a cable both links, each with its own factor."""
        for part in suspect.parts or (suspect,):
            if part not in self.chosen:
                self.chosen.append(part)
                self.own.append(np.zeros(len(part.slowed)))
        for _ in range(SWEEPS):
            for index, culprit in enumerate(self.chosen):
                self.way[culprit.slowed] -= self.own[index]
                self.own[index] = self._factor(culprit)
                self.way[culprit.slowed] += self.own[index]
            self._set_base(0.5, self.measured & (self.touched() == 0))

    def touched(self) -> NDArray[np.int16]:
        """How many culprits touch each pair; the two links of a cable are one."""
        groups: dict[str, list[Suspect]] = {}
        for suspect in self.chosen:
            groups.setdefault(suspect.cable or f"{suspect.kind} {suspect.name}", []).append(suspect)
        found = np.zeros(self.logs.size, np.int16)
        for group in groups.values():
            found[np.unique(np.concatenate([suspect.cells for suspect in group]))] += 1
        return found

    def _met(self, suspect: Suspect) -> tuple[Cells, NDArray[np.bool_], NDArray[np.bool_]]:
        """Of each pair that a suspect touches its transpose, and whether the way there and the way back are slowed."""
        slowed = np.zeros(self.logs.size, bool)
        slowed[suspect.slowed] = True
        turned = (suspect.cells % self.count) * self.count + suspect.cells // self.count
        return turned, slowed[suspect.cells], slowed[turned]

    def _factor(self, culprit: Suspect) -> Floats:
        """The log factor that explains most pairs, class by class: what adds microseconds slows near ones by more.

        Parameters
        ----------
        culprit
            Whose factor `way` does not hold.
        """
        cells = culprit.cells
        turned, there, back = self._met(culprit)
        out, into = np.exp(self.way[cells]), np.exp(self.way[turned])
        whole = 2 * np.exp(self.logs[cells] - self.base[cells])
        factor = (whole - ~there * out - ~back * into) / (there * out + back * into)
        with np.errstate(invalid="ignore"):
            logs = np.log(np.maximum(factor, LEAST_LEFT))
        kinds = self.kind[culprit.slowed]
        own = np.zeros(len(kinds))
        for kind in np.unique(kinds):
            known = logs[(self.kind[cells] == kind) & np.isfinite(logs)]
            own[kinds == kind] = np.median(known) if known.size else 0.0
        return own

    def _set_base(self, quantile: float, usable: NDArray[np.bool_]) -> None:
        for kind in np.unique(self.kind[self.measured]):
            of = self.kind == kind
            if (of & usable).any():
                self.base[of] = np.quantile(self.logs[of & usable], quantile)

    def told(self, least_factor: float) -> Decomposition:
        """The result: culprits whose polished effect is still at least so large."""
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

    def _effect(self, suspect: Suspect, own: Floats, left: Floats) -> Effect:
        """A culprit's effect over all its pairs as if it were the only one, and the share of them that feel it."""
        alone = np.zeros(self.logs.size)
        alone[suspect.slowed] = own
        turned, _, _ = self._met(suspect)
        felt = np.logaddexp(alone[suspect.cells], alone[turned]) - np.log(2) + left[suspect.cells]
        felt = felt[np.isfinite(felt)]
        middle = float(np.median(felt))
        return Effect(suspect, middle, float((felt > middle / 2).mean()), len(felt))


def _start_quantile(places: Places) -> float:
    """Where the untouched pairs of a class have their middle when one node, or one leaf's uplink, is slow.

    A node touches 2 / N of all pairs, so the median of a class of few nodes would be half slow already.
    """
    parts = [len(places.nodes)]
    if places.routed:
        parts.append(len(np.unique(places.network.leaf[places.host])))
    return min(((part - 2) / (2 * part) for part in parts if part > 2), default=0.5)


def deviation(values: Floats) -> float:
    """Standard deviation by the median absolute deviation."""
    return float(MAD * np.median(np.abs(values - np.median(values)))) if values.size else 0.0
