# SPDX-License-Identifier: BSD-3-Clause
"""Studies of pairs, worked out on fabrics."""

from typing import Any

import numpy as np
import pytest

from weft.analyse.pairs.places import locate
from weft.errors import StudyError
from weft.fabric import Fabric, load_fabric
from weft.host import Host, Limit
from weft.kernel.pairs import count_rounds
from weft.kernel.pairs.plan import Pace, blocks
from weft.kernel.pairs.study import disjoint, draw_pairs, draw_rounds
from weft.kernel.sizes import window_of
from weft.kernel.studies import load_study, make_study
from weft.kernel.tournament import Classes, PairSchedule
from weft.plan.make import make_plan
from weft.plan.records import Plan
from weft.plan.wire import flat_plan
from weft.study import Study

GIB = 2**30
HOST = Host("here", 8, 64 * GIB, (Limit(60 * GIB, "MemAvailable"),))


def study(series: dict[str, Any] | None = None, measure: dict[str, Any] | None = None, **pairs: Any) -> Study:
    one = {"name": "one", "nodes": [4], "ranks_per_node": 2}
    tree = {"name": "s", "kernel": "pairs", "measure": {"seed": 7, **(measure or {})}, "pairs": pairs}
    return make_study(tree | {"series": [one | (series or {})]}, "s.toml")


def rates(**pairs: Any) -> Study:
    tree = {"name": "s", "kernel": "pairs", "measure": {"seed": 7}, "pairs": {"measure": "bandwidth", **pairs}}
    return make_study(tree | {"series": [{"name": "one", "nodes": [4], "ranks_per_node": 2}]}, "s.toml")


def cluster(nodes: int = 4, cores: int = 2, **network: Any) -> Fabric:
    return Fabric.model_validate(
        {
            "name": "cluster",
            "kind": "virtual" if "routing" in network else "slurm",
            "node": {"names": f"n[1-{nodes}]", "cores": cores, "memory": "4 GiB", "copy_rate": "5 GB/s"},
            "network": {"topology": "star", "adapter_rate": "1 GB/s", "latency": "1 us", **network},
        }
    )


def planned(given: Study, fabric: Fabric) -> Plan:
    return make_plan(given, fabric, predict=False, host=HOST)


def rounds_of(plan: Plan) -> list[int]:
    """Rounds that the cells of a plan measure, in order."""
    found: list[int] = []
    for cell in plan.measured:
        found += range(cell.parameters["first_round"], cell.parameters["last_round"] + 1)
    return sorted(found)


def test_the_cells_hold_each_round_of_the_tournament_once() -> None:
    for block in ("5 s", "1 ms"):
        plan = planned(study(block=block), cluster())
        assert rounds_of(plan) == list(range(7))
        assert {cell.parameters["rounds"] for cell in plan.measured} == {7}
    assert len(plan.measured) == 7


def test_a_block_of_drawn_pairs_takes_seconds_not_minutes() -> None:
    fabric = load_fabric("yellowstone").model_copy(update={"kind": "slurm"})
    series = {"nodes": [64], "ranks_per_node": 16}
    given = study(series, concurrency="isolated", sample_pairs=2000, block="4 s")
    plan = planned(given, fabric)
    expected = [cell.parameters["expected_s"] for cell in plan.measured]
    assert len(expected) > 2
    assert all(4 <= seconds < 8 for seconds in expected[:-1])
    assert plan.expected_s > 3 * sum(expected), "three launches, and their starts"


def test_all_cells_of_a_placement_are_measured_by_one_launch() -> None:
    plan = planned(study(block="1 ms", measure={"launches": 2}), cluster())
    found = [(launch.id, sorted(launch.cells)) for launch in plan.launches]
    every = [*(f"c{cell:03}" for cell in range(7)), *(cell.id for cell in plan.floors)]
    assert found == [(f"g000.l{index}", every) for index in (1, 2)]


def test_memory_a_rank_is_flat_in_the_number_of_ranks_since_no_launch_meets_more_than_512_peers() -> None:
    needs: dict[int, int] = {}
    for nodes in (32, 256, 1024):
        plan = planned(study({"nodes": [nodes], "ranks_per_node": 16}, {"launches": 1}), cluster(nodes, 16))
        assert rounds_of(plan) == list(range(16 * nodes - 1))
        needs[16 * nodes] = max(cell.memory.rank_bytes for cell in plan.measured)
        partners = {cell.id: count_rounds(cell.parameters) for cell in plan.measured}
        each = [sum(partners[name] for name in launch.cells if name in partners) for launch in plan.launches]
        assert max(each) <= 512
        assert sum(each) == 16 * nodes - 1
        assert len(each) <= 1.1 * 16 * nodes / 512 + 1
    assert max(needs.values()) < 1.1 * needs[512]
    assert needs[4096] < 160 * 2**20


