# SPDX-License-Identifier: BSD-3-Clause
"""Alarms of nights: how seldom one is false, how soon a step is told, and what is none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from weft.analyse.compare.nights import find_alarms

MARGIN = float(np.log1p(0.05))
STEP = float(np.log(1.10))


def nights(seed: int, count: int, kept: float = 0.6, rows: int = 4) -> NDArray[np.float64]:
    """Nights that differ by 1.4 % as a whole and rows by as much beside, each keeping a part of the one before."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, 0.014, (count + 30, 1)) + rng.normal(0, 0.014, (count + 30, rows))
    for night in range(1, len(logs)):
        logs[night] += kept * logs[night - 1]
    return logs[30:]


def test_a_step_of_a_tenth_is_told_within_three_nights_and_dated() -> None:
    dated = 0
    for seed in range(20):
        logs = nights(seed, 70)
        logs[50:] += STEP
        found = [alarm for alarm in find_alarms(logs, MARGIN) if 50 <= alarm.seen <= 52]
        assert found, seed
        assert found[0].factor == pytest.approx(1.10, abs=0.06)
        dated += found[0].at == 50
    assert dated >= 17


def test_nights_without_a_change_give_less_than_an_alarm_a_year() -> None:
    assert sum(len(find_alarms(nights(seed, 365), MARGIN)) for seed in range(12)) <= 8


@pytest.mark.long
def test_a_hundred_years_of_nights_give_less_than_a_hundred_alarms() -> None:
    for kept in (0.0, 0.6):
        assert sum(len(find_alarms(nights(seed, 365, kept), MARGIN)) for seed in range(100)) < 60


@pytest.mark.parametrize("at", [20, 40, 69])
def test_one_slow_night_is_no_alarm(at: int) -> None:
    for seed in range(5):
        logs = nights(seed, 70)
        logs[at] += 0.4
        assert find_alarms(logs, MARGIN) == []


def test_times_that_fall_back_are_a_second_alarm() -> None:
    logs = nights(3, 90)
    logs[40:60] += 0.2
    assert [(alarm.at, alarm.factor > 1) for alarm in find_alarms(logs, MARGIN)] == [(40, True), (60, False)]


def test_a_row_alone_is_named_and_a_step_of_all_rows_is_one_of_their_mean() -> None:
    logs = nights(1, 60, kept=0.0)
    logs[40:, 2] += 0.2
    assert [(alarm.at, alarm.row) for alarm in find_alarms(logs, MARGIN)] == [(40, 2)]
    logs = nights(1, 60, kept=0.0)
    logs[40:] += STEP
    assert [(alarm.at, alarm.row) for alarm in find_alarms(logs, MARGIN)] == [(40, -1)]


def test_a_change_under_the_margin_and_too_few_nights_are_no_alarm() -> None:
    logs = nights(2, 60) / 20
    logs[30:] += 0.03
    assert find_alarms(logs, MARGIN) == []
    assert find_alarms(logs, 0.01)
    few = nights(2, 12)
    few[8:] += 1.0
    assert find_alarms(few, MARGIN) == []


def test_what_later_nights_measure_changes_no_earlier_alarm() -> None:
    logs = nights(7, 120)
    logs[50:] += 0.15
    logs[90:, 1] -= 0.3
    whole = find_alarms(logs, MARGIN)
    assert len(whole) == 2
    for count in (60, 75, 100):
        early = [(alarm.at, alarm.seen) for alarm in find_alarms(logs[:count], MARGIN)]
        assert early == [(alarm.at, alarm.seen) for alarm in whole if alarm.seen < count]


def test_nights_that_did_not_measure_a_row_are_left_out() -> None:
    logs = nights(4, 80)
    logs[::5, 1], logs[33] = np.nan, np.nan
    logs[60:] += 0.2
    (alarm,) = find_alarms(logs, MARGIN)
    assert alarm.at == 60
