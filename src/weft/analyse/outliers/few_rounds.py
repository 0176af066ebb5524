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

from weft.analyse.outliers.few_parts import Part, Parts
from weft.analyse.outliers.rule import (
    AGAIN_SHARE,
    AGAIN_SIGMAS,
    CANDIDATE_SIGMAS,
    ERROR_OF_MEDIAN,
    FEW_ROUNDS,
    FEWEST_PEERS,
    FEWEST_ROUNDS,
    LEAST_FACTOR,
    LEAST_SCATTER,
    LEAST_SHARE,
    NAMED_SIGMAS,
)
from weft.analyse.statistics.quantile import robust_deviation

Floats = NDArray[np.float64]

#: Remainders beyond so many standard deviations of their round count no more than that.
CUT = 4.0
MOST_PARTS = 8
#: The standard error of a midmean over that of a mean, of normal values.
MIDMEAN = 1.15
#: So many parts are tried, those with the most promising sums first.
TRIED = 60
#: Two explanations are equally good within this factor of likelihood, as a logarithm.
ALIKE = 4.0
#: A part that crosses more of a round's messages is compared with those that do not cross it alone.
WIDE = 0.2
#: A part with a smaller share of messages that no chosen part slows is judged by all of them.
LEAST_FREE = 0.2
#: So many parts, those that explain most, are compared with peers without their own effect on these.
BESIDE_FREE = 4
#: So few messages give no level of their own: theirs is that of their class and load in all rounds.
FEWEST_LEVEL = 6


@dataclass(frozen=True, eq=False)
class Messages:
    """One large (or small) message of each direction of each pair of each round."""

    round: NDArray[np.int64]  # round of each message, counted from 0, shape (messages,)
    group: NDArray[np.int64]  # number that is equal for messages of one class and planned load, from 0
    log_s: Floats  # logarithm of its seconds
    second: int | None = None  # the first round of the second pass; None without one


@dataclass(frozen=True)
class Slow:
    """A part that is slow."""

    part: int  # its index
    # factor, low, high: by how much, with its 95 % interval
    factor: float
    low: float
    high: float
    sigmas: float  # its score over its standard error
    rounds: int  # rounds in which messages crossed it
    alike: tuple[int, ...] = ()  # indices of other parts that explain the same messages about as well


