# SPDX-License-Identifier: BSD-3-Clause
"""The polish of a matrix of nodes: base of each class and effect of each culprit, taken in turn until they settle."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.pairs.places import Places
from weft.analyse.pairs.suspects import Suspect

Floats = NDArray[np.float64]

#: Somebody who touches more than this of a class cannot be told from the class.
MOST_OF_CLASS = 0.9
#: A class with fewer untouched pairs says nothing of how slow the touched ones are.
FEWEST_CLEAN = 4
SWEEPS = 3
MAD = 1.4826  # the standard deviation of a normal distribution over its median absolute deviation


@dataclass(frozen=True, eq=False)
class Effect:
    """A suspect found to be slow.

    Attributes
    ----------
    suspect
        Who.
    log_factor
        How much slower its pairs are, as a natural logarithm: the median of their remainders.
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
        How many culprits touch each pair, shape (nodes, nodes).
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
    """Base of each class and effect of each culprit, polished in turn."""

    def __init__(self, times: Floats, places: Places) -> None:
        count = len(times)
        off = ~np.eye(count, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.logs = np.where(off & (times > 0), np.log(times), np.nan).ravel()
        self.kind = places.classes.ravel().astype(np.int64)
        self.measured = np.isfinite(self.logs)
        self.count = count
        self.chosen: list[Suspect] = []
        self.own: list[Floats] = []
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
                differences.append(left[of & inside & self.measured] - np.median(left[of & clean]))
                others += int((of & clean).sum())
        together = np.concatenate(differences) if differences else np.zeros(0)
        if not together.size:
            return 0.0, 1.0
        return float(np.median(together)), 1 / (1 / together.size + 1 / others)

    def remainder(self) -> Floats:
        """What neither base nor culprits explain."""
        left = self.logs - self.base
        for suspect, own in zip(self.chosen, self.own, strict=True):
            left[suspect.cells] -= own
        return left

    def choose(self, suspect: Suspect) -> None:
        """Make a suspect a culprit and polish everything anew."""
        self.chosen.append(suspect)
        self.own.append(np.zeros(len(suspect.cells)))
        for _ in range(SWEEPS):
            for index, culprit in enumerate(self.chosen):
                left = self.remainder()[culprit.cells] + self.own[index]
                self.own[index] = self._by_class(left, culprit.cells)
            self._set_base(0.5, self.measured & (self.touched() == 0))

    def touched(self) -> NDArray[np.int16]:
        """How many culprits touch each pair."""
        found = np.zeros(self.logs.size, np.int16)
        for suspect in self.chosen:
            found[suspect.cells] += 1
        return found

    def _by_class(self, values: Floats, cells: NDArray[np.int64]) -> Floats:
        """The median of each class at each of its pairs: what adds microseconds slows near pairs by more than far."""
        effect = np.zeros(len(cells))
        for kind in np.unique(self.kind[cells]):
            of = self.kind[cells] == kind
            known = values[of][np.isfinite(values[of])]
            effect[of] = np.median(known) if known.size else 0.0
        return effect

    def _set_base(self, quantile: float, usable: NDArray[np.bool_]) -> None:
        for kind in np.unique(self.kind[self.measured]):
            of = self.kind == kind
            if (of & usable).any():
                self.base[of] = np.quantile(self.logs[of & usable], quantile)

    def told(self, least_factor: float) -> Decomposition:
        """The result: culprits whose polished effect is still at least so large."""
        left = self.remainder()
        effects = [_effect(suspect, own, left) for suspect, own in zip(self.chosen, self.own, strict=True)]
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


def _start_quantile(places: Places) -> float:
    """Where the untouched pairs of a class have their middle when one node, or one leaf's uplink, is slow.

    A node touches 2 / N of all pairs, so the median of a class of few nodes would be half slow already.
    """
    parts = [len(places.nodes)]
    if places.routed:
        parts.append(len(np.unique(places.network.leaf[places.host])))
    return min(((part - 2) / (2 * part) for part in parts if part > 2), default=0.5)


def _effect(suspect: Suspect, own: Floats, left: Floats) -> Effect:
    """A culprit's effect over all its pairs, and the share of them that feel it."""
    felt = own + left[suspect.cells]
    felt = felt[np.isfinite(felt)]
    middle = float(np.median(felt))
    return Effect(suspect, middle, float((felt > middle / 2).mean()), len(felt))


def deviation(values: Floats) -> float:
    """Standard deviation by the median absolute deviation."""
    return float(MAD * np.median(np.abs(values - np.median(values)))) if values.size else 0.0
