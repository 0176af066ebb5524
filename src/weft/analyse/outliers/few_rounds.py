# SPDX-License-Identifier: BSD-3-Clause
"""Which parts explain the slow messages of a few rounds: a sparse, robust decomposition of log times.

The model: log time = level and load of the round + the effects of the slow parts on the way + noise. A remainder is
taken from the median of its round at equal planned load, so that what slows a whole round slows no part. Remainders are
cut at a few standard deviations; a part's score is the midmean over rounds of its messages' mean, so that a burst in a
quarter of the rounds moves nothing. Parts enter one by one, the one that explains most first: a cable in one direction
before its switch, a node before the cables behind it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import Parts

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


@dataclass(frozen=True, eq=False)
class Messages:
    """One large (or small) message of each direction of each pair of each round.

    Attributes
    ----------
    round
        Round of each message, counted from 0, shape (messages,).
    stratum
        Number that is equal for messages of a round with equal planned load.
    log_s
        Logarithm of its seconds.
    """

    round: NDArray[np.int64]
    stratum: NDArray[np.int64]
    log_s: Floats


@dataclass(frozen=True)
class Slow:
    """A part that is slow.

    Attributes
    ----------
    part
        Its index.
    factor, low, high
        By how much, with its 95 % interval.
    sigmas
        Its score over its standard error.
    rounds
        Rounds in which messages crossed it.
    alike
        Indices of other parts that explain the same messages about as well.
    """

    part: int
    factor: float
    low: float
    high: float
    sigmas: float
    rounds: int
    alike: tuple[int, ...] = ()


class _Fit:
    """Remainders under the parts chosen so far."""

    def __init__(self, messages: Messages, parts: Parts) -> None:
        self.messages, self.parts = messages, parts
        self.rounds = int(messages.round.max(initial=-1)) + 1
        owner, count = parts.owner, len(parts.parts)
        self._key = owner * self.rounds + messages.round[parts.message]
        self.visits = np.bincount(self._key, minlength=count * self.rounds).reshape(count, self.rounds).astype(float)
        self.kinds = np.array([part.kind for part in parts.parts])
        self.effects: dict[int, float] = {}
        self._set_base()

    def _set_base(self) -> None:
        """Remainders and their scatter by round, without the messages of chosen parts where others are left."""
        explained = np.zeros(len(self.messages.log_s))
        for part, effect in self.effects.items():
            own = self.parts.messages(part)
            explained[own] = np.maximum(explained[own], effect)
        left = self.messages.log_s - explained
        self.remainder = left - _medians(left, self.messages.stratum)
        scatter = _scatter(self.remainder, self.messages.round, self.rounds)
        self.scaled = np.clip(self.remainder / scatter[self.messages.round], -CUT, CUT)

    def choose(self, part: int, effect: float) -> None:
        self.effects[part] = effect
        self._set_base()

    def scores(self) -> tuple[Floats, Floats]:
        """Midmean over rounds of each part's scaled remainders, and its standard error from the peers' scatter."""
        sums = np.bincount(self._key, self.scaled[self.parts.message], minlength=self.visits.size)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums.reshape(self.visits.shape) / self.visits
            nominal = np.sqrt(np.nansum(np.where(self.visits > 0, 1 / self.visits, 0), axis=1))
        score = _midmeans(means)
        visited = np.maximum((self.visits > 0).sum(axis=1), 1)
        error = 1.15 * nominal / visited
        return score, error * self._inflation(score / np.maximum(error, 1e-12))

    def _inflation(self, sigmas: Floats) -> Floats:
        """How much more a kind's healthy parts scatter than independent messages would."""
        every = max(1.0, _mad(sigmas))
        found = np.full(len(sigmas), every)
        for kind in np.unique(self.kinds):
            own = self.kinds == kind
            if own.sum() >= FEWEST_PEERS:
                found[own] = max(1.0, _mad(sigmas[own]))
        return found

    def effect(self, part: int) -> tuple[float, float]:
        """A part's effect on the log time, and its standard error, from its remainders as they are."""
        own = self.parts.messages(part)
        of = self.messages.round[own]
        middles = np.array([np.median(self.remainder[own[of == number]]) for number in np.unique(of)])
        error = 1.2533 * max(_mad(middles - np.median(middles)), LEAST_SCATTER) / np.sqrt(len(middles))
        return float(np.median(middles)), float(error)


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


def _most_telling(fit: _Fit, sigmas: float) -> Slow | None:
    score, error = fit.scores()
    seen = score / np.maximum(error, 1e-12)
    count = fit.visits.sum(axis=1)
    gain = np.where(score > 0, count * score**2, 0.0)
    best: tuple[float, Slow] | None = None
    able: list[tuple[int, float]] = []
    for part in np.argsort(-gain, kind="stable")[:60].tolist():
        if part in fit.effects or seen[part] < sigmas:
            continue
        effect, spread = fit.effect(part)
        own = fit.remainder[fit.parts.messages(part)]
        if effect < np.log(LEAST_FACTOR) or (own > effect / 2).mean() < LEAST_SHARE:
            continue
        able.append((part, float(gain[part])))
        if best is None:
            low, high = np.exp([effect - 1.96 * spread, effect + 1.96 * spread]).tolist()
            visited = int((fit.visits[part] > 0).sum())
            best = (float(gain[part]), Slow(part, float(np.exp(effect)), low, high, float(seen[part]), visited))
    if best is None:
        return None
    alike = tuple(part for part, own in able if part != best[1].part and best[0] - own < 2 * ALIKE)
    return replace(best[1], alike=alike)


def _medians(values: Floats, group: NDArray[np.int64]) -> Floats:
    """The median of each value's group."""
    order = np.lexsort((values, group))
    sizes = np.bincount(group)
    first = np.cumsum(sizes) - sizes
    ordered = values[order]
    held = sizes > 0
    middle = np.zeros(len(sizes))
    middle[held] = (ordered[first[held] + (sizes[held] - 1) // 2] + ordered[first[held] + sizes[held] // 2]) / 2
    return middle[group]


def _scatter(remainder: Floats, of: NDArray[np.int64], rounds: int) -> Floats:
    found = np.full(rounds, LEAST_SCATTER)
    for number in range(rounds):
        own = remainder[of == number]
        if own.size:
            found[number] = max(_mad(own), LEAST_SCATTER)
    return found


def _mad(values: Floats) -> float:
    """The standard deviation of normal values with the same median of absolute values about the median."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if values.size else 0.0


def _midmeans(values: Floats) -> Floats:
    """Mean of the middle half of each row's known values, shape (rows,); all of fewer than four."""
    ordered: Floats = np.sort(values, axis=1)
    known = np.count_nonzero(np.isfinite(ordered), axis=1)
    found = np.zeros(len(ordered))
    for row, count in enumerate(known.tolist()):  # a row has as many values as there are rounds
        cut = count // 4 if count >= 4 else 0
        found[row] = ordered[row, cut : count - cut].mean() if count else 0.0
    return found
