# SPDX-License-Identifier: BSD-3-Clause
"""Evidence from the launches of two runs for a difference in one row, or in all sizes of a call together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from weft.analyse.statistics import interval, significance
from weft.analyse.statistics.significance import adjust_by_holm, rank_test
from weft.format import percent

#: METHOD 15: with fewer than four launches a side no test can reach 5 %, so none is made.
FEWEST_LAUNCHES = 4
#: The two corrected tests share 5 %. Permuting whole launches gets 1 %, or what the launches can reach at all: of four
#: against four 2 of 70 deals. Together they allow at most five false alarms in a hundred comparisons of equals.
PERMUTATION_LEVEL, HOLM_LEVEL = 0.01, 0.02
ROW_LEVEL = 0.05
#: Standard error of a launch's median whose 95 % interval is +-precision, the error that the stop rule accepts.
PER_PRECISION = 1 / 1.96
SEED = 15

Outcome = Literal["slower", "faster", "no difference shown", "no verdict", "ratio only"]


@dataclass(frozen=True)
class Evidence:
    """A ratio and the conclusion it supports."""

    ratio: float  # the other run's time over the base's
    # low, high: its 95 % bootstrap interval over launches; None with fewer than four launches a side. Of a simulated
    # run: the range of what its model leaves out, None where it leaves nothing out.
    low: float | None = None
    high: float | None = None
    launches: tuple[int, int] = (1, 1)  # launches of base and other
    p: float | None = None  # rank test of the launches' medians alone (Wilcoxon, Mann, Whitney), two-sided
    p_holm: float | None = None  # the same, corrected by Holm over all rows and summaries of the comparison
    # p of the permutation of whole launches, by the largest difference of all rows and summaries (max-T)
    p_launches: float | None = None
    shown: bool = False  # whether a difference is shown, however small
    outcome: Outcome = "no verdict"  # for too few launches; ``ratio only`` if one of the runs is simulated
    why: str = ""  # reason for an outcome without a difference; empty otherwise


def weigh(base: np.ndarray, other: np.ndarray, groups: Sequence[tuple[int, ...]], precision: float) -> list[Evidence]:
    """Evidence of each row, then of the summary of each group of rows, all tested together.

    `base`, `other`: (launches, rows): logarithms of the launches' medians; NaN where a launch has none.
    """
    wide = [np.hstack([side, _summaries(side, groups)]) for side in (base, other)]
    ours, theirs = (np.isfinite(side).sum(axis=0).tolist() for side in wide)
    counts: list[tuple[int, int]] = list(zip(ours, theirs, strict=True))
    estimate, drawn = interval.draw_log_ratios(base, other, SEED)
    ratios = [*estimate, *(float(np.mean(estimate[list(group)])) for group in groups)]
    found = [Evidence(math.exp(ratio), launches=count) for ratio, count in zip(ratios, counts, strict=True)]
    tested = [index for index, count in enumerate(counts) if min(count) >= FEWEST_LAUNCHES]
    together = significance.adjust_by_deals(np.vstack(wide)[:, tested], len(base), precision * PER_PRECISION, SEED)
    alone = [rank_test(*(side[np.isfinite(side[:, index]), index].tolist() for side in wide)) for index in tested]
    for place, (index, corrected) in enumerate(zip(tested, adjust_by_holm(alone), strict=True)):
        group = groups[index - len(estimate)] if index >= len(estimate) else (index,)
        low, high = interval.interval_of_draws(drawn[:, list(group)].mean(axis=1), *counts[index])
        row = replace(found[index], low=math.exp(low), high=math.exp(high))
        found[index] = replace(row, p=alone[place], p_holm=corrected, p_launches=float(together[place]))
    return found


def spanned(
    evidence: Sequence[Evidence], spans: Sequence[tuple[float, float] | None], groups: Sequence[tuple[int, ...]]
) -> list[Evidence]:
    """The evidence of rows and then of summaries, with the range of their ratios (geometric means) for an interval."""
    ends = [span or (found.ratio, found.ratio) for found, span in zip(evidence, spans, strict=False)]
    whole = [_means([ends[row] for row in group]) if any(spans[row] for row in group) else None for group in groups]
    every = zip(evidence, [span or (None, None) for span in (*spans, *whole)], strict=True)
    return [replace(found, low=low, high=high) for found, (low, high) in every]


def _means(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    low, high = (math.exp(float(np.mean(np.log(column)))) for column in zip(*ends, strict=True))
    return low, high


def _summaries(logs: np.ndarray, groups: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Mean of each group's rows in each launch; a launch that lacks one of them has no summary."""
    means = [logs[:, list(group)].mean(axis=1) for group in groups]
    return np.stack(means, axis=1) if means else np.zeros((len(logs), 0))


def judged(found: Evidence, *, modelled: bool, below_floor: bool, margin: float) -> Evidence:
    """The evidence with its outcome.

    A difference is shown when the rank test of the row alone and one of the two corrected tests say so, the interval
    does not contain 1, and the difference exceeds the noise floor (METHOD 21). It is called slower or faster if the
    whole interval also lies beyond ``margin``, which the studies' precision leaves undecided.
    """
    if modelled:
        why = "no test" if found.low is not None else "no interval, no test"
        return replace(found, outcome="ratio only", why=f"simulated: {why}")
    if min(found.launches) < FEWEST_LAUNCHES or found.low is None or found.high is None:
        return replace(found, outcome="no verdict", why=few(found.launches))
    assert found.p is not None and found.p_holm is not None and found.p_launches is not None
    passed = found.p_launches <= permutation_level(found.launches) or found.p_holm <= HOLM_LEVEL
    why = ""
    if below_floor:
        why = "the difference is below the noise floor"
    elif not (passed and found.p <= ROW_LEVEL):
        why = "launches of one run differ as much"
    elif found.low <= 1 <= found.high:
        why = "the interval contains 1"
    shown = not why
    if shown and not beyond(found, margin):
        why = f"the difference may be within the target precision of {percent(margin)}"
    if why:
        return replace(found, shown=shown, outcome="no difference shown", why=why)
    return replace(found, shown=True, outcome="slower" if found.ratio > 1 else "faster")


def permutation_level(launches: tuple[int, int]) -> float:
    """Level of the permutation test: 1 %, or the smallest p that so many launches can reach, if that is larger."""
    one, two = launches
    return max(PERMUTATION_LEVEL, (1 + (one == two)) / math.comb(one + two, one) * (1 + 1e-9))


def beyond(found: Evidence, margin: float) -> bool:
    """Whether a whole interval lies further from 1 than ``margin``, relative."""
    low, high = found.low or found.ratio, found.high or found.ratio
    return low > 1 + margin or high < 1 / (1 + margin)


def few(launches: tuple[int, int]) -> str:
    """Why there is no verdict: ``3 launches a side, 4 needed``."""
    one, two = launches
    have = f"{one} launch{'' if one == 1 else 'es'} a side" if one == two else f"{one} and {two} launches"
    return f"{have}, {FEWEST_LAUNCHES} needed"
