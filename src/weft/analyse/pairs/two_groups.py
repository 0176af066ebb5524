# SPDX-License-Identifier: BSD-3-Clause
"""Whether the pairs of a class fall into two groups: a second peak of their histogram behind a valley."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Bins of a histogram of log(time) a unit: one bin is 1 % of the time.
BINS = 100
#: Two peaks nearer than this factor are one group with a broad middle.
LEAST_APART = 1.25
#: The valley is at most this high, of the lower peak, and the smaller group at least this large.
VALLEY = 0.2
LEAST_SHARE = 0.02
FEWEST = 20
FEWEST_PAIRS = 60


@dataclass(frozen=True)
class TwoModes:
    """Two groups of pairs.

    Attributes
    ----------
    low, high
        Centre of each group, as log(time / base) of the class.
    split
        The valley between them.
    share
        Share of the pairs in the slower group.
    """

    low: float
    high: float
    split: float
    share: float

    @property
    def factor(self) -> float:
        """How many times slower the slower group is."""
        return float(np.exp(self.high - self.low))


def two_modes(buckets: NDArray[np.int64], counts: NDArray[np.int64]) -> TwoModes | None:
    """Find two groups in a histogram.

    Parameters
    ----------
    buckets, counts
        floor(`BINS` x log(time / base)), and how many pairs fall there.

    Returns
    -------
    TwoModes
        None where there is one group: one peak, however long its tail.
    """
    total = int(counts.sum())
    if total < FEWEST_PAIRS:
        return None
    first = int(buckets.min()) - 2 * BINS
    height = np.bincount(buckets - first, counts, int(buckets.max()) - first + 2 * BINS).astype(float)
    density = np.convolve(height, _window(height), "same")
    peak = int(density.argmax())
    reach = round(BINS * np.log(LEAST_APART))
    found = [_behind(density, height, peak, other) for other in _peaks_beyond(density, peak, reach)]
    split = next((valley for valley in found if valley is not None), None)
    if split is None:
        return None
    below, above = height[:split], height[split:]
    centres = [_middle(below), split + _middle(above)]
    low, high, valley = ((first + place + 0.5) / BINS for place in (*centres, split))
    return TwoModes(low, high, valley, float(above.sum() / total))


def _window(height: NDArray[np.float64]) -> NDArray[np.float64]:
    """A smoothing window as wide as few pairs ask for (Freedman and Diaconis 1981: 2 IQR / n^(1/3)), 5 % at least."""
    along = np.concatenate([[0.0], np.cumsum(height)])
    # the shortest stretch that holds a quarter, not the quartiles: those of two equal groups lie in either of them
    until = np.searchsorted(along, along[:-1] + 0.25 * along[-1])
    shortest = (until - np.arange(len(until)))[until < len(along)].min()
    width = max(5, round(4 * shortest / along[-1] ** (1 / 3)))  # of a normal distribution half of its IQR
    width = min(width, BINS) | 1
    return np.ones(width)


def _peaks_beyond(density: NDArray[np.float64], peak: int, reach: int) -> list[int]:
    """The highest place far enough on either side of the peak, the higher one first."""
    sides = [(0, peak - reach), (peak + reach + 1, len(density))]
    places = [low + int(density[low:high].argmax()) for low, high in sides if low < high]
    return sorted(places, key=lambda place: -density[place])


def _behind(density: NDArray[np.float64], height: NDArray[np.float64], peak: int, other: int) -> int | None:
    """The valley between two peaks, if it is deep and both groups are large enough."""
    low, high = min(peak, other), max(peak, other)
    between = density[low : high + 1]
    # a valley is often a flat stretch of nothing: split it in its middle
    flat = np.flatnonzero(between <= between.min() * (1 + 1e-9))
    valley = low + int(flat[len(flat) // 2])
    groups = height[:valley].sum(), height[valley:].sum()
    enough = max(FEWEST, LEAST_SHARE * height.sum())
    lower = min(density[peak], density[other])
    deep = density[valley] <= VALLEY * lower and lower >= FEWEST  # a gap between a few pairs is no valley
    return valley if deep and min(groups) >= enough and valley not in (low, high) else None


def _middle(height: NDArray[np.float64]) -> float:
    """Place of the median of a histogram."""
    return float(np.searchsorted(np.cumsum(height), height.sum() / 2))
