# SPDX-License-Identifier: BSD-3-Clause
"""The verdict: what falls, what rises, what shows no change, and what must never enter it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made.scaling import PAPER_STRONG, PAPER_WEAK, Row, point
from weft.analyse.doubts import Against
from weft.analyse.scaling import verdict, verdicts


def test_the_papers_strong_scaling_falls_about_tenfold() -> None:
    found = verdict(PAPER_STRONG, "s", "strong", "C")
    assert (found["outcome"], found["axis"], found["start"], found["end"]) == ("falls", "nodes", 1, 36)
    assert found["factor"] == pytest.approx(0.11 / 1.14)


def test_the_papers_weak_scaling_rises_twofold() -> None:
    found = verdict(PAPER_WEAK, "s", "weak", "C")
    assert found["outcome"] == "rises"


def test_the_interval_takes_the_worst_ends_of_both_points() -> None:
    found = verdict([point(1, 1.0, half=0.1), point(2, 2.0, half=0.2)], "s", "weak", "C")
    assert found["low"] == pytest.approx(1.6 / 1.1)
    assert found["high"] == pytest.approx(2.4 / 0.9)


@pytest.mark.parametrize(("launches", "outcome"), [(1, "no verdict"), (3, "no verdict"), (4, "rises")])
def test_under_four_launches_there_is_a_factor_and_no_verdict(launches: int, outcome: str) -> None:
    rows = [point(1, 1.0), point(2, 2.0, launches=launches)]
    found = verdict(rows, "s", "weak", "C")
    assert (found["outcome"], found["factor"]) == (outcome, 2.0)


def test_a_model_repeats_itself_and_needs_no_interval_and_one_launch() -> None:
    exact = {"launches": 1, "interval": "none", "low_s": None, "high_s": None}
    found = verdict([point(1, 1.0, **exact), point(2, 1.02, **exact)], "s", "weak", "C")
    assert (found["outcome"], found["low"], found["high"]) == ("rises", None, None)


RANGED: Row = {"launches": 1, "interval": "range of the model"}
EXACT: Row = {"launches": 1, "interval": "none", "low_s": None, "high_s": None}
ADAPTIVE = {"c2": "adaptive routing", "c4": "adaptive routing"}


def ranged(nodes: int, median: float, low: float, high: float) -> Row:
    """A simulated point whose model leaves something out."""
    return point(nodes, median, **RANGED, low_s=low, high_s=high)


@pytest.mark.parametrize("kind", ["weak", "strong"])
@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (ranged(4, 1.5, 1.2, 1.8), "rises"),
        (ranged(4, 1.5, 0.9, 1.8), "undecided"),  # the threshold lies inside of the range
        (ranged(4, 0.8, 0.5, 1.0), "undecided"),
        (ranged(4, 0.8, 0.5, 0.9), "falls"),
    ],
)
def test_a_range_of_what_is_not_modelled_decides_only_where_both_its_ends_agree(
    kind: Any, last: Row, outcome: str
) -> None:
    found = verdict([point(1, 1.0, **EXACT), last], "s", kind, "C", left_out=ADAPTIVE)
    assert (found["outcome"], found["left_out"]) == (outcome, "adaptive routing")


def test_a_range_at_the_first_point_alone_is_a_range_too() -> None:
    """It was dropped: the last point decided whether the factor had one."""
    found = verdict([ranged(2, 1.0, 0.5, 2.0), point(4, 1.5, **EXACT)], "s", "weak", "C", left_out=ADAPTIVE)
    assert (found["outcome"], found["low"], found["high"]) == ("undecided", 0.75, 3.0)


def test_a_bound_that_a_sample_beat_is_not_named() -> None:
    beaten = point(2, 2.0, bound_s=1.9, min_s=1.8)
    found = verdict([point(1, 1.0), beaten], "s", "weak", "C")
    assert (found["bound"], found["bound_ratio"], found["outcome"]) == ("", None, "rises")


def test_the_verdict_names_what_turns_it_at_its_own_points_and_no_other() -> None:
    swapped = Against("swap", "cell c2, launch 1: 9 pages were swapped during the cell", 0.0)
    rows = [point(1, 1.0), point(2, 2.0)]
    found = verdict(rows, "s", "weak", "C", doubts={"c2": [swapped], "c3": [Against("swap", "another", 0.0)]})
    assert (found["doubts"], found["doubt"]) == (["swap"], swapped.what)
    assert verdict(rows, "s", "weak", "C", doubts={"c3": [swapped]})["doubts"] == []


@pytest.mark.parametrize(
    ("last", "outcome"), [(1.0, "no change shown"), (1.019, "no change shown"), (1.03, "rises"), (0.97, "falls")]
)
def test_an_interval_that_holds_one_shows_no_change(last: float, outcome: str) -> None:
    found = verdict([point(1, 1.0), point(2, last)], "s", "weak", "C")
    assert found["outcome"] == outcome


def test_a_difference_below_the_noise_floor_is_no_change() -> None:
    rows = [point(1, 1e-7, half=0), point(2, 1.4e-7, half=0)]
    assert verdict(rows, "s", "weak", "C", noise_s=0.3e-7)["outcome"] == "rises"
    found = verdict(rows, "s", "weak", "C", noise_s=0.5e-7)
    assert found["outcome"] == "no change shown"


def test_oversubscribed_cold_failed_and_foreign_rows_never_enter() -> None:
    good = [point(1, 1.0), point(2, 2.0)]
    others = [
        point(4, 9.0, oversubscribed=True),
        point(4, 9.0, phase="cold"),
        point(4, 9.0, call="A"),
        point(4, 9.0, series=["t"]),
        point(4, 9.0, status="memory", median_s=None),
    ]
    assert verdict([*good, *others], "s", "weak", "C") == verdict(good, "s", "weak", "C")


def test_one_point_gives_no_verdict_and_says_why() -> None:
    rows = [point(1, 1.0), point(2, 2.0, oversubscribed=True), point(4, 1.0, status="memory", median_s=None)]
    found = verdict(rows, "s", "strong", "C")
    assert found["outcome"] == "no verdict"
    assert found["factor"] is None


def test_on_one_node_ranks_are_what_grows() -> None:
    rows = [point(1, t, ranks=p, ranks_per_node=p) for p, t in ((1, 1.0), (2, 1.5), (4, 4.0))]
    found = verdict(rows, "s", "weak", "C")
    assert (found["axis"], found["start"], found["end"]) == ("ranks", 1, 4)


def test_along_nodes_only_points_of_one_shape_are_compared() -> None:
    """One node with fewer ranks than the others would show the ranks' effect as that of nodes."""
    rows = [point(1, 0.1, ranks_per_node=1, ranks=1), point(1, 1.0), point(2, 2.0), point(4, 3.0)]
    for order in (rows, rows[::-1]):
        assert verdict(order, "s", "weak", "C")["factor"] == pytest.approx(3.0)