class _Fit:
    """Remainders under the parts chosen so far."""

    def __init__(self, messages: Messages, parts: Parts) -> None:
        self.messages, self.parts = messages, parts
        self.rounds = int(messages.round.max(initial=-1)) + 1
        groups = int(messages.group.max(initial=0)) + 1
        self.stratum = np.unique(messages.round * groups + messages.group, return_inverse=True)[1].ravel()
        owner, count = parts.owner, len(parts.parts)
        self._owner, self._key = owner, owner * self.rounds + messages.round[parts.message]
        self.kinds = np.array([part.kind for part in parts.parts])
        beside = np.bincount(self.stratum)[self.stratum[parts.message]]
        width = int(self.stratum.max(initial=0)) + 1
        strata = np.bincount(np.unique(owner * width + self.stratum[parts.message]) // width, minlength=count)
        share = np.bincount(owner, 1 / beside, minlength=count) / np.maximum(strata, 1)
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
        self._left = self.messages.log_s - explained
        self.remainder, self.scaled, self.scatter = self._from_level(np.ones(len(explained), bool))
        self._own: dict[int, tuple[Floats, Floats, Floats]] = {}
        for part in self.wide.tolist():
            others = np.ones(len(explained), bool)
            others[self.parts.messages(part)] = False
            self._own[part] = self._from_level(others)

    def _from_level(self, of: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        """Remainders from the median of some messages of their stratum, those by the round's scatter, and that."""
        level = _levels(self._left, self.stratum, self.messages.group, of)
        remainder = self._left - level
        known = of & np.isfinite(remainder)
        scatter = _scatter(remainder[known], self.messages.round[known], self.rounds)
        return remainder, np.clip(remainder / scatter[self.messages.round], -CUT, CUT), scatter

    def choose(self, part: int, effect: float) -> None:
        self.effects[part] = effect
        self._set_base()

    def scores(self) -> tuple[Floats, Floats, Floats]:
        """Midmean over rounds of each part's scaled remainders in standard errors: of independent messages, and of the
        peers' scatter; and by how much the part lowers the sum of squares of its messages.
        """
        sums = np.bincount(self._key, self.scaled[self.parts.message] * self._used, minlength=self.visits.size)
        sums = sums.reshape(self.visits.shape)
        for part, (_, scaled, _) in self._own.items():
            own, used = self.parts.messages(part), self._used[self.parts.first[part] : self.parts.first[part + 1]]
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
        plain, _, _ = self.scores()
        del self.effects[part]
        peers = self._inflation(plain)[part]
        self._set_base()
        return float(own / peers)

    def _inflation(self, sigmas: Floats) -> Floats:
        """How much more a kind's healthy parts scatter than independent messages would."""
        every = max(1.0, robust_deviation(sigmas))
        found = np.full(len(sigmas), every)
        for kind in np.unique(self.kinds):
            own = self.kinds == kind
            if own.sum() >= FEWEST_PEERS:
                found[own] = max(1.0, robust_deviation(sigmas[own]))
        return found

    def remainders(self, part: int) -> Floats:
        """The remainders of a part's messages; nan without a level, or where another part slows it."""
        own, used = self.parts.messages(part), self._used[self.parts.first[part] : self.parts.first[part + 1]]
        return np.where(used, (self._own[part][0] if part in self._own else self.remainder)[own], np.nan)

    def explained(self, part: int, effect: float) -> float:
        """By how much a part's effect lowers the sum of squares of its messages, each cut at `CUT` deviations.

        So a message that it does not slow counts against it, however large its effect is on the others.
        """
        own, left = self.parts.messages(part), self.remainders(part)
        scatter = (self._own[part][2] if part in self._own else self.scatter)[self.messages.round[own]]
        before, after = (np.minimum(np.abs(each / scatter), CUT) ** 2 for each in (left, left - effect))
        return float(np.nansum(before - after))

    def effect(self, part: int) -> tuple[float, float]:
        """A part's effect on the log time, and its standard error."""
        middles = self._middles(part)
        if not len(middles):
            return 0.0, np.inf
        error = (
            ERROR_OF_MEDIAN * max(robust_deviation(middles - np.median(middles)), LEAST_SCATTER) / np.sqrt(len(middles))
        )
        return float(np.median(middles)), float(error)

    def _middles(self, part: int, since: int = 0) -> Floats:
        """The median remainder of a part's messages in each round from ``since`` on that has some."""
        left = self.remainders(part)
        of = self.messages.round[self.parts.messages(part)]
        known = np.isfinite(left) & (of >= since)
        return np.array([np.median(left[known & (of == number)]) for number in np.unique(of[known])])

    def is_in_every_round(self, part: int, effect: float) -> bool:
        """Whether a part that few rounds visit slows each of them: its messages of a round suffer together."""
        middles = self._middles(part)
        return len(middles) > FEW_ROUNDS or (len(middles) >= FEWEST_ROUNDS and bool((middles > effect / 2).all()))

    def is_there_again(self, part: int, effect: float, inflation: float) -> bool:
        """Whether the second pass by itself shows a part's effect, by the scatter of its peers."""
        second = self.messages.second
        if second is None:
            return True
        own, used = self.parts.messages(part), self._used[self.parts.first[part] : self.parts.first[part + 1]]
        scaled = (self._own[part][1] if part in self._own else self.scaled)[own]
        known = used & np.isfinite(scaled) & (self.messages.round[own] >= second)
        visits = np.bincount(self.messages.round[own][known])
        sums = np.bincount(self.messages.round[own][known], scaled[known])
        means, visits = (sums / np.maximum(visits, 1))[visits > 0], visits[visits > 0]
        if not len(means):
            return False
        error = MIDMEAN * float(np.sqrt((1 / visits).sum())) / len(means)
        shown = float(_midmeans(means[np.newaxis])[0]) / (error * inflation)
        return float(np.median(self._middles(part, second))) >= AGAIN_SHARE * effect and shown >= AGAIN_SIGMAS


def find_slow_parts(messages: Messages, parts: Parts, sigmas: float = NAMED_SIGMAS) -> list[Slow]:
    """The parts that stand out from their peers, the one that explains most first."""
    if not len(messages.log_s) or not parts.parts:
        return []
    fit = _Fit(messages, parts)
    found: list[Slow] = []
    while len(found) < MOST_PARTS:
        one = _most_telling(fit, sigmas)
        if one is None:
            break
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
            joint.append(Slow(cable, mean, low, high, min(each.sigmas, back.sigmas), max(each.rounds, back.rounds)))
    return joint


def find_candidates(messages: Messages, parts: Parts) -> list[int]:
    """Parts that a second pass should look at: those that stand out a little, and those that explain as much."""
    found = find_slow_parts(messages, parts, CANDIDATE_SIGMAS)
    return list(dict.fromkeys(part for each in found for part in (each.part, *each.alike)))


def list_shown_again(messages: Messages, parts: Parts, few: Sequence[Part]) -> list[Part]:
    """Those of a few parts, by kind and name, whose effect the second pass shows by itself."""
    fit = _Fit(messages, parts)
    alone, seen, _ = fit.scores()
    known = {(each.kind, each.name): place for place, each in enumerate(parts.parts)}
    places = [known.get((each.kind, each.name)) for each in few]
    return [
        each
        for each, place in zip(few, places, strict=True)
        if place is not None and fit.is_there_again(place, fit.effect(place)[0], float(alone[place] / seen[place]))
    ]


def _most_telling(fit: _Fit, sigmas: float) -> Slow | None:
    alone, seen, gain = fit.scores()
    able: list[tuple[float, int, float, float]] = []
    for part in np.argsort(-gain, kind="stable")[:TRIED].tolist():
        if part in fit.effects or alone[part] < sigmas:
            continue
        effect, spread = fit.effect(part)
        left = fit.remainders(part)
        slowed = (left > effect / 2).sum() >= LEAST_SHARE * np.isfinite(left).sum()
        if effect >= np.log(LEAST_FACTOR) and slowed:
            able.append((fit.explained(part, effect), part, effect, spread))
    able.sort(key=lambda each: -each[0])
    for place, (own, part, effect, spread) in enumerate(able):
        shown = float(seen[part])
        if shown < NAMED_SIGMAS and place < BESIDE_FREE:
            shown = max(shown, fit.sigmas_beside_free(part, effect))
        if not fit.is_there_again(part, effect, float(alone[part]) / shown):
            continue
        if not fit.is_in_every_round(part, effect):
            shown = min(shown, CANDIDATE_SIGMAS)
        if shown < sigmas:
            continue
        low, high = np.exp([effect - 1.96 * spread, effect + 1.96 * spread]).tolist()
        alike = tuple(
            other
            for least, other, slower, _ in able
            if other != part and abs(own - least) < 2 * ALIKE
            and fit.is_there_again(other, slower, float(alone[other] / seen[other]))
        )  # fmt: skip
        return Slow(part, float(np.exp(effect)), low, high, shown, int((fit.visits[part] > 0).sum()), alike)
    return None


def _levels(values: Floats, stratum: NDArray[np.int64], group: NDArray[np.int64], of: NDArray[np.bool_]) -> Floats:
    """The median of some of the values of each value's stratum, or where these are few of its group; else nan."""
    own, every = _medians(values, stratum, of, FEWEST_LEVEL), _medians(values, group, of, 1)
    return np.where(np.isfinite(own), own, every)


def _medians(values: Floats, group: NDArray[np.int64], of: NDArray[np.bool_], fewest: int) -> Floats:
    """The median of the chosen values of each value's group; nan of fewer than ``fewest``."""
    chosen, count = values[of], int(group.max(initial=-1)) + 1
    order = np.lexsort((chosen, group[of]))
    sizes = np.bincount(group[of], minlength=count)
    first = np.cumsum(sizes) - sizes
    ordered = chosen[order]
    held = sizes >= fewest
    middle = np.full(count, np.nan)
    middle[held] = (ordered[first[held] + (sizes[held] - 1) // 2] + ordered[first[held] + sizes[held] // 2]) / 2
    return middle[group]


def _scatter(remainder: Floats, of: NDArray[np.int64], rounds: int) -> Floats:
    found = np.full(rounds, max(robust_deviation(remainder), LEAST_SCATTER))
    for number in range(rounds):
        own = remainder[of == number]
        if own.size >= FEWEST_LEVEL:
            found[number] = max(robust_deviation(own), LEAST_SCATTER)
    return found


def _midmeans(values: Floats) -> Floats:
    """Mean of the middle half of each row's known values, shape (rows,); all of fewer than four."""
    ordered: Floats = np.sort(values, axis=1)
    known = np.count_nonzero(np.isfinite(ordered), axis=1)
    found = np.zeros(len(ordered))
    for row, count in enumerate(known.tolist()):  # a row has as many values as there are rounds
        cut = count // 4 if count >= 4 else 0
        found[row] = ordered[row, cut : count - cut].mean() if count else 0.0
    return found
