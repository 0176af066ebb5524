# SPDX-License-Identifier: BSD-3-Clause
"""Remainders of a few rounds under the parts chosen so far, and how well each part explains them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import Parts
from weft.analyse.outliers.rule import (
    AGAIN_SHARE,
    AGAIN_SIGMAS,
    FEW_ROUNDS,
    FEWEST_PEERS,
    FEWEST_ROUNDS,
    LEAST_SCATTER,
    margin_of_median,
)
from weft.analyse.statistics.quantile import MAD, group_medians, robust_deviation

Floats = NDArray[np.float64]
#: Remainders of messages, the same by the scatter of their round, and that of each round.
FromLevel = tuple[Floats, Floats, Floats]

#: Remainders beyond so many standard deviations of their round count no more than that.
CUT = 4.0
#: The standard error of a midmean over that of a mean, of normal values.
MIDMEAN = 1.15
#: A part that crosses more of a round's messages is compared with those that do not cross it alone.
WIDE = 0.2
#: A part with a smaller share of messages that no chosen part slows is judged by all of them.
LEAST_FREE = 0.2
#: So few messages give no level of their own: theirs is that of their class and load, and of their round.
FEWEST_LEVEL = 6


@dataclass(frozen=True, eq=False)
class Messages:
    """One large (or small) message of each direction of each pair of each round."""

    round: NDArray[np.int64]  # round of each message, counted from 0, shape (messages,)
    group: NDArray[np.int64]  # number that is equal for messages of one class and planned load, from 0
    log_s: Floats  # logarithm of its seconds
    second: int | None = None  # the first round of the second pass; None without one


class Fit:
    """Remainders under the parts chosen so far."""

    def __init__(self, messages: Messages, parts: Parts) -> None:
        self.messages, self.parts = messages, parts
        self.rounds = int(messages.round.max(initial=-1)) + 1
        groups = int(messages.group.max(initial=0)) + 1
        self.stratum = np.unique(messages.round * groups + messages.group, return_inverse=True)[1].ravel()
        count = len(parts.parts)
        owner = self._owner = np.repeat(np.arange(count), np.diff(parts.first))
        self._key = owner * self.rounds + messages.round[parts.message]
        self.kinds = np.array([part.kind for part in parts.parts])
        stratum, width = self.stratum[parts.message], int(self.stratum.max(initial=0)) + 1
        met = np.zeros((count, width), bool)
        met[owner, stratum] = True
        share = np.bincount(owner, 1 / np.bincount(self.stratum)[stratum], count) / np.maximum(met.sum(axis=1), 1)
        self.wide = np.flatnonzero(share > WIDE)
        self.effects: dict[int, float] = {}
        self._set_base()

    def _set_base(self) -> None:
        """Remainders without the effects of chosen parts, from a level of all messages; of a wide part, of others."""
        explained = np.zeros(len(self.messages.log_s))
        for part, effect in self.effects.items():
            own = self.parts.messages(part)
            explained[own] = np.maximum(explained[own], effect)
        # what a chosen part slows tells nothing of another part, unless nearly all of its messages are so
        free = (explained == 0)[self.parts.message]
        count = len(self.parts.parts)
        share = np.bincount(self._owner, free, count) / np.maximum(np.bincount(self._owner, minlength=count), 1)
        self._used = free | (share < LEAST_FREE)[self._owner]
        self.visits = np.bincount(self._key, self._used, count * self.rounds).reshape(count, self.rounds)
        left, every = self.messages.log_s - explained, np.ones(len(explained), bool)
        self.whole = self._from_level(left, every)
        self._own: dict[int, FromLevel] = {}
        for part in self.wide.tolist():
            others = every.copy()
            others[self.parts.messages(part)] = False
            self._own[part] = self._from_level(left, others)

    def _from_level(self, left: Floats, of: NDArray[np.bool_]) -> FromLevel:
        """Remainders from the median of some messages of their stratum."""
        remainder = left - _levels(left, self.stratum, self.messages, of)
        known = of & np.isfinite(remainder)
        values, rounds = remainder[known], self.messages.round[known]
        off = np.abs(values - group_medians(rounds, values, self.rounds)[rounds])
        few = np.bincount(rounds, minlength=self.rounds) < FEWEST_LEVEL  # ... have the scatter of all
        own = np.where(few, robust_deviation(values), MAD * group_medians(rounds, off, self.rounds))
        scatter = np.maximum(own, LEAST_SCATTER)
        return remainder, np.clip(remainder / scatter[self.messages.round], -CUT, CUT), scatter

    def _messages(self, part: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Indices of the messages of a part, and which of them no chosen part slows."""
        return self.parts.messages(part), self._used[self.parts.first[part] : self.parts.first[part + 1]]

    def choose(self, part: int, effect: float) -> None:
        """Take off a part's effect from what is left."""
        self.effects[part] = effect
        self._set_base()

    def scores(self) -> tuple[Floats, Floats, Floats]:
        """Midmean over rounds of each part's scaled remainders in standard errors: of independent messages, and of the
        peers' scatter; and by how much the part lowers the sum of squares of its messages.
        """
        sums = np.bincount(self._key, self.whole[1][self.parts.message] * self._used, minlength=self.visits.size)
        sums = sums.reshape(self.visits.shape)
        for part, (_, scaled, _) in self._own.items():
            own, used = self._messages(part)
            values = np.nan_to_num(scaled[own]) * used
            sums[part] = np.bincount(self.messages.round[own], values, minlength=self.rounds)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / self.visits
            nominal = np.sqrt(np.nansum(np.where(self.visits > 0, 1 / self.visits, 0), axis=1))
        score = _midmeans(means)
        visited = np.maximum((self.visits > 0).sum(axis=1), 1)
        error = MIDMEAN * nominal / visited
        slower = np.maximum(score, 0.0)
        gain = slower * (2 * sums.sum(axis=1) - self.visits.sum(axis=1) * slower)
        sigmas = score / np.maximum(error, 1e-12)
        return sigmas, sigmas / self._inflation(sigmas), gain

    def sigmas_beside_free(self, part: int, effect: float) -> float:
        """A part's score over its standard error from peers that are free of its effect."""
        own = self.scores()[0][part]
        self.choose(part, effect)
        peers = self._inflation(self.scores()[0])[part]
        del self.effects[part]
        self._set_base()
        return float(own / peers)

    def _inflation(self, sigmas: Floats) -> Floats:
        """How much more a kind's healthy parts scatter than independent messages would."""
        found = np.full(len(sigmas), max(1.0, robust_deviation(sigmas)))
        for kind in np.unique(self.kinds):
            own = self.kinds == kind
            if own.sum() >= FEWEST_PEERS:
                found[own] = max(1.0, robust_deviation(sigmas[own]))
        return found

    def remainders(self, part: int) -> Floats:
        """The remainders of a part's messages; nan without a level, or where another part slows it."""
        own, used = self._messages(part)
        return np.where(used, self._own.get(part, self.whole)[0][own], np.nan)

    def scatter_of(self, part: int) -> Floats:
        """The scatter of each round that a part's messages are judged by."""
        return self._own.get(part, self.whole)[2]

    def explained(self, part: int, effect: float, scatter: Floats) -> float:
        """By how much a part's effect lowers the sum of squares of its messages, each cut at `CUT` deviations.

        So a message that it does not slow counts against it, however large its effect is on the others.
        """
        left, own = self.remainders(part), scatter[self.messages.round[self.parts.messages(part)]]
        before, after = (np.minimum(np.abs(each / own), CUT) ** 2 for each in (left, left - effect))
        return float(np.nansum(before - after))

    def effect(self, part: int) -> tuple[float, float]:
        """A part's effect on the log time, and half of its 95 % interval."""
        middles = self._middles(part)
        return float(np.median(middles)) if len(middles) else 0.0, margin_of_median(middles)

    def _middles(self, part: int, since: int = 0) -> Floats:
        """The median remainder of a part's messages in each round from ``since`` on that has some."""
        middles = group_medians(self.messages.round[self.parts.messages(part)], self.remainders(part), self.rounds)
        return middles[np.isfinite(middles) & (np.arange(self.rounds) >= since)]

    def is_in_every_round(self, part: int, effect: float) -> bool:
        """Whether a part that few rounds visit slows each of them: its messages of a round suffer together."""
        middles = self._middles(part)
        return len(middles) > FEW_ROUNDS or (len(middles) >= FEWEST_ROUNDS and bool((middles > effect / 2).all()))

    def is_there_again(self, part: int, effect: float, inflation: float) -> bool:
        """Whether the second pass by itself shows a part's effect, by the scatter of its peers."""
        second = self.messages.second
        if second is None:
            return True
        own, used = self._messages(part)
        scaled, of = self._own.get(part, self.whole)[1][own], self.messages.round[own]
        known = used & np.isfinite(scaled) & (of >= second)
        visits, sums = np.bincount(of[known]), np.bincount(of[known], scaled[known])
        means, visits = (sums / np.maximum(visits, 1))[visits > 0], visits[visits > 0]
        if not len(means):
            return False
        error = MIDMEAN * float(np.sqrt((1 / visits).sum())) / len(means)
        shown = float(_midmeans(means[np.newaxis])[0]) / (error * inflation)
        return float(np.median(self._middles(part, second))) >= AGAIN_SHARE * effect and shown >= AGAIN_SIGMAS


