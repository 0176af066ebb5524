# SPDX-License-Identifier: BSD-3-Clause
"""Change-over points: sizes at which a library switches protocol or algorithm, found in its times (METHOD 18).

A series is cut into straight pieces, each cut tested by an F test (docs/dev/change-over.md). The scale is never under
1: a fit that happens to be closer than the noise between launches does not make the noise smaller. A cut is a *jump* if
the time itself steps, or a *bend* if only the cost per byte changes, as where a cache overflows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from weft.analyse.thresholds.series import LEAST, NORMAL_95, Piece, Pieces, SizeSeries

ALPHA = 0.01
MOST_PIECES = 8
#: Smallest step that is reported (alignment and rounding cause smaller ones), and what a bend must make in an octave.
LEAST_FACTOR = 1.08
LEAST_BEND = 1.15
WITHIN = 3.84  # a place of the cut belongs to the 95 % set if R rises by less than this: chi-squared of one parameter
SPIKE_CUTS = 1.5  # leaving out a single outlying size costs as much as this many cuts
MOST_SPIKES = 3
BEYOND = 0.75  # share of a step (of its logarithm) from which on a size stands beyond it


@dataclass(frozen=True)
class ChangeOver:
    """One change-over of a series."""

    cell: str
    call: str  # name of the series
    lower: int  # bytes: the largest size measured before
    upper: int  # ... and the smallest after; the change lies between
    surely_lower: int  # the same for all places in the 95 % set
    surely_upper: int
    # ``jump``: the time steps; ``bend``: only its slope changes; ``switch``: only the algorithm changes
    kind: Literal["jump", "bend", "switch"]
    # time after over time before, with its 95 % interval; None of a bend and of a switch that no line beside it judges
    factor: float | None
    low: float | None
    high: float | None
    before_rate: float | None  # bytes per second at the margin; None if the time does not grow with the size
    after_rate: float | None
    # 1 - p, where p is that of the F test times the number of places; 1 of a model, and of a recorded switch
    confidence: float
    algorithm_before: str = ""  # as the run recorded it; empty where it recorded none, or the same one on both sides
    algorithm_after: str = ""


def find_steps_and_bends(series: SizeSeries) -> list[ChangeOver]:
    """Change-overs of one series, ascending; none where fewer than `2 LEAST` sizes have a time."""
    keep = _without_spikes(series)
    if len(keep) < 2 * LEAST:
        return []
    fit = series.pieces(keep)
    cuts, worth = _significant(fit, series.launches)
    pieces = [fit.piece(begin, end - 1) for begin, end in pairwise((0, *cuts, len(keep)))]
    scale = _scale(fit, cuts, series.launches)[0]
    found: list[ChangeOver] = []
    for cut, sides in zip(cuts, pairwise(pieces), strict=True):
        if change := _change(series, fit, sides, cut, scale, worth[cut]):
            found.append(_narrowed(change, series, keep, sides))
    return found


def _narrowed(change: ChangeOver, series: SizeSeries, keep: Sequence[int], sides: tuple[Piece, Piece]) -> ChangeOver:
    """A jump whose gap ends at a size left out of the fit, where that size surely stands on one side of the step."""
    before, after = sides
    for place, size in enumerate(series.sizes):
        inside = change.lower < size < change.upper and place not in keep and math.isfinite(series.errors[place])
        if change.kind != "jump" or not inside or min(before.at(size), after.at(size)) <= 0:
            continue
        step = math.log(after.at(size) / before.at(size))
        share = math.log(series.seconds[place] / before.at(size)) / step if step else 0.5
        doubt = NORMAL_95 * series.errors[place] / abs(step) if step else 1.0
        if share - doubt > BEYOND:
            surely = size if change.surely_upper == change.upper else change.surely_upper
            return replace(change, upper=size, surely_upper=surely)
        if share + doubt < 1 - BEYOND:
            surely = size if change.surely_lower == change.lower else change.surely_lower
            change = replace(change, lower=size, surely_lower=surely)
    return change


def _without_spikes(series: SizeSeries) -> list[int]:
    """Indices of the series without single outliers: one disturbed size is not a protocol of its own."""
    keep = [place for place, error in enumerate(series.errors) if math.isfinite(error)]
    for _ in range(MOST_SPIKES):
        if len(keep) <= 2 * LEAST:
            break
        now, own, _ = _penalised(series.pieces(keep), series.launches)
        # sizes at either end, too few for a piece: a step before them is not shown, but would be placed wrongly
        numbers = [number for number in range(1, LEAST) if len(keep) - number >= 2 * LEAST]
        ends = [tuple(end) for number in numbers for end in (keep[:number], keep[-number:])]
        costs: dict[tuple[int, ...], float] = {}
        for group in [*((place,) for place in _standing_out(series, keep)), *ends]:
            rest = [place for place in keep if place not in group]
            cost, penalty, _ = _penalised(series.pieces(rest), series.launches)
            # ends under the penalty of the rest: a step that no piece lies beyond counts as noise, and makes cuts dear
            costs[group] = cost + SPIKE_CUTS * len(group) * (penalty if group in ends else own)
        best = min(costs, key=costs.__getitem__)
        if costs[best] >= now:
            break
        keep = [place for place in keep if place not in best]
    return keep


def _standing_out(series: SizeSeries, keep: Sequence[int]) -> list[int]:
    """Inner points far off the line between their neighbours, on logarithmic axes, or in the middle of a step. No
    latency and rate make time grow faster than the size: a size with that on both sides lies within the change.
    """
    found: list[int] = []
    for left, here, right in zip(keep, keep[1:], keep[2:], strict=False):
        logs = [math.log(series.seconds[place]) for place in (left, here, right)]
        steps = [math.log(max(series.sizes[place], 0.5)) for place in (left, here, right)]
        share = (steps[1] - steps[0]) / (steps[2] - steps[0])
        off = logs[1] - (1 - share) * logs[0] - share * logs[2]
        beyond = max(4 * series.errors[here], math.log(LEAST_FACTOR))
        steep = min(logs[k + 1] - logs[k] - steps[k + 1] + steps[k] for k in (0, 1))
        if abs(off) > beyond or steep > beyond:
            found.append(here)
    return found


def _scale(fit: Pieces, cuts: tuple[int, ...], launches: int) -> tuple[float, int]:
    """Squared factor by which the errors are scaled, at least 1, and its degrees of freedom."""
    residual = max(1, len(fit.sizes) - 2 * (len(cuts) + 1) - len(cuts))
    return max(1.0, fit.cost(cuts) / residual), residual + launches


def _penalised(fit: Pieces, launches: int) -> tuple[float, float, tuple[int, ...]]:
    """The cheapest cuts under the penalty: their cost, the penalty, and the cuts; infinite where no partition fits."""
    choices = fit.partitions(MOST_PIECES)
    if not choices:
        return math.inf, 0.0, ()
    # the scale of the finest sensible fit: a coarser fit would count the steps themselves as noise
    scale = min(_scale(fit, cuts, launches)[0] for cuts in choices)
    # the decrease of R that a cut needs for p times places to be `ALPHA` (F of 2 and freedom, solved)
    count, freedom = len(fit.sizes), max(3, len(fit.sizes) - 2 + launches)
    p = ALPHA / max(1, count - 2 * LEAST + 1)
    penalty = freedom * (p ** (-2 / freedom) - 1) * scale
    return min((fit.cost(cuts) + penalty * len(cuts), penalty, cuts) for cuts in choices)


def _significant(fit: Pieces, launches: int) -> tuple[tuple[int, ...], dict[int, float]]:
    """Cuts that are each significant against their absence, and the p of each; the weakest are dropped first."""
    cuts = _penalised(fit, launches)[2]
    while cuts:
        scale, freedom = _scale(fit, cuts, launches)
        places = max(1, len(fit.sizes) - 2 * LEAST + 1)
        worth: dict[int, float] = {}
        for cut in cuts:
            ratio = max(0.0, (fit.cost(tuple(other for other in cuts if other != cut)) - fit.cost(cuts)) / 2 / scale)
            worth[cut] = min(1.0, places * (1 + 2 * ratio / freedom) ** (-freedom / 2))
        weakest = max(worth, key=worth.__getitem__)
        if worth[weakest] <= ALPHA:
            return cuts, worth
        cuts = tuple(cut for cut in cuts if cut != weakest)
    return (), {}


def _change(
    series: SizeSeries, fit: Pieces, sides: tuple[Piece, Piece], cut: int, scale: float, p: float
) -> ChangeOver | None:
    before, after = sides
    lower, upper = float(fit.sizes[cut - 1]), float(fit.sizes[cut])
    middle = math.sqrt(max(lower, 0.5) * upper)
    left, right = before.at(middle), after.at(middle)
    if left <= 0 or right <= 0:
        return None
    factor = right / left
    error = math.hypot(before.error_at(middle) / left, after.error_at(middle) / right) * math.sqrt(scale)
    # a step shows from both sides of the gap; a bend in the gap misleads only one of the two
    views = [math.log(factor), math.log(max(after.at(lower), 1e-12) / before.at(lower))]
    views.append(math.log(after.at(upper) / before.at(upper)) if before.at(upper) > 0 else 0.0)
    steps = min(views) > math.log(LEAST_FACTOR) or max(views) < -math.log(LEAST_FACTOR)
    octave = abs(math.log(max(after.at(2 * upper), 1e-12) / max(before.at(2 * upper), 1e-12)))
    if not steps and octave < math.log(LEAST_BEND):
        return None
    first, last = _surely(fit, before.first, cut, after.last, scale)
    place = int(lower), int(upper), int(fit.sizes[first - 1]), int(fit.sizes[last])
    ends = factor * math.exp(-NORMAL_95 * error), factor * math.exp(NORMAL_95 * error)
    step = (factor, *ends) if steps else (None, None, None)
    rates = _rate(before, scale), _rate(after, scale)
    return ChangeOver(series.cell, series.name, *place, "jump" if steps else "bend", *step, *rates, 1 - p)


def _rate(piece: Piece, scale: float) -> float | None:
    """Bytes per second; None if the growth with the size is within its error."""
    error = math.sqrt(max(piece.covariance[1][1], 0.0) * scale)
    return 1 / piece.per_byte_s if piece.per_byte_s > NORMAL_95 * error else None


def _surely(fit: Pieces, first: int, cut: int, last: int, scale: float) -> tuple[int, int]:
    """First and last cut, around the best one, that the times do not exclude."""

    def cost(place: int) -> float:
        return float(fit.costs[first, place - 1] + fit.costs[place, last])

    allowed = cost(cut) + WITHIN * scale
    lowest = highest = cut
    while lowest - 1 >= first + LEAST and cost(lowest - 1) <= allowed:
        lowest -= 1
    while highest + 1 <= last - LEAST + 1 and cost(highest + 1) <= allowed:
        highest += 1
    return lowest, highest