def test_the_flat_plan_says_what_the_kernel_reads() -> None:
    plan = planned(study(bytes=["0 B", "1 KiB"], contention=True), load_fabric("virtual-default"))
    text = flat_plan(plan, plan.launches[-1])
    for line in ("kernel pairs", "bytes 0 1024", "mode all", "contention 1", "store raw", "rounds 7", "first_round 0"):
        assert f"\n{line}\n" in text
    assert "\nleaf 0 0 1 1\n" in text


def test_the_need_counts_two_messages_and_the_samples_of_every_round() -> None:
    plan = planned(study(bytes=["1 MiB"], measure={"max_samples": 100}), cluster())
    (cell,) = plan.measured
    assert "messages 2 MiB" in cell.memory.formula
    samples = 2 * 7 * (100 + 3) * 24 + 7 * 100 * 16 + 100 * 40
    assert cell.memory.rank_bytes == 2 * 2**20 + samples + 32 * 2**20 + 8 * 128 * 2**10
    assert cell.block_bytes == 2**20


def test_of_growing_numbers_of_nodes_only_all_of_them_are_measured() -> None:
    plan = planned(study({"nodes": "1..nodes", "ranks_per_node": "cores"}), cluster())
    assert {(cell.nodes, cell.ranks) for cell in plan.measured} == {(4, 8)}
    assert any("fewer nodes hold some of the same pairs" in note for note in plan.notes)


def test_given_numbers_of_nodes_are_all_measured() -> None:
    plan = planned(study({"nodes": [1, 2]}), cluster())
    assert [(cell.nodes, cell.parameters["rounds"]) for cell in plan.measured] == [(1, 1), (2, 3)]


def test_one_rank_has_nobody_to_meet() -> None:
    with pytest.raises(StudyError, match=r"1 rank has no partner"):
        planned(study({"nodes": 1, "ranks_per_node": 1}), cluster())


def test_isolated_pairs_become_a_sample_of_each_class_where_all_would_take_too_long() -> None:
    fabric = load_fabric("yellowstone").model_copy(update={"kind": "slurm"})
    series = {"nodes": [64], "ranks_per_node": 16}
    placed = study(series, concurrency="isolated", sample_pairs=20).model_copy()
    plan = planned(placed, fabric)
    pairs = [tuple(pair) for cell in plan.measured for each in cell.parameters["pairs"] for pair in each]
    assert len(set(pairs)) == len(pairs)
    node = np.arange(1024) // 16
    within = [pair for pair in pairs if node[pair[0]] == node[pair[1]]]
    assert len(within) == 20
    (note,) = [note for note in plan.notes if "sample" in note]
    assert "drawn by seed 7 (20 on one node, 20 at" in note
    assert planned(placed, fabric).measured == plan.measured, "the same seed draws the same pairs"
    lines = [line for line in flat_plan(plan, plan.launches[-1]).splitlines() if line.startswith("pairs ")]
    assert sum(len(words.replace(",", " ").split()) - 1 for words in lines) == len(pairs)


def test_isolated_pairs_are_all_measured_where_there_is_time() -> None:
    plan = planned(study(concurrency="isolated"), cluster())
    assert rounds_of(plan) == list(range(7))
    assert not any("sample" in note for note in plan.notes)


def test_contention_is_measured_in_drawn_rounds_where_all_would_take_too_long() -> None:
    given = study({"nodes": [64], "ranks_per_node": 16}, contention=True, isolated_most="60 s")
    plan = planned(given, load_fabric("yellowstone").model_copy(update={"kind": "slurm"}))
    assert rounds_of(plan) == list(range(1023))
    both = [cell.parameters for cell in plan.measured if cell.parameters["contention"]]
    drawn = sum(values["last_round"] - values["first_round"] + 1 for values in both)
    assert 2 <= drawn < 200
    assert any(f"{drawn} of 1023 rounds, drawn by seed 7, are measured isolated, too" in note for note in plan.notes)


