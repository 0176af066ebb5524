# SPDX-License-Identifier: BSD-3-Clause
"""The rule by which something is an outlier, for every experiment: all pairs, a few rounds, nodes alone.

Something is slow if it slows its messages by `LEAST_FACTOR` (nobody would act on less), by more than chance makes of
as many messages, by more than its peers scatter, and on most of its messages. A second pass of few rounds decides.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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


def margin_of_median(values: NDArray[np.float64]) -> float:
    """Half of the 95 % interval of the median of independent values, in their unit."""
    count = len(values)
    margin = MARGINS[count] if count < len(MARGINS) else 1.96 * (1 + 2.7 / count + 12 / count**2)
    return float(margin * ERROR_OF_MEDIAN * max(robust_deviation(values), LEAST_SCATTER) / np.sqrt(max(count, 1)))


def list_outliers(
    values: Sequence[float] | NDArray[np.float64], least: float | None = None, scatter: float = 0.0
) -> list[int]:
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
