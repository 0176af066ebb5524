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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import Part, Parts
from weft.analyse.statistics.quantile import robust_deviation

Floats = NDArray[np.float64]

#: A slow part makes its messages slower by at least this factor; nobody would act on less.
LEAST_FACTOR = 1.10
#: ... by this many standard errors, as scattered as its peers are,
NAMED_SIGMAS = 6.0
#: ... and for this share of its messages by over half of it.
LEAST_SHARE = 0.7
#: Remainders beyond so many standard deviations of their round count no more than that.
CUT = 4.0
#: Ticks of a clock are no scatter: the least standard deviation of a log time.
LEAST_SCATTER = 0.005
FEWEST_PEERS = 5
MOST_PARTS = 8
#: Two explanations are equally good within this factor of likelihood, as a logarithm.
ALIKE = 4.0
#: A part that crosses more of a round's messages is compared with those that do not cross it alone.
WIDE = 0.2
#: So few messages give no level of their own: theirs is that of their class and load in all rounds.
FEWEST_LEVEL = 6
#: Standard errors of a candidate for the second pass, and those that it shows there by itself.
CANDIDATE_SIGMAS, AGAIN_SIGMAS = 4.0, 2.5
#: Standard errors over both passes of a part that each of them shows.
CONFIRMED_SIGMAS = 5.0
#: Share of its effect that a part shows in the second pass by itself.
AGAIN_SHARE = 0.5


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
        self._key = owner * self.rounds + messages.round[parts.message]
        self.visits = np.bincount(self._key, minlength=count * self.rounds).reshape(count, self.rounds).astype(float)
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
        self._left = self.messages.log_s - explained
        self.remainder, self.scaled = self._from_level(np.ones(len(explained), bool))
        self._own: dict[int, tuple[Floats, Floats]] = {}
        for part in self.wide.tolist():
            others = np.ones(len(explained), bool)
            others[self.parts.messages(part)] = False
            self._own[part] = self._from_level(others)

    def _from_level(self, of: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Remainders from the median of some messages of the same stratum, and those by the scatter of the round."""
        level = _levels(self._left, self.stratum, self.messages.group, of)
        remainder = self._left - level
        known = of & np.isfinite(remainder)
        scatter = _scatter(remainder[known], self.messages.round[known], self.rounds)
        return remainder, np.clip(remainder / scatter[self.messages.round], -CUT, CUT)

    def choose(self, part: int, effect: float) -> None:
        self.effects[part] = effect
        self._set_base()

    def scores(self) -> tuple[Floats, Floats, Floats]:
        """Midmean over rounds of each part's scaled remainders in standard errors: of independent messages, and of the
        peers' scatter; and by how much the part lowers the sum of squares of its messages.
        """
        sums = np.bincount(self._key, self.scaled[self.parts.message], minlength=self.visits.size)
        sums = sums.reshape(self.visits.shape)
        for part, (_, scaled) in self._own.items():
            own = self.parts.messages(part)
            sums[part] = np.bincount(self.messages.round[own], np.nan_to_num(scaled[own]), minlength=self.rounds)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / self.visits
            nominal = np.sqrt(np.nansum(np.where(self.visits > 0, 1 / self.visits, 0), axis=1))
        score = _midmeans(means)
        visited = np.maximum((self.visits > 0).sum(axis=1), 1)
        error = 1.15 * nominal / visited
        slower = np.maximum(score, 0.0)
        gain = slower * (2 * sums.sum(axis=1) - self.visits.sum(axis=1) * slower)
        sigmas = score / np.maximum(error, 1e-12)
        return sigmas, sigmas / self._inflation(sigmas), gain

    def sigmas_beside_free(self, part: int, effect: float) -> float:
        """A part's score over its standard error from peers that are free of its effect; where it crosses little, 0."""
        if part not in self._own:
            return 0.0
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
        """The remainders of a part's messages; not a number where no other message gives their level."""
        own = self.parts.messages(part)
        return (self._own[part][0] if part in self._own else self.remainder)[own]

    def effect(self, part: int, since: int = 0) -> tuple[float, float]:
        """A part's effect on the log time in the rounds from ``since`` on, and its standard error."""
        own, left = self.parts.messages(part), self.remainders(part)
        of = self.messages.round[own]
        known = np.isfinite(left) & (of >= since)
        middles = np.array([np.median(left[known & (of == number)]) for number in np.unique(of[known])])
        if not len(middles):
            return 0.0, np.inf
        error = 1.2533 * max(robust_deviation(middles - np.median(middles)), LEAST_SCATTER) / np.sqrt(len(middles))
        return float(np.median(middles)), float(error)

    def is_there_again(self, part: int, effect: float) -> bool:
        """Whether the second pass by itself shows a part's effect."""
        if self.messages.second is None:
            return True
        again, spread = self.effect(part, self.messages.second)
        return again >= AGAIN_SHARE * effect and again >= AGAIN_SIGMAS * spread


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
    return found


def find_candidates(messages: Messages, parts: Parts) -> list[int]:
    """Parts that a second pass should look at: those that stand out a little, and those that explain as much."""
    found = find_slow_parts(messages, parts, CANDIDATE_SIGMAS)
    return list(dict.fromkeys(part for each in found for part in (each.part, *each.alike)))


def list_shown_again(messages: Messages, parts: Parts, few: Sequence[Part]) -> list[Part]:
    """Those of a few parts, by kind and name, whose effect the second pass shows by itself."""
    fit, known = _Fit(messages, parts), {(each.kind, each.name): place for place, each in enumerate(parts.parts)}
    places = [known.get((each.kind, each.name)) for each in few]
    return [
        each
        for each, place in zip(few, places, strict=True)
        if place is not None and fit.is_there_again(place, fit.effect(place)[0])
    ]


def _most_telling(fit: _Fit, sigmas: float) -> Slow | None:
    alone, seen, gain = fit.scores()
    best: tuple[float, Slow] | None = None
    able: list[tuple[int, float]] = []
    for part in np.argsort(-gain, kind="stable")[:60].tolist():
        if part in fit.effects or alone[part] < sigmas:
            continue
        effect, spread = fit.effect(part)
        left = fit.remainders(part)
        slowed = (left > effect / 2).sum() >= LEAST_SHARE * np.isfinite(left).sum()
        if effect < np.log(LEAST_FACTOR) or not slowed or not fit.is_there_again(part, effect):
            continue
        shown = float(seen[part])
        if shown < NAMED_SIGMAS and best is None:
            shown = max(shown, fit.sigmas_beside_free(part, effect))
        if shown < sigmas:
            continue
        able.append((part, float(gain[part])))
        if best is None:
            low, high = np.exp([effect - 1.96 * spread, effect + 1.96 * spread]).tolist()
            visited = int((fit.visits[part] > 0).sum())
            best = (
                float(gain[part]),
                Slow(part, float(np.exp(effect)), low, high, shown, visited),
            )
    if best is None:
        return None
    alike = tuple(part for part, own in able if part != best[1].part and best[0] - own < 2 * ALIKE)
    return replace(best[1], alike=alike)


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
