# SPDX-License-Identifier: BSD-3-Clause
"""The permutation test over whole launches: which rows differ when all rows are tested at once.

Four launches a side give the rank test p = 2/70 at best, which survives no correction over many sizes. But the rows of
a launch were measured together. Under the null hypothesis a whole launch could as well belong to the other run. So
whole launches are dealt anew, and each row's difference is compared with the *largest* difference of any row in each
deal (Westfall and Young's step-down max-T, 1993). That bounds the chance of one false alarm among all rows, whatever
their number and however they correlate, and works from four launches a side on: 2 of 70 deals.
"""

import math
from itertools import combinations

import numpy as np

#: Up to this number all deals are tried (7 launches a side make 3,432); beyond, this many are drawn at random.
MOST_DEALS = 5_000


def deals(first: int, second: int, seed: int) -> np.ndarray:
    """Which launches count as the first side's, one deal per row; row 0 is the deal as measured."""
    total = first + second
    if math.comb(total, first) <= MOST_DEALS:
        found = np.zeros((math.comb(total, first), total), dtype=bool)
        for row, chosen in enumerate(combinations(range(total), first)):
            found[row, list(chosen)] = True
        return found
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(total), (MOST_DEALS, 1)), axis=1)
    order[0] = np.arange(total)
    return order < first


def statistics(logs: np.ndarray, dealt: np.ndarray, error: float) -> np.ndarray:
    """Each row's difference between the two sides of each deal, in units of its spread.

    Parameters
    ----------
    logs
        (launches, rows) logarithms of medians; NaN where a launch has none.
    """
    known = np.isfinite(logs)
    centred = np.where(known, logs - np.nanmean(logs, axis=0), 0.0)  # less cancellation in the squares
    one, other = dealt.astype(float), (~dealt).astype(float)
    counts = [side @ known.astype(float) for side in (one, other)]
    sums = [side @ centred for side in (one, other)]
    enough = np.minimum(counts[0], counts[1]) >= 2
    n1, n2 = (np.where(enough, count, 2.0) for count in counts)
    within = (centred**2).sum(axis=0) - sums[0] ** 2 / n1 - sums[1] ** 2 / n2
    spread = np.sqrt(np.maximum(within, 0.0) / (n1 + n2 - 2))
    scale = (spread + error) * np.sqrt(1 / n1 + 1 / n2)
    return np.where(enough, np.abs(sums[0] / n1 - sums[1] / n2) / scale, 0.0)


def adjusted(logs: np.ndarray, first: int, error: float, seed: int) -> np.ndarray:
    """Adjusted p of each row: the share of deals in which any row not yet settled differs at least as much.

    Parameters
    ----------
    logs
        (launches, rows) logarithms of medians, the first side's launches first.
    """
    if logs.shape[1] == 0:
        return np.zeros(0)
    found = statistics(logs, deals(first, logs.shape[0] - first, seed), error)
    order = np.argsort(-found[0], kind="stable")
    # the largest over this row and all that differ less: a row that is settled no longer hides the others
    largest = np.maximum.accumulate(found[:, order[::-1]], axis=1)[:, ::-1]
    share = (largest >= largest[0] * (1 - 1e-12)).mean(axis=0)
    result = np.empty(len(order))
    result[order] = np.maximum.accumulate(share)
    return result
