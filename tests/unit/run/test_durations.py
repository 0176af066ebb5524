# SPDX-License-Identifier: BSD-3-Clause
"""What is left of a run: unknown first, then what its launches took."""

import pytest

from weft.plan.records import LaunchPlan
from weft.run.watch import Durations


def launch(batch: str, index: int, expected_s: float, cells: tuple[str, ...] = ()) -> LaunchPlan:
    return LaunchPlan(
        id=f"{batch}.l{index}", index=index, cells=cells or (batch,), nodes=1, ranks_per_node=2, ranks=2, hosts=("a",),
        order="block", oversubscribed=False, limit_s=99.0, expected_s=expected_s,
    )  # fmt: skip


def left(durations: Durations, *waiting: LaunchPlan) -> float | None:
    return durations.remaining_s((each, each.cells) for each in waiting)


def taught(*factors: float) -> Durations:
    """After launches that took so many times their estimates."""
    durations = Durations()
    for index, factor in enumerate(factors):
        durations.learn(launch(f"t{index:03}", 1, 0.5), [f"t{index:03}"], 0.5 * factor)
    return durations


def test_before_launches_have_ended_the_time_is_unknown() -> None:
    """A run of 4 minutes was told to have 32 left after the first of its 32 cells."""
    assert left(Durations(), launch("c000", 1, 2.0), launch("c001", 1, 3.0)) is None
    assert left(taught(40.0, 40.0), launch("c001", 1, 3.0)) is None


def test_launches_that_take_forty_times_the_bounds_teach_the_rest() -> None:
    durations = taught(40.0, 36.0, 44.0)
    assert left(durations, launch("t000", 2, 0.5), launch("c001", 1, 1.0)) == pytest.approx(20.0 + 40.0)


def test_a_time_that_may_be_wrong_by_more_than_twice_is_not_told() -> None:
    durations = taught(40.0, 1.0, 1.0)
    assert left(durations, launch("c001", 1, 10.0)) is None
    # what is known may outweigh it
    assert left(durations, launch("t000", 2, 0.5), launch("c001", 1, 0.1)) == pytest.approx(20.0 + 1.4)


def test_a_slow_start_of_a_small_cell_is_not_taken_for_the_rate_of_a_large_one() -> None:
    """The start took 9.5 s of the first; one factor for all would expect 2,000 s of a launch that took 110."""
    durations = Durations()
    durations.learn(launch("c000", 1, 0.5), ["c000"], 10.0)
    durations.learn(launch("c001", 1, 100.0), ["c001"], 110.0)
    waiting = [launch(batch, index, expected) for index in (2, 3) for batch, expected in (("c000", 0.5), ("c001", 100))]
    assert left(durations, *waiting) == pytest.approx(240.0)


def test_the_middle_of_what_a_launch_took_counts() -> None:
    durations = Durations()
    for index, wall_s in enumerate((4.0, 90.0, 5.0), 1):
        durations.learn(launch("g000", index, 1.0), ["g000"], wall_s)
    assert left(durations, launch("g000", 4, 1.0)) == 5.0


def test_launches_that_take_less_than_the_guess_shorten_it() -> None:
    """Starts were quick and precision was reached early: a run of 10 s was told to have 16 s left until round two."""
    assert left(taught(0.4, 0.4, 0.4), launch("c001", 1, 5.0)) == pytest.approx(2.0)


def test_a_resumed_launch_counts_for_the_cells_that_are_left_of_it() -> None:
    durations, batch = taught(1.5, 1.5), launch("g000", 1, 8.0, ("c000", "c001", "c002", "c003"))
    durations.learn(batch, ["c003"], 3.0)
    assert left(durations, launch("g000", 2, 8.0, batch.cells)) == pytest.approx(12.0)
    assert durations.remaining_s([(batch, ["c003"])]) == pytest.approx(3.0)
    assert left(durations, launch("c009", 1, 8.0)) == pytest.approx(12.0)


def test_a_crash_tells_nothing_of_other_launches() -> None:
    durations = taught(1.0, 1.0, 1.0)
    durations.learn(launch("c000", 1, 5.0), ["c000"], 0.1, whole=False)
    assert left(durations, launch("c001", 1, 5.0)) == pytest.approx(5.0)
    assert left(durations, launch("c000", 2, 5.0)) == pytest.approx(0.1)
