# SPDX-License-Identifier: BSD-3-Clause
"""The step off a node, told apart from what comes beyond it."""

import pytest

from made.scaling import PAPER_STRONG, PAPER_WEAK, Row, point
from weft.analyse.scaling import verdict
from weft.report.headline import headline


def test_the_step_off_a_node_is_told_apart_from_what_comes_beyond_it() -> None:
    """Issue 16: 301 times as long from 1 to 4 nodes was shared memory against a network, then twice as long."""
    found = verdict([point(1, 1.0), point(2, 139.0), point(4, 299.0)], "s", "weak", "C")
    assert (found["off_end"], found["off_factor"], found["beyond_factor"]) == (2, 139.0, pytest.approx(299 / 139))
    text = headline([found])
    assert "leaving the node costs 139 times (136–142) (shared memory against the network)" in text
    assert "from 2 to 4 nodes the time grows 2.15 times (2.11–2.19)" in text
    assert "299" not in text
    assert "rises from N = 1 to 4 by a factor of 299 (293–305)" in found["statement"]


def test_the_two_steps_are_the_whole() -> None:
    for series in (PAPER_STRONG, PAPER_WEAK):
        found = verdict(series, "s", "weak", "C")
        assert found["off_factor"] * found["beyond_factor"] == pytest.approx(found["factor"])


def test_beyond_the_node_no_change_is_said_to_be_none() -> None:
    found = verdict([point(1, 1.0), point(2, 100.0), point(4, 101.0)], "s", "weak", "C")
    assert "from 2 to 4 nodes no change is shown (factor 1.01 (0.99" in found["statement"]
    strong = verdict(PAPER_STRONG, "s", "strong", "C")["statement"]
    assert (
        "on 3 nodes it is 2.00 times (1.96–2.04) as fast as on one; from 3 to 36 nodes the time falls 5.18 times"
        in strong
    )


@pytest.mark.parametrize("points", [[point(2, 1.0), point(4, 2.0)], [point(1, 1.0), point(1, 2.0, ranks=16)]])
def test_a_series_that_does_not_step_off_a_node_has_no_such_step(points: list[Row]) -> None:
    found = verdict(points, "s", "weak", "C")
    assert found["off_factor"] is None
    assert "Taken apart" not in found["statement"]


def test_two_points_have_a_step_and_nothing_beyond() -> None:
    found = verdict([point(1, 1.0), point(2, 3.0)], "s", "weak", "C")
    assert (found["off_factor"], found["beyond_factor"]) == (3.0, None)


def test_a_model_has_steps_without_intervals() -> None:
    exact = {"launches": 1, "interval": "none", "low_s": None, "high_s": None}
    found = verdict([point(n, t, **exact) for n, t in ((1, 1.0), (2, 3.0), (4, 3.0))], "s", "weak", "C")
    assert (found["off_low"], found["beyond_high"]) == (None, None)
    assert "costs 3.00 times (shared memory against the network); from 2 to 4 nodes no change" in found["statement"]


def test_a_step_over_nodes_without_a_time_does_not_pass_for_leaving_the_node() -> None:
    """Where two nodes failed, 301 times as long on four was what "leaving the node costs"."""
    failed = point(2, 139.0) | {"status": "crash", "median_s": None}
    text = headline([verdict([point(1, 1.0), failed, point(4, 299.0)], "s", "weak", "C")])
    assert (
        "leaving one node for 4 costs 299 times (293–305) (the network and 4 nodes in place of 2, not told ap" in text
    )
    assert "leaving the node" not in text


@pytest.mark.parametrize("median", [0.99, 1.01])
def test_a_step_whose_interval_holds_one_costs_nothing_and_gains_nothing(median: float) -> None:
    found = verdict([point(1, 1.0), point(2, median), point(4, 2.0)], "s", "weak", "C")
    assert f"from one node to 2 no change is shown (factor {median:.3g}" in found["statement"]
    exact = {"launches": 1, "interval": "none", "low_s": None, "high_s": None}
    found = verdict([point(1, 1.0, **exact), point(2, 1.0, **exact), point(4, 2.0, **exact)], "s", "weak", "C")
    assert "from one node to 2 no change is shown (factor 1.00)" in found["statement"]


def test_of_two_breakdowns_the_step_is_taken_on_one() -> None:
    """Ranks a node vary: the points of the shape that most node counts have, never one of each."""
    single = [point(n, t, ranks_per_node=1, ranks=n) for n, t in ((1, 5.0), (2, 6.0))]
    every = [point(1, 1.0), *single, point(2, 100.0), point(4, 300.0)]
    found = verdict(every, "s", "weak", "C")
    assert (found["off_factor"], found["beyond_factor"]) == (100.0, pytest.approx(3.0))
