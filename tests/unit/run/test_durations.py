# SPDX-License-Identifier: BSD-3-Clause
"""What is left of a run: lower bounds before anything has ended, what launches took afterwards."""

import pytest

from weft.plan.records import LaunchPlan
from weft.run.durations import Durations


def launch(batch: str, index: int, expected_s: float) -> LaunchPlan:
    return LaunchPlan(
        id=f"{batch}.l{index}", index=index, cells=(batch,), nodes=1, ranks_per_node=2, ranks=2, hosts=("a",),
        order="block", oversubscribed=False, limit_s=99.0, expected_s=expected_s,
    )  # fmt: skip


def test_before_any_launch_has_ended_the_bounds_are_added_up() -> None:
    durations = Durations()
    assert durations.remaining_s([launch("c000", 1, 2.0), launch("c001", 1, 3.0)]) == 5.0


def test_launches_that_take_forty_times_the_bounds_teach_the_rest() -> None:
    durations = Durations()
    durations.learn(launch("c000", 1, 0.5), 20.0)
    assert durations.remaining_s([launch("c000", 2, 0.5), launch("c001", 1, 1.0)]) == 20.0 + 40.0


def test_a_slow_start_of_a_small_cell_is_not_taken_for_the_rate_of_a_large_one() -> None:
    """The start took 9.5 s of the first; one factor for all would expect 2,000 s of a launch that took 110."""
    durations = Durations()
    durations.learn(launch("c000", 1, 0.5), 10.0)
    durations.learn(launch("c001", 1, 100.0), 110.0)
    waiting = [launch(batch, index, expected) for index in (2, 3) for batch, expected in (("c000", 0.5), ("c001", 100))]
    assert durations.remaining_s(waiting) == pytest.approx(240.0)


def test_the_middle_of_what_a_launch_took_counts() -> None:
    durations = Durations()
    for index, wall_s in enumerate((4.0, 90.0, 5.0), 1):
        durations.learn(launch("g000", index, 1.0), wall_s)
    assert durations.remaining_s([launch("g000", 4, 1.0)]) == 5.0


def test_no_luck_makes_a_launch_shorter_than_its_bound() -> None:
    durations = Durations()
    durations.learn(launch("c000", 1, 5.0), 1.0)
    assert durations.remaining_s([launch("c001", 1, 5.0)]) == 5.0