def _levels(values: Floats, stratum: NDArray[np.int64], messages: Messages, of: NDArray[np.bool_]) -> Floats:
    """The median of some of the values of each value's stratum; where these are few, of its group in all rounds, and
    what its round adds to that; else nan.
    """
    strata, groups = int(stratum.max(initial=-1)) + 1, int(messages.group.max(initial=-1)) + 1
    own = group_medians(stratum[of], values[of], strata)
    own[np.bincount(stratum[of], minlength=strata) < FEWEST_LEVEL] = np.nan
    usual = group_medians(messages.group[of], values[of], groups)[messages.group]
    rounds = int(messages.round.max(initial=-1)) + 1
    added = group_medians(messages.round[of], (values - usual)[of], rounds)
    added[np.bincount(messages.round[of], minlength=rounds) < FEWEST_LEVEL] = 0.0
    return np.where(np.isfinite(own[stratum]), own[stratum], usual + added[messages.round])


def _midmeans(values: Floats) -> Floats:
    """Mean of the middle half of each row's known values, shape (rows,); all of fewer than four."""
    ordered: Floats = np.sort(values, axis=1)
    place = np.arange(int(values.shape[1]))
    known = np.isfinite(ordered).sum(axis=1, keepdims=True)
    cut: NDArray[np.int64] = np.where(known >= 4, known // 4, 0)
    middle: NDArray[np.bool_] = (place >= cut) & (place < known - cut)
    return np.where(middle, ordered, 0.0).sum(axis=1) / np.maximum(middle.sum(axis=1), 1)
