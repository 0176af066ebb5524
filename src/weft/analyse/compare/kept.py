# SPDX-License-Identifier: BSD-3-Clause
"""Runs that hang together: how much each keeps of the one before, and histories in which nothing else happens."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.analyse.statistics.quantile import MAD

LEAD_IN, MOST_KEPT = 30, 0.95
"""Runs drawn before a history begins, and the most that a run may keep of the one before it."""
CAUTION = 0.7
"""Standard errors by which more is kept than was found, each 1 / sqrt(runs): too little would be an alarm."""
UNUSUAL = 3.5
"""Standard deviations, by the median absolute difference, from which on a difference is a step."""

Reals: TypeAlias = NDArray[np.float64]


def hanging_together(logs: Reals, rng: "np.random.Generator", deals: int) -> Iterator[Reals]:
    """Histories (runs, rows) in which each run keeps as much of the one before as in `logs`, and nothing changes.

    All are logarithms of times in seconds.
    """
    runs, rows = logs.shape
    steps = _usual_steps(logs)
    scale = np.sqrt(np.nanmean(steps**2, axis=0)) + 1e-12
    together = _usual_steps((logs / scale).mean(axis=1, keepdims=True))
    kept = max(_kept(steps), _kept(together)) + CAUTION / np.sqrt(runs)
    kept = min(max(kept, 0.0), MOST_KEPT)
    news = np.nan_to_num(steps)  # of hundreds of rows, one or another has an unusual step in each run
    news -= news.mean(axis=0)
    for _ in range(deals):
        history, now = np.empty((runs, rows)), np.zeros(rows)
        for run, new in enumerate(news[rng.integers(len(news), size=LEAD_IN + runs)], start=-LEAD_IN):
            now = kept * now + new
            if run >= 0:
                history[run] = now
        yield history


def _kept(steps: Reals) -> float:
    """How much a run keeps of the one before, by what two steps make beside one: 1 + kept (Cochrane 1988).

    A first-order autoregression is assumed. Steps far larger than the usual one are left out: a change is not taken for
    runs that hang together.
    """
    twice = steps[1:] + steps[:-1]
    ratios: Reals = np.nanmean(twice**2, axis=0) / (np.nanmean(steps**2, axis=0) + 1e-18)
    return float(np.nanmean(np.asarray(ratios, np.float64))) - 1


def _usual_steps(logs: Reals) -> Reals:
    """Steps from run to run (runs - 1, rows) without a drift; nan where one is larger than all but a few of its row."""
    steps: Reals = np.diff(logs, axis=0)
    steps -= np.median(steps, axis=0)
    limit = UNUSUAL * MAD * np.median(np.abs(steps), axis=0) + 1e-12
    return np.where(np.abs(steps) <= limit, steps, np.nan)
