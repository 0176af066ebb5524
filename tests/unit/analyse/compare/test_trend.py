# SPDX-License-Identifier: BSD-3-Clause
"""Histories with and without a change: how often one is seen where there is none, and when it is dated."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from made.sides import drawn_side, point, side
from weft.analyse.compare.sides import Key
from weft.analyse.compare.trend import (
    DEALS,
    FEWEST_RUNS,
    LEVEL,
    Found,
    changes_in,
    contrasts,
    drift_in,
    judged,
    surely,
    trend,
)
from weft.errors import CompareError

BEGUN = datetime(2026, 1, 1)


def days(count: int) -> list[str]:
    return [(BEGUN + timedelta(days=k)).isoformat() for k in range(count)]


def history(seed: int, runs: int = 12, rows: int = 12, step: float = 0.0, at: int = 6) -> NDArray[np.float64]:
    """Runs that differ by 3 % from day to day as a whole, rows by 2 %; from one run on all are slower by a step."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, 0.03, (runs, 1)) + rng.normal(0, 0.02, (runs, rows))
    logs[at:] += step
    return logs


def sure_changes(logs: NDArray[np.float64], margin: float, deals: int = DEALS) -> list[Found]:
    return surely(changes_in(logs, margin, deals))


@pytest.mark.long
def test_a_history_without_a_change_shows_one_as_rarely_as_promised() -> None:
    false = sum(bool(sure_changes(history(seed), margin=0.0, deals=199)) for seed in range(200))
    assert false <= 200 * LEVEL + 2.5 * (200 * LEVEL * (1 - LEVEL)) ** 0.5, f"{false} of 200"


def test_a_change_is_found_and_dated() -> None:
    found = [sure_changes(history(seed, step=0.3), margin=0.05, deals=199) for seed in range(40)]
    assert sum(len(each) >= 1 and each[0].at == 6 for each in found) >= 36
    assert sum(len(each) > 1 for each in found) <= 6


def test_two_changes_of_one_history_are_both_found() -> None:
    logs = history(1, runs=24, at=8, step=0.4)
    logs[16:] += 0.4
    assert [change.at for change in sure_changes(logs, margin=0.05)] == [8, 16]


def test_times_that_rise_and_fall_back_are_two_changes() -> None:
    for seed in range(6):
        logs = history(seed, runs=20, step=0.3, at=8)
        logs[14:] -= 0.3
        assert [change.at for change in sure_changes(logs, margin=0.05, deals=199)] == [8, 14], seed


@pytest.mark.parametrize("at", [0, 7, 19])
def test_one_slow_run_is_no_change(at: int) -> None:
    alarms = 0
    for seed in range(20):
        logs = history(seed, runs=20)
        logs[at] += 0.4
        alarms += bool(judged(logs, margin=0.05, deals=99)[0])
    assert alarms <= 1


@pytest.mark.long
def test_runs_that_hang_together_are_seldom_taken_for_a_change() -> None:
    """Each keeps 0.6 of the one before, which made an alarm of one history in three."""
    alarms = 0
    for seed in range(60):
        logs = history(seed, runs=50)
        for run in range(1, 50):
            logs[run] += 0.6 * logs[run - 1]
        alarms += bool(judged(logs[30:], margin=0.05, deals=99)[0])
    assert alarms <= 6


def test_a_sure_step_under_the_margin_hides_none_of_another_row() -> None:
    rng = np.random.default_rng(3)
    logs = rng.normal(0, [0.001, 0.03], (14, 2))
    logs[4:, 0] += 0.01
    logs[8:, 1] += 0.3
    assert [(each.at, each.row) for each in sure_changes(logs, margin=0.05, deals=199)] == [(8, 1)]


def test_runs_of_hundreds_of_rows_hang_together_too() -> None:
    alarms = 0
    for seed in range(12):
        logs = history(seed, runs=50, rows=300)
        for run in range(1, 50):
            logs[run] += 0.6 * logs[run - 1]
        alarms += bool(judged(logs[30:], margin=0.05, deals=39)[0])
    assert alarms <= 1


@pytest.mark.parametrize("slope", [0.01, 0.02, -0.05])
def test_a_drift_is_not_dated(slope: float) -> None:
    """Times that grew by 2 % from run to run were said to have changed on three days."""
    for seed in range(4):
        logs = history(seed, runs=16) / 3 + slope * np.arange(16)[:, None]
        found, rise = judged(logs, margin=0.05, deals=199)
        assert found and rise is not None, seed
        assert rise[found[0].row] == pytest.approx(15 * slope, abs=0.06)


def test_steps_are_no_drift_however_many_go_one_way() -> None:
    for at, again in ((6, None), (8, None), (5, 11), (4, 8)):
        for seed in range(2):
            logs = history(seed, runs=16, step=0.4, at=at)
            if again:
                logs[again:] += 0.4
            assert drift_in(logs, changes_in(logs, margin=0.05, deals=199)) is None, (at, again, seed)


def test_a_history_that_drifts_has_no_changes_and_says_how_far() -> None:
    sides = [drawn_side(f"r{k}", k, 4, slower=lambda key, k=k: 1.04**k) for k in range(12)]
    found = trend(sides, days(12))
    assert found.changes == ()
    assert found.drift is not None
    assert found.drift.factor == pytest.approx(1.04**11, rel=0.15)


def test_a_step_under_the_precision_is_none() -> None:
    logs = np.zeros((12, 1)) + np.random.default_rng(1).normal(0, 1e-5, (12, 1))
    logs[6:] += 0.01
    assert sure_changes(logs, margin=0.0)
    assert not sure_changes(logs, margin=0.05)


def test_rows_without_any_scatter_are_no_division_by_nothing() -> None:
    assert np.isfinite(contrasts(np.zeros((9, 3)))).all()
    assert sure_changes(np.zeros((9, 3)), margin=0.0) == []


def test_runs_are_put_in_the_order_of_their_times() -> None:
    sides = [drawn_side(f"r{k}", k, 4, slower=lambda key, k=k: 1.5 if k >= 7 else 1.0) for k in range(12)]
    times = days(12)
    mixed = [5, 0, 11, 3, 7, 1, 9, 2, 10, 4, 8, 6]
    found = trend([sides[k] for k in mixed], [times[k] for k in mixed])
    assert list(found.times) == times
    assert [change.at for change in found.changes] == [7]
    assert found.changes[0].factor == pytest.approx(1.5, rel=0.1)
    assert found.overall()[8] > 1.2 > found.overall()[2]


def test_too_few_runs_get_a_history_and_no_verdict() -> None:
    sides = [drawn_side(f"r{k}", k, 4) for k in range(FEWEST_RUNS - 1)]
    found = trend(sides, days(len(sides)))
    assert found.changes == ()
    assert found.why == "9 runs: a change is looked for from 10 on"


def test_models_and_runs_of_nothing_in_common_are_told() -> None:
    sides = [drawn_side(f"r{k}", k, 1, kind="simulated") for k in range(FEWEST_RUNS)]
    assert "no scatter" in trend(sides, days(FEWEST_RUNS)).why
    other = side("other", {Key("collective", "reduce@8", "warm", 4, 16, None, None, ""): point(1.0)})
    with pytest.raises(CompareError, match="nothing in common"):
        trend([sides[0], other], days(2))
    with pytest.raises(CompareError, match="a history needs two"):
        trend(sides[:1], days(1))
