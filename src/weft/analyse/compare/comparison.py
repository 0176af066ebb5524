# SPDX-License-Identifier: BSD-3-Clause
"""Two runs side by side: each common row, each call over its sizes, and rows of only one run, with their evidence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from weft.analyse.compare.sides import Key, Point, Side, Unmatched, match
from weft.analyse.statistics import interval
from weft.analyse.statistics.interval import adjust_by_holm, rank_test
from weft.errors import CompareError
from weft.format import format_bytes, percent
from weft.store.tables import grouped

FEWEST_LAUNCHES = 4  # METHOD 15: with fewer than four launches a side no test can reach 5 %, so none is made
#: The two corrected tests share 5 %. Permuting whole launches gets 1 %, or what the launches can reach at all: of four
#: against four 2 of 70 deals. Together they allow at most five false alarms in a hundred comparisons of equals.
PERMUTATION_LEVEL, HOLM_LEVEL = 0.01, 0.02
ROW_LEVEL = 0.05
#: Standard error of a launch's median whose 95 % interval is +-precision, the error that the stop rule accepts.
PER_PRECISION = 1 / 1.96
SEED = 15
Outcome = Literal["slower", "faster", "no difference shown", "no verdict", "ratio only"]
PHASES = ("cold", "warm")
Sizes = tuple[int, int] | None


@dataclass(frozen=True)
class Evidence:
    """A ratio and the conclusion it supports."""

    ratio: float  # the other run's time over the base's
    # 95 % bootstrap interval over launches, None of fewer than four a side; of a model what it leaves out, if anything
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
    """Evidence of rows, then of groups, all tested together; sides: (launches, rows) logarithms of medians, or NaN."""
    # the mean of each group's rows in each launch; one that lacks a row has no summary
    wide = [np.column_stack([side, *(side[:, list(group)].mean(axis=1) for group in groups)]) for side in (base, other)]
    ours, theirs = (np.isfinite(side).sum(axis=0).tolist() for side in wide)
    counts: list[tuple[int, int]] = list(zip(ours, theirs, strict=True))
    estimate, drawn = interval.draw_log_ratios(base, other, SEED)
    ratios = [*estimate, *(float(np.mean(estimate[list(group)])) for group in groups)]
    found = [Evidence(math.exp(ratio), launches=count) for ratio, count in zip(ratios, counts, strict=True)]
    tested = [index for index, count in enumerate(counts) if min(count) >= FEWEST_LAUNCHES]
    together = interval.adjust_by_deals(np.vstack(wide)[:, tested], len(base), precision * PER_PRECISION, SEED)
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


def judged(found: Evidence, *, modelled: bool, below_floor: bool, margin: float) -> Evidence:
    """The evidence with its outcome. A difference is shown when the row's rank test and one of the two corrected tests
    say so, the interval does not contain 1, and it exceeds the noise floor (METHOD 21); it is slower or faster if the
    whole interval lies beyond ``margin``.
    """
    if modelled:
        why = "no test" if found.low is not None else "no interval, no test"
        return replace(found, outcome="ratio only", why=f"simulated: {why}")
    if min(found.launches) < FEWEST_LAUNCHES or found.low is None or found.high is None:
        return replace(found, outcome="no verdict", why=few(found.launches))
    assert found.p is not None and found.p_holm is not None and found.p_launches is not None
    passed = found.p_launches <= permutation_level(found.launches) or found.p_holm <= HOLM_LEVEL
    shown, why = False, ""
    if below_floor:
        why = "the difference is below the noise floor"
    elif not (passed and found.p <= ROW_LEVEL):
        why = "launches of one run differ as much"
    elif found.low <= 1 <= found.high:
        why = "the interval contains 1"
    elif not beyond(found, margin):
        shown, why = True, f"the difference may be within the target precision of {percent(margin)}"
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


@dataclass(frozen=True)
class Compared:
    """A row that both runs have."""

    key: Key
    series: tuple[str, ...]
    oversubscribed: bool
    # base_s, other_s: median over the launches of their medians
    base_s: float
    other_s: float
    evidence: Evidence


@dataclass(frozen=True)
class Summary:
    """The geometric mean over all common rows of one operation and phase."""

    operation: str
    phase: str
    # nodes, ranks: of its rows if all have the same; None over several process counts
    nodes: int | None
    ranks: int | None
    keys: tuple[Key, ...]
    evidence: Evidence


@dataclass(frozen=True)
class Comparison:
    """One run against the base."""

    base: Side
    other: Side
    margin: float  # smallest relative difference that is called slower or faster
    rows: tuple[Compared, ...]
    summaries: tuple[Summary, ...]
    unmatched: tuple[Unmatched, ...]

    @property
    def modelled(self) -> bool:
        """Whether one of the runs, or both, are simulated."""
        return self.base.modelled or self.other.modelled

    @property
    def assumed(self) -> dict[str, tuple[float | None, float | None]]:
        """Numbers in which the models differ and that one assumes (None: it has none): their ratio is no result."""
        one, other = ({**side.stated, **side.assumed} for side in (self.base, self.other))
        keys = dict.fromkeys((*self.base.assumed, *self.other.assumed))
        return {key: (one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)}

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the models of the runs leave out of their times; empty where they leave nothing out."""
        return tuple(dict.fromkeys((*self.base.left_out, *self.other.left_out)))

    @property
    def outcome(self) -> Outcome | str:
        """One word for all rows: the strongest outcome among them, or ``mixed`` if some are slower and some faster."""
        seen = {each.evidence.outcome for each in (*self.rows, *self.summaries)}
        if {"slower", "faster"} <= seen:
            return "mixed"
        order: tuple[Outcome, ...] = ("slower", "faster", "no difference shown", "ratio only", "no verdict")
        return next((outcome for outcome in order if outcome in seen), "no verdict")


