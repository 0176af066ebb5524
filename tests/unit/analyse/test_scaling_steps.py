# SPDX-License-Identifier: BSD-3-Clause
"""The step off a node, told apart from what comes beyond it."""

import pytest

from made.scaling import PAPER_STRONG, PAPER_WEAK, Row, point
from weft.analyse.scaling import verdict


def test_the_step_off_a_node_is_told_apart_from_what_comes_beyond_it() -> None:
    """Issue 16: 301 times as long from 1 to 4 nodes was shared memory against a network, then twice as long."""
    found = verdict([point(1, 1.0), point(2, 139.0), point(4, 299.0)], "s", "weak", "C")
    assert (found["off_end"], found["off_factor"], found["beyond_factor"]) == (2, 139.0, pytest.approx(299 / 139))


def test_the_two_steps_are_the_whole() -> None:
    for series in (PAPER_STRONG, PAPER_WEAK):
        found = verdict(series, "s", "weak", "C")
        assert found["off_factor"] * found["beyond_factor"] == pytest.approx(found["factor"])


@pytest.mark.parametrize("points", [[point(2, 1.0), point(4, 2.0)], [point(1, 1.0), point(1, 2.0, ranks=16)]])
def test_a_series_that_does_not_step_off_a_node_has_no_such_step(points: list[Row]) -> None:
    found = verdict(points, "s", "weak", "C")
    assert found["off_factor"] is None


def test_two_points_have_a_step_and_nothing_beyond() -> None:
    found = verdict([point(1, 1.0), point(2, 3.0)], "s", "weak", "C")
    assert (found["off_factor"], found["beyond_factor"]) == (3.0, None)


def test_a_model_has_steps_without_intervals() -> None:
    exact = {"launches": 1, "interval": "none", "low_s": None, "high_s": None}
    found = verdict([point(n, t, **exact) for n, t in ((1, 1.0), (2, 3.0), (4, 3.0))], "s", "weak", "C")
    assert (found["off_low"], found["beyond_high"]) == (None, None)


def test_of_two_breakdowns_the_step_is_taken_on_one() -> None:
    """Ranks a node vary: the points of the shape that most node counts have, never one of each."""
    single = [point(n, t, ranks_per_node=1, ranks=n) for n, t in ((1, 5.0), (2, 6.0))]
    every = [point(1, 1.0), *single, point(2, 100.0), point(4, 300.0)]
    found = verdict(every, "s", "weak", "C")
    assert (found["off_factor"], found["beyond_factor"]) == (100.0, pytest.approx(3.0))
