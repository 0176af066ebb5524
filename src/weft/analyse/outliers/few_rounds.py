# SPDX-License-Identifier: BSD-3-Clause
"""Which parts explain the slow messages of a few rounds: a sparse, robust decomposition of log times.

The model: log time = level and load of the round + the effects of the slow parts on the way + noise. A remainder is
taken from the median of its round at equal class and planned load, so that what slows a whole round slows no part; of a
part that many messages of a round cross, from those that do not. Remainders are cut at a few standard deviations; a
part's score is the midmean over rounds of its messages' mean, so that a burst in a quarter of the rounds moves nothing.
Parts enter one by one, the one that explains most first: a cable in one direction before its switch, a node before the
cables behind it.

A second pass of further rounds decides: what passed by chance, or passed by then, is not there again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers import rule
from weft.analyse.outliers.few_parts import Part, Parts
from weft.analyse.outliers.rule import LEAST_FACTOR, NAMED_SIGMAS, margin_of_median
from weft.analyse.statistics.quantile import MAD, group_medians, robust_deviation

Floats = NDArray[np.float64]
#: Remainders of messages, the same by the scatter of their round, and that of each round.
FromLevel = tuple[Floats, Floats, Floats]

CUT = 4.0  # remainders beyond so many standard deviations of their round count no more than that
MIDMEAN = 1.15  # the standard error of a midmean over that of a mean, of normal values
WIDE = 0.2  # a part that crosses more of a round's messages is compared with those that do not cross it alone
LEAST_FREE = 0.2  # a part with a smaller share of messages that no chosen part slows is judged by all of them
#: So few messages give no level of their own: theirs is that of their class and load, and of their round.
FEWEST_LEVEL = 6
MOST_PARTS = 8
TRIED = 60  # so many parts are tried, those with the most promising sums first
ALIKE = 4.0  # two explanations are equally good within this factor of likelihood, as a logarithm
BESIDE_FREE = 4  # so many parts, those that explain most, are compared with peers without their own effect on these


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
        scatter = np.maximum(own, rule.LEAST_SCATTER)
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
            sums[part] = np.bincount(self.messages.round[own], np.nan_to_num(scaled[own]) * used, self.rounds)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / self.visits
            nominal = np.sqrt(np.nansum(np.where(self.visits > 0, 1 / self.visits, 0), axis=1))
        score = _midmeans(means)
        error = MIDMEAN * nominal / np.maximum((self.visits > 0).sum(axis=1), 1)
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
            if own.sum() >= rule.FEWEST_PEERS:
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
        """By how much a part's effect lowers the sum of squares of its messages, each cut at `CUT` deviations. So a
        message that it does not slow counts against it, however large its effect is on the others.
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
        every = len(middles) >= rule.FEWEST_ROUNDS and bool((middles > effect / 2).all())
        return every or len(middles) > rule.FEW_ROUNDS

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
        return float(np.median(self._middles(part, second))) >= rule.AGAIN_SHARE * effect and shown >= rule.AGAIN_SIGMAS


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


@dataclass(frozen=True)
class Slow:
    """A part that is slow."""

    part: int  # its index
    factor: float
    low: float  # with high: 95 % interval of the factor
    high: float
    sigmas: float  # its score over its standard error
    alike: tuple[int, ...] = ()  # indices of other parts that explain the same messages about as well


def find_slow_parts(messages: Messages, parts: Parts, sigmas: float = NAMED_SIGMAS) -> list[Slow]:
    """The parts that stand out from their peers, the one that explains most first."""
    if not len(messages.log_s) or not parts.parts:
        return []
    fit = Fit(messages, parts)
    found: list[Slow] = []
    while len(found) < MOST_PARTS and (one := _most_telling(fit, sigmas)):
        found.append(one)
        fit.choose(one.part, float(np.log(one.factor)))
    return _join_links(found, parts)


def _join_links(found: Sequence[Slow], parts: Parts) -> list[Slow]:
    """Both links of a cable as the cable, with the mean of their factors and the wider interval; none beside it."""
    of_cable = {part.links: place for place, part in enumerate(parts.parts) if part.kind == "cable"}
    links = {parts.parts[each.part].links[0]: each for each in found if parts.parts[each.part].kind == "link"}
    whole = {each.part for each in found}
    joint: list[Slow] = []
    for each in found:
        part = parts.parts[each.part]
        link = part.links[0] if part.kind == "link" else -1
        back, cable = links.get(link ^ 1), of_cable.get((link & ~1, link | 1))
        if cable is not None and cable in whole:
            continue
        if back is None or cable is None:
            joint.append(each)
        elif found.index(each) < found.index(back):
            mean = float(np.sqrt(each.factor * back.factor))
            low, high = min(each.low, back.low), max(each.high, back.high)
            joint.append(Slow(cable, mean, low, high, min(each.sigmas, back.sigmas)))
    return joint


def list_shown_again(messages: Messages, parts: Parts, few: Sequence[Part]) -> list[Part]:
    """Those of a few parts, by kind and name, whose effect the second pass shows by itself."""
    fit = Fit(messages, parts)
    alone, seen, _ = fit.scores()
    known = {(each.kind, each.name): place for place, each in enumerate(parts.parts)}

    def again(place: int) -> bool:
        return fit.is_there_again(place, fit.effect(place)[0], float(alone[place] / seen[place]))

    return [each for each in few if (each.kind, each.name) in known and again(known[each.kind, each.name])]


def _most_telling(fit: Fit, sigmas: float) -> Slow | None:
    alone, seen, gain = fit.scores()
    able: list[tuple[float, int, float, float]] = []
    for part in np.argsort(-gain, kind="stable")[:TRIED].tolist():
        if part in fit.effects or alone[part] < sigmas:
            continue
        effect, margin = fit.effect(part)
        left = fit.remainders(part)
        slowed = (left > effect / 2).sum() >= rule.LEAST_SHARE * np.isfinite(left).sum()
        if effect >= np.log(LEAST_FACTOR) and slowed:
            able.append((fit.explained(part, effect, fit.scatter_of(part)), part, effect, margin))
    if able:  # by one scatter: a switch is not better than its cable because its peers scatter less
        scatter = fit.scatter_of(max(able)[1])
        able = [(fit.explained(part, effect, scatter), part, effect, margin) for _, part, effect, margin in able]
    able.sort(key=lambda each: -each[0])
    for place, (own, part, effect, margin) in enumerate(able):
        shown = float(seen[part])
        if shown < NAMED_SIGMAS and place < BESIDE_FREE:
            shown = max(shown, fit.sigmas_beside_free(part, effect))
        if not fit.is_there_again(part, effect, float(alone[part]) / shown):
            continue
        if not fit.is_in_every_round(part, effect):
            shown = min(shown, rule.CANDIDATE_SIGMAS)
        if shown < sigmas:
            continue
        low, high = np.exp([effect - margin, effect + margin]).tolist()
        alike = tuple(
            other
            for least, other, slower, _ in able
            if other != part and abs(own - least) < 2 * ALIKE
            and fit.is_there_again(other, slower, float(alone[other] / seen[other]))
        )  # fmt: skip
        return Slow(part, float(np.exp(effect)), low, high, shown, alike)
    return None