def compare(
    base: Side, other: Side, *, margin: float | None = None, phases: Sequence[str] = PHASES, sizes: Sizes = None
) -> Comparison:
    """Compare, ``sizes`` in bytes from first to last if given; CompareError says how rows differ if none is common."""
    common, unmatched = match(base, other)
    wanted = [key for key in common if key.phase in phases]
    keys = [key for key in wanted if sizes is None or (key.size is not None and sizes[0] <= key.size <= sizes[1])]
    if not keys:
        raise _nothing(base, other, wanted, unmatched)
    precision = max(base.precision, other.precision)
    margin = precision if margin is None else margin
    modelled = base.modelled or other.modelled
    groups = groups_of(keys)
    evidence = weigh(_logs(base, keys), _logs(other, keys), groups, precision)
    if modelled:
        evidence = spanned(evidence, [_span(base.points[key], other.points[key]) for key in keys], groups)
    rows = [_row(base, other, key, each, modelled, margin) for key, each in zip(keys, evidence, strict=False)]
    summaries: list[Summary] = []
    for group, each in zip(groups, evidence[len(keys) :], strict=True):
        own = tuple(keys[index] for index in group)
        shapes = {(key.nodes, key.ranks) for key in own}
        nodes, ranks = shapes.pop() if len(shapes) == 1 else (None, None)
        found = judged(each, modelled=modelled, below_floor=False, margin=margin)
        summaries.append(Summary(own[0].operation, own[0].phase, nodes, ranks, own, found))
    low, high = sizes or (0, math.inf)
    lost = [each for each in unmatched if each.key.phase in phases and low <= (each.key.size or low) <= high]
    return Comparison(base, other, margin, tuple(rows), tuple(summaries), tuple(lost))


def groups_of(keys: Sequence[Key]) -> list[tuple[int, ...]]:
    """Places of at least two rows of each operation and phase: over all process counts, and at each if several."""
    found: list[list[int]] = []
    for rows in grouped(range(len(keys)), lambda row: (keys[row].operation, keys[row].phase)).values():
        shapes = grouped(rows, lambda row: (keys[row].nodes, keys[row].ranks))
        found += [rows, *shapes.values()] if len(shapes) > 1 else [rows]
    return [tuple(rows) for rows in found if len(rows) > 1]


def _span(base: Point, other: Point) -> tuple[float, float] | None:
    """The ratios that what models leave out allows; None where they leave nothing out."""
    if base.span_s is None and other.span_s is None:
        return None
    (base_low, base_high), (other_low, other_high) = base.reach_s, other.reach_s
    return other_low / base_high, other_high / base_low


def _row(base: Side, other: Side, key: Key, evidence: Evidence, modelled: bool, margin: float) -> Compared:
    one, two = base.points[key], other.points[key]
    below = abs(two.median_s - one.median_s) < max(one.floor_s or 0.0, two.floor_s or 0.0)
    found = judged(evidence, modelled=modelled, below_floor=below, margin=margin)
    return Compared(key, one.series, one.oversubscribed or two.oversubscribed, one.median_s, two.median_s, found)


def _logs(side: Side, keys: Sequence[Key]) -> np.ndarray:
    """Logarithms of a run's medians: a row for each launch, a column for each key."""
    medians = [side.points[key].medians for key in keys]
    launches = sorted({launch for own in medians for launch in own})
    return np.array([[math.log(own[launch]) if launch in own else math.nan for own in medians] for launch in launches])


def _nothing(base: Side, other: Side, wanted: Sequence[Key], unmatched: Sequence[Unmatched]) -> CompareError:
    if wanted:
        have = sorted({key.size for key in wanted if key.size is not None})
        span = f"from {format_bytes(have[0])} to {format_bytes(have[-1])}" if have else "without a size"
        what = f"no common row has a size in that range; the common rows are {span}"
        return CompareError(what, "give another --sizes")
    why = "neither has any"
    if unmatched:
        key, run, reason = unmatched[0].key, unmatched[0].run, unmatched[0].reason
        why = f"{key.call} at N = {key.nodes}, p = {key.ranks} is not in {run} ({reason})"
    what = f"{base.name} and {other.name} have no row in common: {why}"
    return CompareError(what, "compare runs of one study, or of studies with the same n, m, nodes and ranks")
