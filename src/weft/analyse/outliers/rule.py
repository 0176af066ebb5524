# SPDX-License-Identifier: BSD-3-Clause
"""The rule by which something is an outlier, for every experiment: all pairs, a few rounds, nodes alone.

Something is slow if it slows its messages by `LEAST_FACTOR` (nobody would act on less), by more than chance makes of
as many messages, by more than its peers scatter, and on most of its messages. A second pass of few rounds decides.
The pairs of a class are two groups if their histogram has two peaks with a valley between.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.analyse.statistics.quantile import robust_deviation

#: The least factor of a node, switch or cable, and of what has few messages: a route, rank, memory, or a node alone.
LEAST_FACTOR, LEAST_OWN_FACTOR = 1.10, 1.15
#: Standard errors by which it exceeds chance in a whole node matrix (of the median of its pairs), and in few rounds.
MATRIX_SIGMAS, NAMED_SIGMAS = 8.0, 6.0
#: Standard deviations of its peers by which it exceeds them, of what has few messages too; and how many peers suffice.
PEER_SIGMAS, OWN_SIGMAS, FEWEST_PEERS = 6.0, 10.0, 5
#: The share of its messages that are slower by over half of its effect: a few very slow ones make no slow part.
LEAST_SHARE = 0.7
#: Few rounds: standard errors of a candidate for the second pass, those of that pass by itself, and those of both.
CANDIDATE_SIGMAS, AGAIN_SIGMAS, CONFIRMED_SIGMAS = 4.0, 2.5, 5.0
AGAIN_SHARE = 0.5  # ... and the share of its effect that it shows there
#: A part that so few rounds visit, or fewer, must slow all of them, and that still fewer visit is never named.
FEW_ROUNDS, FEWEST_ROUNDS = 6, 4
LEAST_SCATTER = 0.005  # ticks of a clock are no scatter: the least standard deviation of a log time
ERROR_OF_MEDIAN = 1.2533  # the standard error of a median over that of a mean, of normal values: sqrt(pi / 2)
#: By simulation: so many of them to each side hold the median of 0, 1, 2 ... normal values in 95 of 100 cases, if they
#: are of the values' own median deviation; of fewer than three values as of three.
MARGINS = (17.0, 17.0, 17.0, 17.0, 5.1, 5.1, 3.5, 3.5, 3.0, 3.1)
BINS = 100  # histogram bins per unit of log(time): one bin is 1 % of the time
LEAST_APART = 1.25  # two peaks closer than this factor are one group with a broad middle
VALLEY = 0.2  # largest height of the valley relative to the lower peak
LEAST_GROUP = 0.02  # smallest size of the smaller group
FEWEST_OF_GROUP = 20
FEWEST_PAIRS = 60


def margin_of_median(values: NDArray[np.float64]) -> float:
    """Half of the 95 % interval of the median of independent values, in their unit."""
    count = len(values)
    margin = MARGINS[count] if count < len(MARGINS) else 1.96 * (1 + 2.7 / count + 12 / count**2)
    return float(margin * ERROR_OF_MEDIAN * max(robust_deviation(values), LEAST_SCATTER) / np.sqrt(max(count, 1)))


def list_outliers(values: ArrayLike, least: float | None = None, scatter: float = 0.0) -> list[int]:
    """Places of the values (log times) that stand out among their peers; nan is none, nor is any of too few peers.
    ``least``: the least value, by default that of `LEAST_OWN_FACTOR`; ``scatter``: the least standard deviation.
    """
    every = np.array(values, float)
    known = every[np.isfinite(every)]
    if len(known) < FEWEST_PEERS:
        return []
    spread = max(robust_deviation(known), scatter)
    limit = max(np.log(LEAST_OWN_FACTOR) if least is None else least, float(np.median(known)) + OWN_SIGMAS * spread)
    return np.flatnonzero(every > limit).tolist()


class TwoModes(NamedTuple):
    """Two groups of pairs."""

    low: float  # with high: centre of each group, as log(time / base) of the class
    high: float
    split: float  # the valley between them
    share: float  # share of the pairs in the slower group

    @property
    def factor(self) -> float:
        """The factor by which the slower group is slower."""
        return float(np.exp(self.high - self.low))


def two_modes(buckets: NDArray[np.int64], counts: NDArray[np.int64]) -> TwoModes | None:
    """Two groups in a histogram: ``buckets`` are floor(`BINS` x log(time / base)), ``counts`` the pairs in each."""
    total = int(counts.sum())
    if total < FEWEST_PAIRS:
        return None
    first = int(buckets.min()) - 2 * BINS
    height = np.bincount(buckets - first, counts, int(buckets.max()) - first + 2 * BINS).astype(float)
    # the smoothing window (Freedman and Diaconis 1981: 2 IQR / n^(1/3)), at least 5 %, by the shortest interval with a
    # quarter of the pairs, not the quartiles: with two equal groups one lies in each
    along = np.concatenate([[0.0], np.cumsum(height)])
    until = np.asarray(np.searchsorted(along, along[:-1] + 0.25 * along[-1]), np.int64)
    shortest = int((until - np.arange(len(until)))[until < len(along)].min())
    width = max(5, round(4 * shortest / along[-1] ** (1 / 3)))  # of a normal distribution half of its IQR
    density = np.convolve(height, np.ones(min(width, BINS) | 1), "same")
    peak = int(density.argmax())
    reach = round(BINS * np.log(LEAST_APART))
    sides = [(0, peak - reach), (peak + reach + 1, len(density))]
    # the highest point far enough from the peak on each side, the higher one first
    others = [low + int(density[low:high].argmax()) for low, high in sides if low < high]
    found = [_behind(density, height, peak, other) for other in sorted(others, key=lambda place: -density[place])]
    split = next((valley for valley in found if valley is not None), None)
    if split is None:
        return None
    centres = _middle(height[:split]), split + _middle(height[split:])
    low, high, valley = ((first + place + 0.5) / BINS for place in (*centres, split))
    return TwoModes(low, high, valley, float(height[split:].sum() / total))


def _behind(density: NDArray[np.float64], height: NDArray[np.float64], peak: int, other: int) -> int | None:
    """The valley between two peaks, if it is deep enough and both groups are large enough."""
    low, high = min(peak, other), max(peak, other)
    between = density[low : high + 1]
    # a valley is often a flat stretch of empty bins: split it in the middle
    flat = np.flatnonzero(between <= between.min() * (1 + 1e-9))
    valley = low + int(flat[len(flat) // 2])
    groups = height[:valley].sum(), height[valley:].sum()
    enough = max(FEWEST_OF_GROUP, LEAST_GROUP * height.sum())
    lower = min(density[peak], density[other])
    deep = density[valley] <= VALLEY * lower and lower >= FEWEST_OF_GROUP  # a gap between a few pairs is not a valley
    return valley if deep and min(groups) >= enough and valley not in (low, high) else None


def _middle(height: NDArray[np.float64]) -> float:
    """Index of the median of a histogram."""
    return float(np.searchsorted(np.cumsum(height), float(height.sum()) / 2))
