# SPDX-License-Identifier: BSD-3-Clause
"""Whether the pairs of a class split into two groups: two peaks of their histogram with a valley between."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 100  # histogram bins per unit of log(time): one bin is 1 % of the time
LEAST_APART = 1.25  # two peaks closer than this factor are one group with a broad middle
VALLEY = 0.2  # largest height of the valley relative to the lower peak
LEAST_SHARE = 0.02  # smallest size of the smaller group
FEWEST = 20
FEWEST_PAIRS = 60


@dataclass(frozen=True)
class TwoModes:
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
    density = np.convolve(height, _window(height), "same")
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


def _window(height: NDArray[np.float64]) -> NDArray[np.float64]:
    """Width of the smoothing window (Freedman and Diaconis 1981: 2 IQR / n^(1/3)), at least 5 %."""
    along = np.concatenate([[0.0], np.cumsum(height)])
    # the shortest interval with a quarter of the pairs, not the quartiles: with two equal groups one lies in each
    until = np.asarray(np.searchsorted(along, along[:-1] + 0.25 * along[-1]), np.int64)
    shortest = int((until - np.arange(len(until)))[until < len(along)].min())
    width = max(5, round(4 * shortest / along[-1] ** (1 / 3)))  # of a normal distribution half of its IQR
    return np.ones(min(width, BINS) | 1)


def _behind(density: NDArray[np.float64], height: NDArray[np.float64], peak: int, other: int) -> int | None:
    """The valley between two peaks, if it is deep enough and both groups are large enough."""
    low, high = min(peak, other), max(peak, other)
    between = density[low : high + 1]
    # a valley is often a flat stretch of empty bins: split it in the middle
    flat = np.flatnonzero(between <= between.min() * (1 + 1e-9))
    valley = low + int(flat[len(flat) // 2])
    groups = height[:valley].sum(), height[valley:].sum()
    enough = max(FEWEST, LEAST_SHARE * height.sum())
    lower = min(density[peak], density[other])
    deep = density[valley] <= VALLEY * lower and lower >= FEWEST  # a gap between a few pairs is not a valley
    return valley if deep and min(groups) >= enough and valley not in (low, high) else None


def _middle(height: NDArray[np.float64]) -> float:
    """Index of the median of a histogram."""
    return float(np.searchsorted(np.cumsum(height), float(height.sum()) / 2))
