# SPDX-License-Identifier: BSD-3-Clause
"""The history of a study: whether its times changed from some run on, and when.

The statistic of a row is the largest contrast over all splits of the runs (CUSUM, two runs a side at least), in units
of the scatter within both sides. Whole runs are permuted: launches of a run share the machine's state of that day, so
runs and not launches are exchangeable if nothing changed. The largest statistic of all rows is compared (max-T,
Westfall and Young 1993): a history without a change shows one in 5 % of cases at most, however many rows it has.
Either side is then looked at alone; times that rise and later fall back as far are found only where the sides are
long.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.analyse.compare.sides import Key, Side
from weft.errors import CompareError

FEWEST_RUNS = 8
"""With fewer, no order of the runs is rare enough: of eight, a step between the fourth and fifth is 1 of 35."""
LEVEL, DEALS, SEED = 0.05, 1999, 15
LEAST_SIDE = 2

Reals: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """Times that changed between two runs.

    Attributes
    ----------
    at
        Index of the first run after the change.
    p
        Chance of so large a change in a history without one, over all rows and splits.
    key
        The row that shows it best.
    factor
        Time after over time before, of that row.
    rows
        Rows that show a change, at this split, on their own.
    """

    at: int
    p: float
    key: Key
    factor: float
    rows: int


@dataclass(frozen=True)
class Trend:
    """A history of runs, oldest first.

    Attributes
    ----------
    sides, times
        The runs, and the ISO time at which each was begun.
    keys
        Warm rows that all of them measured.
    relative
        (runs, rows): time of each row over its median of all runs.
    changes
        Changes found, oldest first.
    why
        Why none could be looked for; empty if it was looked.
    drift
        Times that drift from run to run: the change of the row that shows it best, whose ``at`` dates nothing and whose
        ``factor`` is that of the last run over the first by a straight line.
    """

    sides: tuple[Side, ...]
    times: tuple[str, ...]
    keys: tuple[Key, ...]
    relative: Reals
    changes: tuple[Change, ...]
    why: str = ""
    drift: Change | None = None

    def overall(self) -> list[float]:
        """For each run the geometric mean over rows of its relative times."""
        return [float(value) for value in np.exp(np.log(self.relative).mean(axis=1))]


def trend(sides: Sequence[Side], times: Sequence[str]) -> Trend:
    """Order runs by their times, and find the changes.

    Parameters
    ----------
    sides, times
        The runs, and the ISO time at which each was begun; in any order.

    Raises
    ------
    CompareError
        Fewer than two runs, or runs that measured nothing in common.
    """
    if len(sides) < 2:
        raise CompareError(f"{len(sides) or 'no'} run was given; a history needs two", "weft compare --trend RUN...")
    order = sorted(range(len(sides)), key=lambda each: times[each])
    runs = tuple(sides[each] for each in order)
    common = [key for key in runs[0].points if key.phase == "warm" and all(_is_measured(run, key) for run in runs)]
    if not common:
        raise CompareError(
            "these runs measured nothing in common", "give runs of one study: weft compare --trend RUN..."
        )
    logs = np.array([[_log_median(run, key) for key in common] for run in runs])
    why = ""
    if len(runs) < FEWEST_RUNS:
        why = f"{len(runs)} runs: a change is looked for from {FEWEST_RUNS} on"
    elif any(run.modelled for run in runs):
        why = "simulated times have no scatter to test against"
    margin = float(np.log1p(max(run.precision for run in runs)))
    found = [] if why else changes_in(logs, margin)
    rises = drift_in(logs, found)
    changes = [Change(at, p, common[row], float(np.exp(step)), count) for at, p, row, step, count in found]
    surest = min(zip(changes, found, strict=True), key=lambda each: each[0].p, default=None)
    return Trend(
        runs,
        tuple(times[each] for each in order),
        tuple(common),
        np.exp(logs - np.median(logs, axis=0)),
        () if rises is not None else tuple(changes),
        why,
        replace(surest[0], factor=float(np.exp(rises[surest[1][2]]))) if rises is not None and surest else None,
    )


def drift_in(logs: Reals, found: Sequence[tuple[int, float, int, float, int]]) -> Reals | None:
    """How far each row drifts, last run over first in logarithms, where that explains its changes better than steps do.

    A drift has a largest contrast too, and both its sides drift on: without this it would be dated, as several steps.
    A straight line has two numbers, steps have more; if they leave more all the same, there is no step to be dated.

    Parameters
    ----------
    logs
        (runs, rows): logarithms of times in seconds.
    found
        The changes of :func:`changes_in`.
    """
    if not found:
        return None
    rows = sorted({row for _, _, row, _, _ in found})
    run = np.arange(len(logs)) - (len(logs) - 1) / 2
    middle = logs - logs.mean(axis=0)
    slopes = run @ middle / (run @ run)
    line = ((middle - run[:, None] * slopes)[:, rows] ** 2).sum()
    parts = np.split(logs[:, rows], [at for at, *_ in found])
    steps = sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts)
    return slopes * (len(logs) - 1) if line < steps else None


def changes_in(logs: Reals, margin: float, deals: int = DEALS) -> list[tuple[int, float, int, float, int]]:
    """Every change in a history: index of the first run after it, p, row, step of that row, rows that show it.

    Parameters
    ----------
    logs
        (runs, rows): logarithms of times.
    margin
        Smallest step that counts, in logarithms.
    deals
        Random orders of the runs to compare with.
    """
    if len(logs) < FEWEST_RUNS:
        return []
    rng = np.random.default_rng(SEED)
    scores = contrasts(logs)
    most = np.array([contrasts(logs[rng.permutation(len(logs))]).max() for _ in range(deals)])
    split, row = (int(each) for each in np.unravel_index(int(scores.argmax()), scores.shape))
    at, p = split + LEAST_SIDE, float((1 + (most >= scores[split, row] - 1e-9).sum()) / (1 + deals))
    step = float(logs[at:, row].mean() - logs[:at, row].mean())
    if p > LEVEL or abs(step) < margin:
        return []
    shown = int((scores[split] > np.quantile(most, 1 - LEVEL)).sum())
    later = [(at + each[0], *each[1:]) for each in changes_in(logs[at:], margin, deals)]
    return [*changes_in(logs[:at], margin, deals), (at, p, row, step, shown), *later]


def contrasts(logs: Reals) -> Reals:
    """The difference of both sides' means over its standard error by the scatter within the sides.

    Parameters
    ----------
    logs
        (runs, rows): logarithms of times in seconds.

    Returns
    -------
    ndarray
        (splits, rows): a ratio, of absolute value.
    """
    runs = len(logs)
    before = np.arange(LEAST_SIDE, runs - LEAST_SIDE + 1)[:, None]
    sums, squares = np.cumsum(logs, axis=0), np.cumsum(logs**2, axis=0)
    left, after = sums[before[:, 0] - 1], runs - before
    right = sums[-1] - left
    within = squares[-1] - left**2 / before - right**2 / after
    # rows without any scatter would divide by nothing; a clock's tick is some
    error = np.sqrt(np.maximum(within / (runs - 2), 1e-12) * (1 / before + 1 / after))
    return np.abs(right / after - left / before) / error


def _is_measured(run: Side, key: Key) -> bool:
    return key in run.points and bool(run.points[key].medians)


def _log_median(run: Side, key: Key) -> float:
    return float(np.log(run.points[key].median_s))
