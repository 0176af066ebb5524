# SPDX-License-Identifier: BSD-3-Clause
r"""Alarms of a study that is measured every night: from which night on its times changed, judged as they come.

A night keeps a part of the one before it, since others load a machine for days: a row is a level and a first-order
autoregression, u(t) = r u(t-1) + e(t), fitted to the nights before. A level that moves by d shows in e as d on the
first night and as (1 - r) d on later ones; the least-squares estimate of d over the last k nights has the error

.. math:: s \sqrt{\frac{1}{W} + \frac{(\sum w)^2}{n W^2}}, \qquad W = \sum w^2

with s the deviation of e, and n nights that tell the level. It is held against Student's t at a level for which a
year of nights, all rows, directions and k have `A_YEAR` false alarms. Each of an alarm's nights, two or three, also
lies beyond half of the step, so one slow night is none; and blocks of nights before it, put together anew, do not
show so large a step (block permutation: tails longer than Student's count). A slow part that a night's run names, and
none of many nights before, is an alarm at once: it is in few rows, and the slowest of all pairs scatters too much.
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.analyse.statistics.interval import student_quantile
from weft.analyse.statistics.quantile import MAD

Reals = NDArray[np.float64]
A_YEAR, NIGHTS_A_YEAR = 0.3, 365
"""False alarms a year that the test allows: less than one, since its model is never quite true."""
MEMORY, FEWEST, LEAST_LEVEL = 60, 14, 3
"""Nights that tell the scatter, the fewest from which it is known, and the fewest that tell a level."""
SPANS = (2, 3)
BLOCK, DEALS, SEED = 5, 99, 35
MOST_KEPT, CAUTION = 0.9, 0.7
LEVEL = 0.005  # chance among permuted blocks from which on an alarm is none


class Alarm(NamedTuple):
    """Times that changed."""

    at: int  # the first night after the change
    seen: int  # the night that showed it
    row: int  # the row that shows it best; -1 for the mean of all rows
    step: float  # the change in logarithms of seconds

    @property
    def factor(self) -> float:
        """Time after over time before."""
        return float(np.exp(self.step))


def new_parts(slow: Sequence[Collection[str]], memory: int) -> list[set[str]]:
    """The parts that each night names as slow and none of the ``memory`` nights before it."""
    return [set(names).difference(*slow[max(0, night - memory) : night]) for night, names in enumerate(slow)]


def find_alarms(logs: Reals, margin: float, parts: Sequence[Collection[str]] = ()) -> list[Alarm]:
    """The alarms of a history as each night found them, oldest first. ``logs``: (nights, rows) logarithms of seconds,
    nan if not measured; ``margin``: the least change, in logarithms; ``parts``: of each night those that it is the
    first to name as slow.
    """
    if not logs.shape[1]:
        return []
    every = np.column_stack([logs, _mean_of_rows(logs)]) if logs.shape[1] > 1 else logs
    found: list[Alarm] = []
    begin = 0
    rest = np.full_like(every, np.nan)  # nights without the level of their stretch
    for night in range(len(every)):
        alarm = _judge(every, rest, begin, night, margin)
        if alarm is not None:
            found.append(alarm if alarm.row < logs.shape[1] else Alarm(alarm.at, night, -1, alarm.step))
            begin = alarm.at
        elif parts and parts[night]:
            moved = np.nan_to_num(logs[night] - _median(logs[max(0, night - MEMORY) : max(night, 1)]))
            found.append(Alarm(night, night, int(moved.argmax()), float(moved.max())))
        first = max(begin, night - MEMORY)
        rest[first : night + 1] = every[first : night + 1] - _median(every[first : night + 1])
    return found


def relative_times(logs: Reals) -> tuple[Reals, Reals]:
    """Times over the median of all nights, shape (nights, rows), and their mean over rows, (nights,); nan for none."""
    return np.exp(logs - _median(logs)), np.exp(_mean_of_rows(logs))


def _mean_of_rows(logs: Reals) -> Reals:
    """The mean over rows of each night, from rows without their own medians; nan where a night measured none."""
    centred = logs - _median(logs)
    known = np.isfinite(centred)
    return np.where(known.any(axis=1), np.nansum(centred, axis=1) / np.maximum(known.sum(axis=1), 1), np.nan)


def _median(values: Reals) -> Reals:
    """Median of each row, nan if no night measured it."""
    ordered = np.sort(values, axis=0)
    count = np.isfinite(ordered).sum(axis=0)
    rows = np.arange(len(count))
    low, high = (ordered[np.clip((count + more) // 2, 0, len(ordered) - 1), rows] for more in (-1, 0))
    return (low + high) / 2


def _judge(every: Reals, rest: Reals, begin: int, night: int, margin: float) -> Alarm | None:
    best: tuple[float, Alarm] | None = None
    end = night - max(SPANS) + 1
    before = rest[max(0, end - MEMORY) : end]
    if end - begin < LEAST_LEVEL or len(before) < FEWEST:
        return None
    kept, scatter = _fitted(before)
    for span in SPANS:
        at = night - span + 1
        shifted = every[at - 1 : night + 1] - _median(every[max(begin, at - MEMORY) : at])
        weights = np.r_[1.0, np.full(span - 1, 1 - kept)]
        squares = float(weights @ weights)
        step = weights @ (shifted[1:] - kept * shifted[:-1]) / squares
        known = np.isfinite(every[max(begin, at - MEMORY) : at]).sum(axis=0)  # a row may be newer than the history
        error = scatter * np.sqrt(1 / squares + (weights.sum() / squares) ** 2 / np.maximum(known, 1))
        limit = _limit(len(before) - 2, every.shape[1])
        beyond = (shifted[1:] * np.sign(step) >= np.abs(step) / 2).all(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            surely = beyond & (np.abs(step) >= margin) & (np.isfinite(before).sum(axis=0) >= FEWEST)
            score = np.where(surely, np.abs(step) / error, 0.0)
        row = int(np.nanargmax(score)) if np.isfinite(score).any() else 0
        surer = score[row] > max(limit, best[0] if best else 0.0)
        if surer and _chance(before[:, row], kept, weights / squares, float(step[row])) <= LEVEL:
            best = float(score[row]), Alarm(at, night, row, float(step[row]))
    return best[1] if best else None


def _fitted(before: Reals) -> tuple[float, Reals]:
    """What a night keeps of the one before, of all rows together, and the deviation of the news of each row."""
    now, then = before[1:], before[:-1]
    scale = MAD * _median(np.abs(before)) + 1e-9
    both = np.clip(now / scale, -3, 3), np.clip(then / scale, -3, 3)  # one slow night does not decide
    kept = float(np.nansum(both[0] * both[1]) / max(np.nansum(both[1] ** 2), 1e-12))
    kept = min(max(kept + CAUTION / np.sqrt(len(before)), 0.0), MOST_KEPT)
    news = now - kept * then
    robust = MAD * _median(np.abs(news))
    spread = np.sqrt(np.nanmean(np.minimum(np.abs(news), 4 * robust + 1e-9) ** 2, axis=0))
    return kept, np.maximum(robust, spread) + 1e-6


@cache
def _limit(freedom: int, rows: int) -> float:
    """Student's t that all looks of a year exceed `A_YEAR` times."""
    return student_quantile(1 - A_YEAR / (NIGHTS_A_YEAR * rows * len(SPANS) * 2), freedom, terms=3)


def _chance(before: Reals, kept: float, weights: Reals, step: float) -> float:
    """Share of the places in permuted blocks of nights that show such a step, each night of it beyond half."""
    known = before[np.isfinite(before)] * np.sign(step)
    blocks = [known[first : first + BLOCK] for first in range(0, len(known), BLOCK)]
    dice = np.random.default_rng(SEED)
    seen = total = 0
    for _ in range(DEALS):
        series = np.concatenate([blocks[place] for place in dice.permutation(len(blocks))])
        steps = np.convolve(series[1:] - kept * series[:-1], weights[::-1], "valid")
        beyond = np.convolve(series[1:] >= abs(step) / 2, np.ones(len(weights)), "valid")
        seen, total = seen + int(((steps >= abs(step)) & (beyond > len(weights) - 0.5)).sum()), total + len(steps)
    return (1 + seen) / (1 + total)