def test_the_order_of_rows_does_not_matter() -> None:
    assert verdict(PAPER_WEAK[::-1], "s", "weak", "C") == verdict(PAPER_WEAK, "s", "weak", "C")


def test_a_minimum_in_the_middle_is_told() -> None:
    found = verdict([point(1, 1.0), point(2, 0.4), point(4, 0.5)], "s", "strong", "C")
    assert found["fastest"] == 2


def test_a_minimum_in_the_middle_within_the_noise_is_not_told() -> None:
    assert verdict([point(1, 1.0), point(2, 0.499), point(4, 0.5)], "s", "strong", "C")["fastest"] is None


def test_the_nearest_bound_stands_beside_the_last_point() -> None:
    found = verdict(PAPER_WEAK, "s", "weak", "C")
    assert (found["bound"], found["bound_ratio"]) == ("injection", pytest.approx(2.0))


def test_a_run_without_bounds_has_a_verdict_too() -> None:
    rows = [point(1, 1.0, bound_s=None, bound=""), point(2, 2.0, bound_s=None, bound="")]
    found = verdict(rows, "s", "weak", "C")
    assert found["bound_ratio"] is None


def test_only_series_that_scale_get_a_verdict_in_the_order_of_the_study() -> None:
    rows = [row | {"series": ["a", "b", "c"]} for row in PAPER_WEAK]
    found = verdicts(rows, {"a": "weak", "b": "none", "c": "strong"}, "C")
    assert [(each["series"], each["kind"]) for each in found] == [("a", "weak"), ("c", "strong")]


times = st.floats(1e-9, 1e3)
halves = st.floats(0, 0.5)


@given(times, times, halves, halves)
def test_the_factor_lies_in_its_interval_and_turning_a_series_round_inverts_it(
    a: float, b: float, x: float, y: float
) -> None:
    forth = verdict([point(1, a, half=x), point(2, b, half=y)], "s", "weak", "C")
    back = verdict([point(1, b, half=y), point(2, a, half=x)], "s", "weak", "C")
    assert forth["low"] is not None and forth["factor"] is not None and forth["high"] is not None
    assert back["low"] is not None and back["factor"] is not None
    assert forth["low"] <= forth["factor"] * (1 + 1e-12)
    assert forth["factor"] <= forth["high"] * (1 + 1e-12)
    assert back["factor"] == pytest.approx(1 / forth["factor"])
    assert back["low"] == pytest.approx(1 / forth["high"])
    opposite = {"falls": "rises", "rises": "falls", "no change shown": "no change shown"}
    assert back["outcome"] == opposite[forth["outcome"]]


@given(times, times, st.floats(1e-3, 1e3))
def test_the_unit_of_time_does_not_matter(a: float, b: float, scale: float) -> None:
    one = verdict([point(1, a), point(2, b)], "s", "weak", "C")
    other = verdict([point(1, a * scale), point(2, b * scale)], "s", "weak", "C")
    assert one["factor"] == pytest.approx(other["factor"])
