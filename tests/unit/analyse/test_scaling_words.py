# SPDX-License-Identifier: BSD-3-Clause
"""The verdict in words: headline, glance and JSON."""

from typing import Any

from made.scaling import PAPER_STRONG, PAPER_WEAK, point
from weft.analyse.scaling import verdict
from weft.report.headline import glance, headline
from weft.report.show_json import verdict_fields


def test_the_headline_says_both() -> None:
    strong = verdict([row | {"series": ["g"]} for row in PAPER_STRONG], "g", "strong", "C")
    weak = verdict(PAPER_WEAK, "s", "weak", "C")
    text = headline([strong, weak])
    assert text.startswith(
        "All-to-all communication limits scaling: with the same data on each node, leaving one node for 3 costs 1.44 "
    )
    assert "from 3 to 36 nodes the time grows 1.40 times (1.37–1.43)" in text
    assert "with one array divided among all it gets 10.4 times faster" in text


def test_a_flat_weak_series_is_said_not_to_limit() -> None:
    text = headline([verdict([point(1, 1.0), point(8, 1.0)], "s", "weak", "C")])
    assert "does not limit scaling up to here" in text
    assert "no change is shown" in text


def wide(n: int, seconds: float, low: float, high: float, **changes: Any) -> Any:
    return point(n, seconds, **changes) | {"low_s": low, "high_s": high, "launch_low_s": low, "launch_high_s": high}


def test_an_interval_that_holds_a_doubling_does_not_show_that_nothing_changed() -> None:
    """It was told as "does not limit scaling", and as "No" at a glance."""
    found = verdict([point(1, 1.0), wide(8, 1.1, 0.6, 2.3)], "s", "weak", "C")
    assert found["outcome"] == "no change shown"
    assert headline([found]).startswith("It is undecided whether all-to-all communication limits scaling")
    assert glance([found], None) == "Undecided up to 8 nodes"
    surely = verdict([point(1, 1.0), wide(8, 0.9, 0.4, 1.05)], "s", "weak", "C")
    assert "does not limit scaling" in headline([surely])  # may have halved, which limits nothing
    assert glance([surely], None) == "No, up to 8 nodes"


def test_one_array_divided_among_all_is_said_to_get_no_faster_only_where_that_is_shown() -> None:
    found = verdict([point(1, 1.0), wide(8, 0.9, 0.4, 1.05)], "s", "strong", "C")
    assert glance([found], None) == "Undecided up to 8 nodes"
    undecided = (
        "With one array divided among all it is undecided whether it gets faster: 0.900 times (0.396–1.061) the time"
    )
    assert headline([found]) == f"{undecided}."
    still = verdict([point(1, 1.0), point(8, 1.0)], "s", "strong", "C")
    assert glance([still], None) == "It gets no faster up to 8 nodes"
    hardly = verdict([point(1, 1.0), point(8, 0.9)], "s", "strong", "C")
    assert glance([hardly], None) == "It gets 1.11 times faster up to 8 nodes"  # not "No": eight times were hoped for


def test_a_rise_of_three_percent_hardly_limits() -> None:
    found = verdict([point(1, 1.0), point(8, 1.03)], "s", "weak", "C")
    assert found["outcome"] == "rises"
    assert headline([found]).startswith("All-to-all communication hardly limits scaling up to here")
    assert glance([found], None) == "Hardly, up to 8 nodes"
    more = verdict([point(1, 1.0), wide(8, 1.05, 1.02, 1.2)], "s", "weak", "C")
    assert headline([more]).startswith("All-to-all communication limits scaling")


def test_two_series_that_go_opposite_ways_are_not_told_with_also() -> None:
    weak = verdict([point(1, 1.0), point(8, 0.8)], "s", "weak", "C")
    strong = verdict([point(1, 1.0) | {"series": ["g"]}, point(8, 2.0) | {"series": ["g"]}], "g", "strong", "C")
    assert "with one array divided among all it even gets 2.00 times slower" in headline([strong, weak])
    assert headline([strong]).startswith("With one array divided among all it gets 2.00 times slower")


def test_json_calls_the_ends_from_and_to() -> None:
    row = verdict_fields(verdict(PAPER_WEAK, "s", "weak", "C"))
    assert (row["from"], row["to"]) == (1, 36)
    assert "start" not in row