def test_rounds_can_be_drawn() -> None:
    plan = planned(study(sample_rounds=3), cluster())
    assert len(rounds_of(plan)) == 3
    assert any("3 of 7 rounds, drawn by seed 7" in note for note in plan.notes)


def test_large_runs_keep_summaries_and_say_so() -> None:
    fabric = load_fabric("yellowstone").model_copy(update={"kind": "slurm"})
    plan = planned(study({"nodes": [64], "ranks_per_node": 16}), fabric)
    assert {cell.parameters["store"] for cell in plan.measured} == {"summary"}
    assert any("summaries of each pair instead of about" in note for note in plan.notes)
    raw = planned(study({"nodes": [64], "ranks_per_node": 16}, store="raw"), fabric)
    assert {cell.parameters["store"] for cell in raw.measured} == {"raw"}


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ({"bytes": []}, "a list of different sizes"),
        ({"bytes": ["1 KiB", "1 KiB"]}, "a list of different sizes"),
        ({"concurrency": "isolated", "contention": True}, "concurrency must be"),
        ({"block": "0 s"}, "block must be over 0"),
    ],
)
def test_a_mistake_is_told_with_what_is_allowed(pairs: dict[str, Any], told: str) -> None:
    with pytest.raises(StudyError, match=told):
        study(**pairs)


@pytest.mark.parametrize("name", ["pairs", "yellowstone-pairs"])
def test_the_shipped_studies_can_be_planned(name: str) -> None:
    fabric = load_fabric("yellowstone" if name.startswith("yellowstone") else "virtual-default")
    plan = planned(load_study(name), fabric)
    assert plan.measured
    assert all(cell.status == "planned" for cell in plan.measured), [cell.reason for cell in plan.measured]


def test_drawn_rounds_hold_some_within_nodes_and_some_between() -> None:
    schedule = PairSchedule([rank // 4 for rank in range(64)])
    for count in (2, 5, 30):
        drawn = draw_rounds(schedule, count, seed=3)
        assert len(set(drawn)) == count
        assert {schedule.is_within(number) for number in drawn} == {True, False}
    assert draw_rounds(schedule, 1000, seed=3) == list(range(63))
    assert draw_rounds(schedule, 30, seed=3) != draw_rounds(schedule, 30, seed=4)


def test_drawn_pairs_share_no_rank_within_a_round() -> None:
    node_of = np.arange(24) // 4
    chosen, counts = draw_pairs(Classes(node_of), 10, seed=1)
    assert counts == {0: 10, 1: 10}
    for each in chosen:
        ranks = [rank for pair in each for rank in pair]
        assert len(set(ranks)) == len(ranks)


def test_a_class_of_few_pairs_is_drawn_whole() -> None:
    _, counts = draw_pairs(Classes(np.array([0, 0, 1])), 10, seed=1)
    assert counts == {0: 1, 1: 2}


def test_pairs_that_share_a_rank_fall_into_different_rounds() -> None:
    assert disjoint([(0, 1), (1, 2), (2, 3), (0, 2)]) == [[(0, 1), (2, 3)], [(1, 2)], [(0, 2)]]
    assert disjoint([(0, 1), (2, 3), (4, 5)], most=2) == [[(0, 1), (2, 3)], [(4, 5)]]


def test_blocks_part_where_rounds_are_missing_or_measured_otherwise() -> None:
    pace = Pace(together=(1.0, 1.0), isolated=(3.0, 3.0))
    schedule = PairSchedule(list(range(16)))
    found = blocks(schedule, [0, 1, 2, 3, 4, 8, 9, 10], {9}, pace, 3.0)
    assert [(each["first_round"], each["last_round"], each["contention"]) for each in found] == [
        (0, 2, False), (3, 4, False), (8, 8, False), (9, 9, True), (10, 10, False)
    ]  # fmt: skip


def test_a_rate_is_that_of_a_window_of_messages_in_lines_of_their_own() -> None:
    plan = planned(rates(bytes=["1000 B"], window=16, places="apart"), cluster())
    (cell, *_) = plan.measured
    assert cell.parameters["window"] == 16
    assert "messages 32 KiB" in cell.memory.formula
    assert "\nwindow 16\nplaces apart\n" in flat_plan(plan, plan.launches[-1])
    assert all("window" not in cell.parameters for cell in planned(study(), cluster()).measured)


def test_by_default_the_messages_of_a_window_share_one_place_as_in_osu_bw() -> None:
    """In places of their own 64 of 256 KiB leave every cache: a rate took 8 times as long as that of osu_bw."""
    plan = planned(rates(bytes=["256 KiB"]), cluster())
    assert plan.measured[0].parameters["places"] == "shared"
    assert "messages 512 KiB" in plan.measured[0].memory.formula
    assert "\nplaces shared\n" in flat_plan(plan, plan.launches[-1])


def test_fewer_large_messages_are_under_way() -> None:
    """64 of 1 MiB are half a second at 1 Gb/s, and a round has many windows of them; 4 MiB keep any adapter busy."""
    plan = planned(rates(bytes=["8 B", "1 MiB", "64 MiB"]), cluster())
    cell = plan.measured[0]
    assert [window_of(cell.parameters, size) for size in cell.parameters["bytes"]] == [64, 4, 1]
    assert "\nwindow 64\nwindow_bytes 4194304\nplaces shared\n" in flat_plan(plan, plan.launches[-1])
    (apart, *_) = planned(rates(bytes=["100 KiB", "1 MiB"], window_bytes="8 MiB", places="apart"), cluster()).measured
    assert "messages 16 MiB" in apart.memory.formula
    whole = planned(rates(bytes=["8 B", "64 KiB"]), cluster()).measured[0]
    assert "window_bytes" not in whole.parameters


def test_ranks_with_threads_are_started_so_and_say_so() -> None:
    plan = planned(rates(bytes=["8 B"], threads="multiple"), cluster())
    own = [launch for launch in plan.launches if plan.measured[0].id in launch.cells]
    assert {launch.settings.get("WEFT_THREADS") for launch in own} == {"multiple"}
    assert "\nthreads multiple\n" in flat_plan(plan, plan.launches[-1])
    assert all(not launch.settings for launch in planned(study(), cluster()).launches)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"measure": "latency", "window": 16, "bytes": ["1 B"]},
        {"measure": "latency", "window_bytes": "1 MiB", "bytes": ["1 B"]},
        {"measure": "latency", "places": "apart", "bytes": ["1 B"]},
        {"bytes": ["0 B", "8 B"]},
    ],
)
def test_windows_without_a_rate_and_rates_without_bytes_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match=r"(window|window_bytes|places) is for|no bandwidth"):
        rates(**keys)


