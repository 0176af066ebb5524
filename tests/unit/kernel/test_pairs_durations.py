# SPDX-License-Identifier: BSD-3-Clause
"""How long rounds of pairs are expected to take, worked out by hand."""

import pytest

from weft.fabric.model import Fabric
from weft.format import format_seconds
from weft.kernel import Shape
from weft.kernel.budget import time_limit
from weft.kernel.pairs.plan import one_way_s, pace_of, round_s, shape_values
from weft.kernel.pairs.study import PairsStudy
from weft.kernel.studies import make_study
from weft.kernel.tournament import PairSchedule

FABRIC = Fabric.model_validate(
    {
        "name": "c",
        "kind": "slurm",
        "node": {"names": "n[1-4]", "cores": 2, "latency": "3 us"},
        "network": {"topology": "star", "adapter_rate": "1 GB/s", "latency": "10 us"},
    }
)
SCHEDULE = PairSchedule([0, 0, 1, 1, 2, 2, 3, 3])
TRIPS = 1 + 25 + 30  # first contact, warm-up, three times ten samples
LOOKS_S = 11 * 50e-6
TURN_S = 11 * 200e-6


def study(**measure: object) -> PairsStudy:
    series = {"name": "s", "nodes": [4], "ranks_per_node": 2}
    rules = {"min_samples": 10, "max_samples": 100, "warmup_most": 50, "budget": "5 s"} | measure
    made = make_study(
        {"name": "s", "kernel": "pairs", "measure": rules, "pairs": {"bytes": ["1000000 B"]}, "series": [series]},
        "s.toml",
    )
    assert isinstance(made, PairsStudy)
    return made


@pytest.mark.parametrize(("sharing", "expected"), [(1, 10e-6 + 1e-3), (2, 10e-6 + 2e-3)])
def test_a_message_between_nodes_takes_the_latency_and_its_share_of_the_adapter(sharing: int, expected: float) -> None:
    assert one_way_s(FABRIC, 10**6, within=False, sharing=sharing) == pytest.approx(expected)


def test_a_message_within_a_node_takes_its_latency_and_a_copy() -> None:
    assert one_way_s(FABRIC, 10**6, within=True, sharing=9) == pytest.approx(3e-6 + 10**6 / 2e9)


@pytest.mark.parametrize(
    ("concurrency", "within", "turns", "one_way"),
    [
        ("all", False, 1, 10e-6 + 2e-3),
        ("all", True, 1, 3e-6 + 0.5e-3),
        ("node", False, 2, 10e-6 + 1e-3),
        ("node", True, 1, 3e-6 + 0.5e-3),
        ("isolated", False, 4, 10e-6 + 1e-3),
        ("isolated", True, 4, 3e-6 + 0.5e-3),
    ],
)
def test_a_round_takes_its_turns_there_and_back_both_ways(
    concurrency: str, within: bool, turns: int, one_way: float
) -> None:
    expected = turns * 4 * TRIPS * one_way + LOOKS_S + (turns * TURN_S if turns > 1 else 0.0)
    assert round_s(study(), FABRIC, SCHEDULE, concurrency, within) == pytest.approx(expected, rel=1e-9)


def test_a_round_takes_no_longer_than_its_budget_allows() -> None:
    found = round_s(study(budget="100 ms"), FABRIC, SCHEDULE, "all", within=False)
    assert found == pytest.approx(1.2 * 0.1 + LOOKS_S)


def test_warm_up_and_samples_are_counted_by_their_limits() -> None:
    found = round_s(study(warmup_most=5, max_samples=12), FABRIC, SCHEDULE, "all", within=True)
    assert found == pytest.approx(4 * (1 + 5 + 12) * (3e-6 + 0.5e-3) + LOOKS_S)


def test_all_isolated_rounds_are_counted_and_a_drawn_pair_is_its_part_of_the_slower_kind() -> None:
    given = study()
    alone = given.pairs.model_copy(update={"concurrency": "isolated", "isolated_most": 0.0})
    cells, (note,) = shape_values(given.model_copy(update={"pairs": alone}), FABRIC, Shape(4, 2))
    between, within = pace_of(given, FABRIC, SCHEDULE).isolated
    assert f"would take about {format_seconds(6 * between + within)} a launch" in note
    drawn = sum(len(pairs) for cell in cells for pairs in cell["pairs"])
    assert sum(cell["expected_s"] for cell in cells) == pytest.approx(drawn * between / 4, abs=0.01)


def test_a_round_measured_both_ways_takes_the_time_of_both() -> None:
    pace = pace_of(study(), FABRIC, SCHEDULE)
    between, within = pace.together
    assert pace.of(SCHEDULE, 6, contention=True) == pytest.approx(within + pace.isolated[1])
    assert pace.of(SCHEDULE, 0, contention=False) == pytest.approx(between)


def test_a_block_of_rounds_counts_as_hung_only_after_forty_times_what_it_is_expected_to_take() -> None:
    """It had 120 s, and on a busy machine rounds take 4 to 40 times as long as latencies and rates say."""
    default, given = study().measure, study(limit="60 s").measure
    assert time_limit(2, default, 20.0) == 800.0
    assert time_limit(2, default, 0.5) == 120.0
    assert time_limit(2, given, 20.0) == 60.0, "what the study says stands"
