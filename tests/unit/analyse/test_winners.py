# SPDX-License-Identifier: BSD-3-Clause
"""Winners among algorithms: shown over launches, corrected for how many there are, and not of fewer than four."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from weft.analyse.winners import faster, unjudged, winners

Row = dict[str, Any]
ALGORITHMS = ("default", *(f"a{number}" for number in range(1, 10)))


def tables(times: dict[str, list[float]]) -> tuple[list[Row], list[Row], list[Any]]:
    """Rows of calls and medians, and the cells, of algorithms that take so many seconds in each launch."""
    rows: list[Row] = []
    medians: list[Row] = []
    cells: list[Any] = []
    for name, values in times.items():
        cells.append(SimpleNamespace(id=name, parameters={"algorithm": name}))
        same: Row = {"cell": name, "call": "alltoall@1024", "phase": "warm"}
        rows.append(
            same | {"status": "ok", "nodes": 1, "ranks": 4, "median_s": float(np.median(values)), "low_s": min(values)}
            | {"high_s": max(values), "launches": len(values)}
        )  # fmt: skip
        medians += [same | {"launch": index, "median_s": value} for index, value in enumerate(values)]
    return rows, medians, cells


def won(times: dict[str, list[float]]) -> str:
    """The algorithm that wins; nothing where none was judged."""
    found = winners(*tables(times))
    return found[0]["algorithm"] if found else ""


def drawn(rng: np.random.Generator, launches: int, scatter: float, count: int = 10) -> dict[str, list[float]]:
    """Algorithms that are all alike, in launches that differ."""
    return {name: np.exp(scatter * rng.standard_normal(launches)).tolist() for name in ALGORITHMS[:count]}


def test_two_launches_of_an_algorithm_that_takes_half_the_time_name_no_winner() -> None:
    times = {"default": [1.0, 1.01], "ring": [0.5, 0.51]}
    assert won(times) == ""
    rows, _, cells = tables(times)
    (note,) = unjudged(rows, cells)
    assert "2 launches, 4 needed" in note["what"]
    four = {name: [*values, *values] for name, values in times.items()}
    assert won(four) == "ring"
    rows, _, cells = tables(four)
    assert unjudged(rows, cells) == []


@pytest.mark.parametrize(
    "launches", [4, pytest.param(6, marks=pytest.mark.long), pytest.param(10, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("scatter", [0.02, pytest.param(0.1, marks=pytest.mark.long)])
def test_of_nine_algorithms_that_are_alike_one_in_twenty_sizes_has_a_winner_at_most(
    launches: int, scatter: float
) -> None:
    rng = np.random.default_rng([launches, round(100 * scatter)])
    alarms = sum(bool(faster((times := drawn(rng, launches, scatter)).pop("default"), times)) for _ in range(600))
    assert alarms / 600 <= 0.05


def test_uncorrected_one_of_nine_would_win_by_chance() -> None:
    """What a rank test of each alone, as good as it is, would name: the correction is what keeps them out."""
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(300):
        times = drawn(rng, 6, 0.1)
        own = times.pop("default")
        alarms += any(faster(own, {name: values}) for name, values in times.items())
    assert alarms / 300 > 0.08


@pytest.mark.parametrize("planted", ["a3", "a9"])
def test_a_planted_winner_of_nine_is_named_from_four_launches(planted: str) -> None:
    rng = np.random.default_rng(7)
    seen: list[str] = []
    for _ in range(100):
        times = drawn(rng, 4, 0.03)
        times[planted] = [0.7 * value for value in times[planted]]
        seen.append(won(times))
    assert seen.count(planted) >= 95


def test_a_shown_win_of_three_percent_is_no_reason_to_set_a_knob() -> None:
    times = {"default": [1.0, 1.001, 0.999, 1.0], "ring": [0.97, 0.971, 0.969, 0.97]}
    assert won(times) == "default"
    assert faster(times["default"], {"ring": times["ring"]}) == ["ring"]


def test_a_slower_algorithm_never_wins() -> None:
    assert won({"default": [1.0, 1.01, 0.99, 1.0], "linear": [2.0, 2.01, 1.99, 2.0]}) == "default"


def test_a_model_names_its_winner_after_one_launch_by_its_ratio_alone() -> None:
    (found,) = winners(*tables({"default": [1.0], "ring": [0.5]}), modelled=True)
    assert (found["algorithm"], found["ratio"], found["low"], found["high"]) == ("ring", 0.5, 0.5, 0.5)
    (found,) = winners(*tables({"default": [1.0], "ring": [0.96]}), modelled=True)
    assert (found["algorithm"], found["low"], found["high"]) == ("default", None, None)