def test_messages_of_matchings_alone_are_sent_in_parts_where_the_study_asks_for_it() -> None:
    fabric = cluster(8)
    for keys, text in (({}, ""), ({"part": "60 KiB"}, "\npart 61440\n")):
        plan = planned(study({"nodes": [8], "ranks_per_node": 1}, matchings=6, **keys), fabric)
        assert plan.measured[0].parameters.get("part") == (61440 if keys else None)
        assert text in flat_plan(plan, plan.launches[-1])
        assert ("\npart " in flat_plan(plan, plan.launches[-1])) is bool(keys)
    with pytest.raises(StudyError, match="part is for matchings"):
        study({"nodes": [8], "ranks_per_node": 1}, part="60 KiB")


@pytest.mark.parametrize(("routing", "uplinks", "most"), [("tables", 2, 2), ("ecmp", 2, 4), ("ecmp", 1, 1)])
def test_rounds_are_divided_by_cables_only_where_no_hash_chooses_them(routing: str, uplinks: int, most: int) -> None:
    """Four nodes of each leaf meet those of the other, over a cable each or some on one: nobody knows."""
    tree = {"nodes_per_leaf": 4, "uplinks": uplinks, "link_rate": "1 GB/s"}
    fabric = cluster(8, topology="fat-tree", routing=routing, tree=tree)
    plan = planned(study({"nodes": [8], "ranks_per_node": 1}, matchings=6), fabric)
    (cell,) = plan.measured
    assert cell.parameters["both_ways"] == 4096
    assert "\nboth_ways 4096\n" in flat_plan(plan, plan.launches[-1])
    between = [len(pairs) for pairs in cell.parameters["pairs"] if (pairs[0][0] < 4) != (pairs[0][1] < 4)]
    assert max(between) == most
    known = locate(fabric.hosts, np.arange(8, dtype=np.int32), np.zeros(8, np.int32), fabric)
    assert known.routed == (most < 4) == ("cable" in "".join(plan.notes))
    assert len(known.hops) == 3  # same node, same leaf, other leaf
