# SPDX-License-Identifier: BSD-3-Clause
"""A time of fewer samples than were asked says so: of rows and of pairs, the fewest first, never of a model."""

from typing import Any

from weft.analyse.doubts import few_of_pairs, find_few_samples


def row(samples: int, **changes: Any) -> Any:
    """A warm row of four launches."""
    found = {"call": "C", "phase": "warm", "status": "ok", "nodes": 4, "ranks": 8, "m": 16, "median_s": 0.4}
    return found | {"samples": samples, "launches": 4, "interval": "range of launches"} | changes


def test_a_row_with_fewer_samples_than_asked_is_told_the_fewest_first() -> None:
    """The two times behind a headline had one sample a launch, beside "at least 10 and at most 30 samples"."""
    found = find_few_samples([row(120), row(39), row(4), row(40), row(4, phase="cold")], 10)
    assert [(each["level"], each["rule"]) for each in found] == [("warning", "few"), ("note", "few")]
    assert found[0]["where"] == "C warm, N = 4, p = 8, m = 16"
    assert found[0]["what"] == "4 samples in 4 launches, target 10 per launch: the time budget ended first"
    assert found[1]["what"].startswith("39 samples in 4 launches")
    assert "budget" in found[0]["remedy"]


def test_a_model_needs_one_sample() -> None:
    assert find_few_samples([row(1, interval="none"), row(1, interval="range of the model")], 10) == []


def test_pairs_with_few_samples_are_told_by_class() -> None:
    sound: Any = {"bytes": 262144, "mode": "all", "class": "2 hops", "pairs": 8}
    found = few_of_pairs([sound | {"samples": 320}, sound | {"samples": 62}, sound | {"samples": 32}], 4, 10)
    assert [each["what"].partition(" in ")[0] for each in found] == ["4 samples of a pair", "7.8 samples of a pair"]
    assert {each["level"] for each in found} == {"warning"}
    assert found[0]["where"] == "256 KiB, all, 2 hops"
