# SPDX-License-Identifier: BSD-3-Clause
"""The history of a study: whether its times changed from some run on, and when; or whether they drift."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.analyse.compare.sides import Key, Side
from weft.analyse.compare.stretches import (
    DEALS,
    FEWEST_RUNS,
    LEAST_SIDE,
    LEVEL,
    SEED,
    Found,
    Reals,
    chance,
    changes_in,
    hanging_together,
    surely,
)
from weft.errors import CompareError


@dataclass(frozen=True)
class Change:
    """Times that changed between two runs."""

    at: int  # index of the first run after the change
    p: float  # chance of so large a change in a history without one, over all rows and splits
    key: Key  # the row that shows it best
    factor: float  # time after over time before, of that row
    rows: int  # rows that show a change, at this split, on their own


@dataclass(frozen=True)
class Trend:
    """A history of runs, oldest first."""

    # sides, times: the runs, and the ISO time at which each was begun
    sides: tuple[Side, ...]
    times: tuple[str, ...]
    keys: tuple[Key, ...]  # warm rows that all of them measured
    relative: Reals  # (runs, rows): time of each row over its median of all runs
    changes: tuple[Change, ...]  # changes found, oldest first
    why: str = ""  # why none could be looked for; empty if it was looked
    # times that drift from run to run: the change of the row that shows it best, whose ``at`` dates nothing and whose
    # ``factor`` is that of the last run over the first by a straight line
    drift: Change | None = None

    def overall(self) -> list[float]:
        """For each run the geometric mean over rows of its relative times."""
        return [float(value) for value in np.exp(np.log(self.relative).mean(axis=1))]


def trend(sides: Sequence[Side], times: Sequence[str]) -> Trend:
    """Order runs by their times, and find the changes.

    Raises CompareError: fewer than two runs, or runs that measured nothing in common.
    """
    if len(sides) < 2:
        raise CompareError(f"{len(sides) or 'no'} run was given; a history needs two", "weft compare --trend RUN...")
    order = sorted(range(len(sides)), key=lambda each: times[each])
    runs = tuple(sides[each] for each in order)
    common = [
        key
        for key in runs[0].points
        if key.phase == "warm" and all((key in run.points and bool(run.points[key].medians)) for run in runs)
    ]
    if not common:
        raise CompareError(
            "these runs measured nothing in common", "give runs of one study: weft compare --trend RUN..."
        )
    logs = np.array([[float(np.log(run.points[key].median_s)) for key in common] for run in runs])
    why = ""
    if len(runs) < FEWEST_RUNS:
        why = f"{len(runs)} runs: a change is looked for from {FEWEST_RUNS} on"
    elif any(run.modelled for run in runs):
        why = "simulated times have no scatter to test against"
    margin = float(np.log1p(max(run.precision for run in runs)))
    found, rises = ([], None) if why else judged(logs, margin)
    changes = [Change(each.at, each.p, common[each.row], float(np.exp(each.step)), each.rows) for each in found]
    surest = min(zip(changes, found, strict=True), key=lambda each: each[0].p, default=None)
    return Trend(
        runs,
        tuple(times[each] for each in order),
        tuple(common),
        np.exp(logs - np.median(logs, axis=0)),
        () if rises is not None else tuple(changes),
        why,
        replace(surest[0], factor=float(np.exp(rises[surest[1].row]))) if rises is not None and surest else None,
    )


def judged(logs: Reals, margin: float, deals: int = DEALS) -> tuple[list[Found], Reals | None]:
    """The changes of a history, by `changes_in`; and how far its rows drift, by `drift_in`, if that is what happened.

    `logs`: (runs, rows): logarithms of times in seconds. `margin`: smallest step that counts, in logarithms.
    """
    found = changes_in(logs, margin, deals)
    rises = drift_in(logs, found)
    if rises is None:
        return surely(found), None
    steep = steepness(logs).max()
    drawn = [steepness(history).max() for history in hanging_together(logs, np.random.default_rng(SEED), deals)]
    return (found, rises) if chance(drawn, steep) <= LEVEL else ([], None)


def steepness(logs: Reals) -> Reals:
    """For each row, the slope of a straight line over its standard error, absolute: shape (rows,), no unit.

    ``logs`` (runs, rows) are logarithms of times in seconds.
    """
    run, slopes, left = _lines(logs)
    return np.abs(slopes) / np.sqrt(np.maximum(left / (len(logs) - 2), 1e-12) / (run @ run))


def _lines(logs: Reals) -> tuple[Reals, Reals, Reals]:
    """Runs from their middle on (runs,); slope of a straight line through each row (rows,), and its squares left."""
    run: Reals = np.arange(len(logs), dtype=np.float64) - (len(logs) - 1) / 2
    middle = logs - logs.mean(axis=0)
    slopes = run @ middle / (run @ run)
    return run, slopes, ((middle - run[:, None] * slopes) ** 2).sum(axis=0)


def drift_in(logs: Reals, found: Sequence[Found]) -> Reals | None:
    """How far each row drifts, last run over first in logarithms, where that explains its changes better than steps do.

    A drift has a largest contrast too, and both its sides drift on: without this it would be dated, as several steps. A
    straight line has two numbers, steps have more; if they leave more all the same, there is no step to be dated. A
    step more than was found, which may be too short to be sure of, must halve what the line leaves. `logs`: (runs,
    rows): logarithms of times in seconds.
    """
    if not found:
        return None
    rows = sorted({each.row for each in found})
    _, slopes, left = _lines(logs)
    line = left[rows].sum()
    cuts = {each.at for each in found}
    steps = _left_by_steps(logs[:, rows], cuts)
    more = min(_left_by_steps(logs[:, rows], cuts | {at}) for at in range(LEAST_SIDE, len(logs) - LEAST_SIDE + 1))
    return slopes * (len(logs) - 1) if line < min(steps, 2 * more) else None


def _left_by_steps(logs: Reals, cuts: Collection[int]) -> float:
    """Sum of squares that means between some cuts leave."""
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in np.split(logs, sorted(cuts)))
