# SPDX-License-Identifier: BSD-3-Clause
"""Quantiles from a logarithmic histogram: the mergeable summary of any number of samples (METHOD 14).

Bucket k holds the durations from 2^(k/32) up to 2^((k+1)/32) nanoseconds, so a bucket is 2^(1/32) - 1 = 2.19 % wide. A
quantile is given as the geometric middle of its bucket: it lies within 2^(1/64) - 1 = 1.09 % of the sample at that rank
(the exact quantile lies in the same bucket), for every distribution.
"""

import numpy as np
from numpy.typing import NDArray

from weft.analyse.statistics.quantile import quantile_rank
from weft.store.pair_tally import BUCKETS

#: Largest relative error of a quantile, either way.
ERROR = 2 ** (1 / (2 * BUCKETS)) - 1


def edge(bucket: int) -> float:
    """Seconds at which a bucket begins."""
    return 2.0 ** (bucket / BUCKETS) * 1e-9


def quantile(buckets: NDArray[np.int64], counts: NDArray[np.int64], q: float) -> float:
    """A quantile in seconds of the samples in a histogram, within `ERROR` of the exact one.

    Raises ValueError: There are no samples, or q lies outside of 0 .. 1. `buckets`, `counts`: floor(log2(ns) *
    `BUCKETS`), and the number of samples in each; shape (buckets,), in any order.
    """
    order = np.argsort(buckets)
    along = np.cumsum(counts[order])
    rank = quantile_rank(int(along[-1]) if len(along) else 0, q)
    bucket = int(buckets[order][np.searchsorted(along, rank)])
    return edge(bucket) * 2 ** (1 / (2 * BUCKETS))
