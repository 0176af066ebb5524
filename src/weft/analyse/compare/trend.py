# SPDX-License-Identifier: BSD-3-Clause
"""The history of a study: whether its times changed from some run on, and when; or whether they drift."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.analyse.compare.sides import Key, Side
from weft.analyse.statistics.quantile import MAD
from weft.errors import CompareError

LEAD_IN, MOST_KEPT = 30, 0.95
"""Runs drawn before a history begins, and the most that a run may keep of the one before it."""
CAUTION = 0.7  # standard errors by which more is kept than was found, each 1 / sqrt(runs): too little would be an alarm
UNUSUAL = 3.5  # standard deviations, by the median absolute difference, from which on a difference is a step
Reals: TypeAlias = NDArray[np.float64]
FEWEST_RUNS = 10
"""With fewer, no order of the runs is rare enough: a step in the middle of eight is 4 of 70, as clear as each other."""
LEVEL, DEALS, SEED = 0.05, 999, 15
LEAST_SIDE = 2


def hanging_together(logs: Reals, rng: "np.random.Generator", deals: int) -> Iterator[Reals]:
    """Unchanged histories (runs, rows), logarithms of s, in which runs keep as much of the one before as in `logs`."""
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
    """What a run keeps of the one before (AR(1)): two steps beside one make 1 + kept (Cochrane 1988)."""
    ratios: Reals = np.nanmean((steps[1:] + steps[:-1]) ** 2, axis=0) / (np.nanmean(steps**2, axis=0) + 1e-18)
    return float(np.nanmean(np.asarray(ratios, np.float64))) - 1


def _usual_steps(logs: Reals) -> Reals:
    """Steps from run to run (runs - 1, rows) without a drift; nan where one is larger than all but a few of its row."""
    steps: Reals = np.diff(logs, axis=0)
    steps -= np.median(steps, axis=0)
    limit = UNUSUAL * MAD * np.median(np.abs(steps), axis=0) + 1e-12
    return np.where(np.abs(steps) <= limit, steps, np.nan)


class Found(NamedTuple):
    """A change in a history."""

    at: int  # index of the first run after it
    p: float  # chance of so large a statistic if the order of the runs is chance
    sure_p: float  # and if runs may hang together, too
    row: int  # that shows it best
    step: float  # of that row, in logarithms
    rows: int  # how many rows show it on their own


def changes_in(logs: Reals, margin: float, deals: int = DEALS, *, sure: bool = True) -> list[Found]:
    """Changes that order does not explain; ``logs`` (runs, rows) of times, ``margin``: least step, in logarithms."""
    runs = len(logs)
    if runs < FEWEST_RUNS:
        return []
    places, scores = stretches(runs), contrasts(logs, margin)
    place, row = divmod(int(scores.argmax()), scores.shape[1])
    begin, end = places[place].tolist()
    score = scores[place, row]
    if not score:
        return []
    rng = np.random.default_rng(SEED)
    most = [contrasts(logs[rng.permutation(runs)], margin).max() for _ in range(deals)]
    p = chance(most, score)
    if p > LEVEL:
        return []
    drawn = hanging_together(logs, rng, deals) if sure else ()
    sure_p = max(p, chance([contrasts(history, margin).max() for history in drawn], score))
    shown = int((scores[place] > np.quantile(most, 1 - LEVEL)).sum())
    cuts: list[int] = sorted({0, begin, end, runs})
    found: list[Found] = []
    for before, at, after in zip(cuts, cuts[1:], cuts[2:], strict=False):
        step = float(logs[at:after, row].mean() - logs[before:at, row].mean())
        found.append(Found(at, p, sure_p, row, step, shown))
    for first, last in pairwise(cuts):
        inside = changes_in(logs[first:last], margin, deals, sure=sure_p <= LEVEL)
        found += [each._replace(at=first + each.at) for each in inside]
    return sorted(found)


def surely(found: Iterable[Found]) -> list[Found]:
    """The changes that runs which hang together do not explain either, with that chance."""
    return [each._replace(p=each.sure_p) for each in found if each.sure_p <= LEVEL]


def chance(others: Sequence[float], score: float) -> float:
    """Chance of so large a statistic among random histories, that one among them."""
    return float((1 + (np.array(others) >= score * (1 - 1e-9)).sum()) / (1 + len(others)))


@cache
def stretches(runs: int) -> NDArray[np.int64]:
    """First run and run after the last of each stretch (stretches, 2) that can be held against all others. None begins
    with the first run: it is the rest of another. All parts have `LEAST_SIDE` runs at least, if any.
    """
    last = runs - LEAST_SIDE + 1
    ends = {begin: [*range(begin + LEAST_SIDE, last), runs] for begin in range(LEAST_SIDE, last)}
    return np.array([(begin, end) for begin, own in ends.items() for end in own])


def contrasts(logs: Reals, margin: float = 0.0) -> Reals:
    """Differences of the means inside and outside each stretch over their standard errors, by the scatter within both.
    `logs`: (runs, rows) of times in s; a difference under `margin`, in logarithms, counts as none: it would hide
    others.
    """
    runs = len(logs)
    begin, end = stretches(runs).T
    sums = np.concatenate([np.zeros((1, logs.shape[1])), np.cumsum(logs, axis=0)])
    inside, count = sums[end] - sums[begin], (end - begin)[:, None]
    outside, others = sums[-1] - inside, runs - count
    within = (logs**2).sum(axis=0) - inside**2 / count - outside**2 / others
    # rows without any scatter would divide by nothing; a clock's tick is some
    error = np.sqrt(np.maximum(within / (runs - 2), 1e-12) * (1 / count + 1 / others))
    apart = np.abs(outside / others - inside / count)
    return np.where(apart < margin, 0.0, apart / error)


class Change(NamedTuple):
    """Times that changed between two runs."""

    at: int  # index of the first run after the change
    p: float  # chance of so large a change in a history without one, over all rows and splits
    key: Key  # the row that shows it best
    factor: float  # time after over time before, of that row
    rows: int  # rows that show a change, at this split, on their own


@dataclass(frozen=True)
class Trend:
    """A history of runs, oldest first."""

    sides: tuple[Side, ...]
    times: tuple[str, ...]  # the ISO time at which each run was begun
    keys: tuple[Key, ...]  # warm rows that all of them measured
    relative: Reals  # (runs, rows): time of each row over its median of all runs
    changes: tuple[Change, ...]  # changes found, oldest first
    why: str = ""  # why none could be looked for; empty if it was looked
    # times that drift: of the row that shows it best; ``at`` dates nothing, ``factor`` is of a straight line's ends
    drift: Change | None = None

    def overall(self) -> list[float]:
        """For each run the geometric mean over rows of its relative times."""
        return np.exp(np.log(self.relative).mean(axis=1)).tolist()


def trend(sides: Sequence[Side], times: Sequence[str]) -> Trend:
    """Order runs by their times, and find the changes; CompareError for under two runs, or nothing in common."""
    if len(sides) < 2:
        raise CompareError(f"{len(sides) or 'no'} run was given; a history needs two", "weft compare --trend RUN...")
    order = sorted(range(len(sides)), key=lambda each: times[each])
    runs = tuple(sides[each] for each in order)
    warm = [key for key in runs[0].points if key.phase == "warm"]
    common = [key for key in warm if all(key in run.points and run.points[key].medians for run in runs)]
    if not common:
        remedy = "give runs of one study: weft compare --trend RUN..."
        raise CompareError("these runs measured nothing in common", remedy)
    logs = np.array([[float(np.log(run.points[key].median_s)) for key in common] for run in runs])
    why = ""
    if len(runs) < FEWEST_RUNS:
        why = f"{len(runs)} runs: a change is looked for from {FEWEST_RUNS} on"
    elif any(run.modelled for run in runs):
        why = "simulated times have no scatter to test against"
    found, rises = ([], None) if why else judged(logs, float(np.log1p(max(run.precision for run in runs))))
    if rises is not None:  # of rows that drift the surest stands for all, from the first run to the last
        found = [each._replace(step=rises[each.row]) for each in sorted(found, key=lambda each: each.p)[:1]]
    changes = tuple(Change(each.at, each.p, common[each.row], float(np.exp(each.step)), each.rows) for each in found)
    dated, drift = (changes, None) if rises is None else ((), changes[0] if changes else None)
    relative = np.exp(logs - np.median(logs, axis=0))
    return Trend(runs, tuple(times[each] for each in order), tuple(common), relative, dated, why, drift)


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
    """For each row, the slope of a straight line over its standard error, absolute: shape (rows,), no unit. ``logs``
    (runs, rows) are logarithms of times in seconds.
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
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in np.split(logs, sorted(cuts)))
