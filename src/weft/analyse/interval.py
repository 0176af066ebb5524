# SPDX-License-Identifier: BSD-3-Clause
r"""The interval of a median over launches (METHOD 9): the launch is the unit, however many samples each of them took.

Samples of one launch share what that launch met (places of processes, of pages, of routes): pooled, they would count
one accident a hundred times. So the value is the median of the launches' medians, and its interval follows from these
alone: k of them, sorted, x(1) <= ... <= x(k).

- k >= 6: the order-statistic interval interpolated to 95 % (Hettmansperger and Sheather, 1986). With
  gamma_d = 1 - 2 P(B <= d - 1), B binomial of k and 1/2, and d the largest for which gamma_d >= 0.95,

  .. math:: I = \frac{\gamma_d - 0.95}{\gamma_d - \gamma_{d+1}}, \qquad
            \lambda = \frac{(k - d) I}{d + (k - 2 d) I},

  the interval reaches from (1 - lambda) x(d) + lambda x(d+1) to its mirror image above.
- k = 2 .. 5: no 95 % interval exists; the range x(1) .. x(k) is given with what it covers, 1 - 2^(1-k).
- k = 1: the order statistics of that launch's samples, which know nothing of another launch.
- A model repeats itself: no interval.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from weft.analyse.quantile import median_ranks

Kind = Literal["", "none", "range of the model", "within one launch", "range of launches", "over launches"]

CONFIDENCE = 0.95
#: Under so many launches even their whole range covers less than 95 %.
FEWEST = 6


class Interval(NamedTuple):
    """Ends in the unit of the values, the probability that they hold the true median, and what kind it is."""

    low: float | None
    high: float | None
    coverage: float | None
    kind: Kind


#: Of a time that a model gives.
MODELLED, RANGE_OF_MODEL = "none", "range of the model"
NO_INTERVAL = Interval(None, None, None, "none")


def over_launches(medians: Sequence[float], within: Interval) -> Interval:
    """The interval of the median of the launches' medians.

    Raises ValueError: There is no launch.
    """
    ordered = sorted(medians)
    count = len(ordered)
    if not count:
        raise ValueError("no interval of no launches")
    if count == 1:
        return within._replace(kind="within one launch")
    if count < FEWEST:
        return Interval(ordered[0], ordered[-1], 1 - 2.0 ** (1 - count), "range of launches")
    rank, share = interpolation(count)
    low = (1 - share) * ordered[rank - 1] + share * ordered[rank]
    high = (1 - share) * ordered[-rank] + share * ordered[-rank - 1]
    return Interval(low, high, CONFIDENCE, "over launches")


@lru_cache(maxsize=256)
def interpolation(count: int) -> tuple[int, float]:
    """D and lambda of ``count`` launches, at least `FEWEST`."""
    rank, _, covered = median_ranks(count, CONFIDENCE)
    next_covered = covered - 2 * math.comb(count, rank) / 2**count
    place = (covered - CONFIDENCE) / (covered - next_covered)
    return rank, (count - rank) * place / (rank + (count - 2 * rank) * place)
