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

from weft.analyse.outliers.few_fit import Fit, Messages
from weft.analyse.outliers.few_parts import Part, Parts
from weft.analyse.outliers.rule import CANDIDATE_SIGMAS, LEAST_FACTOR, LEAST_SHARE, NAMED_SIGMAS

MOST_PARTS = 8
#: So many parts are tried, those with the most promising sums first.
TRIED = 60
#: Two explanations are equally good within this factor of likelihood, as a logarithm.
ALIKE = 4.0
#: So many parts, those that explain most, are compared with peers without their own effect on these.
BESIDE_FREE = 4


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

    def again(place: int | None) -> bool:
        return place is not None and fit.is_there_again(place, fit.effect(place)[0], float(alone[place] / seen[place]))

    return [each for each in few if again(known.get((each.kind, each.name)))]


def _most_telling(fit: Fit, sigmas: float) -> Slow | None:
    alone, seen, gain = fit.scores()
    able: list[tuple[float, int, float, float]] = []
    for part in np.argsort(-gain, kind="stable")[:TRIED].tolist():
        if part in fit.effects or alone[part] < sigmas:
            continue
        effect, margin = fit.effect(part)
        left = fit.remainders(part)
        slowed = (left > effect / 2).sum() >= LEAST_SHARE * np.isfinite(left).sum()
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
            shown = min(shown, CANDIDATE_SIGMAS)
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
