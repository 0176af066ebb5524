# SPDX-License-Identifier: BSD-3-Clause
"""Working interference studies out: the two jobs of a launch, their calls and traffic, and what a model cannot tell."""

from typing import Any

import pytest

from weft.errors import StudyError
from weft.fabric import Fabric
from weft.host import Host, Limit
from weft.kernel.interference import InterferenceSection, Place, split_places
from weft.kernel.jobs import Jobs, count_pairs, pairs_of
from weft.kernel.registry import kernel_named
from weft.kernel.studies import make_study
from weft.plan.make import make_plan
from weft.plan.records import Plan
from weft.plan.rounds import cell_s
from weft.plan.wire import flat_plan

HOST = Host("here", 4, 2**34, (Limit(2**34, "MemAvailable"),))
LEAVES = [0, 0, 0, 0, 1, 1, 1, 1]


def fabric(kind: str = "virtual") -> Fabric:
    tree = {"nodes_per_leaf": 4, "uplinks": 1, "link_rate": "4 MB/s"}
    network: dict[str, Any] = {"topology": "fat-tree", "adapter_rate": "4 MB/s", "tree": tree}
    node: dict[str, Any] = {"names": "n[0-7]", "cores": 2}
    if kind == "simulated":
        network["latency"] = "2 us"
        node |= {"copy_rate": "8 GB/s", "memory": "64 GiB", "latency": "1 us"}
    return Fabric.model_validate({"name": "f", "kind": kind, "node": node, "network": network})


def plan(kind: str = "virtual", ranks: int = 1, nodes: int = 8, **section: Any) -> Plan:
    series = {"name": "s", "nodes": [nodes], "ranks_per_node": ranks}
    tree = {"name": "s", "kernel": "interference", "measure": {"seed": 7}, "interference": section, "series": [series]}
    return make_plan(make_study(tree, "s.toml"), fabric(kind), host=HOST)


@pytest.mark.parametrize(
    ("place", "share", "measuring"),
    [
        ("alternating", 0.5, [0, 2, 4, 6]),
        ("alternating", 0.25, [1, 5]),
        ("other-leaf", 0.5, [0, 1, 2, 3]),
        ("same-leaf", 0.5, [0, 2]),
    ],
)
def test_jobs_share_leaves_or_have_their_own(place: Place, share: float, measuring: list[int]) -> None:
    split = split_places(place, LEAVES, share, 7)
    assert not isinstance(split, str)
    assert split[0] == measuring
    assert not set(split[0]) & set(split[1])


def test_the_seed_draws_the_jobs_of_a_random_place() -> None:
    drawn = [split_places("random", LEAVES, 0.5, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(not isinstance(each, str) and len(each[0]) == 4 for each in drawn)


def test_a_place_without_two_nodes_for_each_job_is_a_note() -> None:
    assert isinstance(split_places("other-leaf", [0] * 8, 0.5, 1), str)
    assert isinstance(split_places("alternating", [0, 0, 0], 0.5, 1), str)
    found = plan(nodes=4, places=["other-leaf", "alternating"])
    assert {cell.parameters["place"] for cell in found.measured} == {"alternating"}
    assert any(note.startswith("other-leaf: all nodes are under one leaf") for note in found.notes)


def test_each_victim_is_one_cell_with_all_traffic_at_every_rate() -> None:
    found = plan(ranks=2, victims=["stream"], aggressors=["incast", "shift"], places=["alternating"], rates=[100, 25])
    (cell,) = found.measured
    assert (cell.nodes, cell.ranks, cell.launched.ranks) == (4, 8, 16)
    assert cell.hosts == ("n0", "n2", "n4", "n6")
    assert cell.parameters["members"] == [0, 1, 4, 5, 8, 9, 12, 13]
    launch = next(each for each in found.launches if cell.id in each.cells)
    flat = flat_plan(found, launch)
    assert "\ntraffic incast.25 incast shift.25 shift\n" in flat
    assert "\nbeside 2 3 6 7 10 11 14 15\n" in flat
    jobs = kernel_named(cell.kernel).jobs(cell.parameters, cell.ranks)
    assert jobs is not None
    assert jobs.beside_calls["shift.25"] == "stream+shift.25@65536"
    assert jobs.pairs == [(0, 8), (1, 9), (4, 12), (5, 13)]
    assert jobs.pairs_beside("incast.25")[0] == (3, 2)


def test_each_job_has_memory_of_its_own_and_both_count_where_they_share_a_node() -> None:
    huge: dict[str, Any] = {"victims": ["stream"], "aggressors": ["shift"], "large": "64 MiB", "window": 32, "burst": 2}
    (apart,) = plan(places=["alternating"], traffic="4 KiB", **huge).measured
    assert apart.memory.fits and "traffic" not in apart.memory.formula
    assert 2**31 < apart.memory.rank_bytes < 2**31 + 2**26
    tiny: dict[str, Any] = huge | {"large": "8 B", "burst": 12}
    full, *_ = plan("simulated", places=["alternating"], traffic="1 GiB", **tiny).cells
    assert full.status == "memory"
    assert full.memory.rank_bytes >= 2**30 * (1 + 2 * 3 * 12)  # of a rank beside
    one, *_ = plan(nodes=1, ranks=6, places=["alternating"], traffic="64 MiB", share=0.34, **huge).cells
    assert one.parameters["mates"] == 2
    assert one.memory.rank_bytes >= 2**31 + 2 * 2**26 * (1 + 2 * 3 * 2)


PODS = {"leaves_per_pod": 1, "pod_uplinks": 2}


@pytest.mark.parametrize(
    ("routing", "tree", "counted"),
    [
        ("ecmp", {"uplinks": 2}, True),
        ("ecmp", {}, False),
        ("ecmp", PODS, True),  # their spines hash: neither counters nor routes named a cable
        ("ecmp", PODS | {"pod_uplinks": 1}, False),
        ("minimal", {"uplinks": 2}, True),  # two spines, merged into one bridge: no such routes
        ("minimal", {}, False),
        ("tables", {"uplinks": 2}, False),
    ],
)
def test_jobs_are_counted_only_where_there_are_several_ways_and_traffic_once_a_place(
    routing: str, tree: dict[str, int], counted: bool
) -> None:
    base = fabric()
    assert base.network and base.network.tree
    network = {"routing": routing, "tree": base.network.tree.model_copy(update=tree)}
    where = base.model_copy(update={"network": base.network.model_copy(update=network)})
    study = {"name": "s", "kernel": "interference", "series": [{"name": "s", "nodes": [8], "ranks_per_node": 1}]}
    cells = make_plan(make_study(study, "s.toml"), where, host=HOST).measured
    found = [(cell.parameters["place"], cell.parameters["victim"], cell.parameters["counted"]) for cell in cells]
    assert [each for each in found if each[2]] == (
        [("alternating", "allreduce", 3), ("alternating", "stream", 1)] if counted else []
    )


def hashed() -> Fabric:
    base = fabric()
    assert base.network and base.network.tree
    tree = base.network.tree.model_copy(update={"uplinks": 2})
    node = base.node.model_copy(update={"memory": 2**30})
    network = base.network.model_copy(update={"routing": "ecmp", "tree": tree})
    return base.model_copy(update={"network": network, "node": node})


def hashed_plan(measure: dict[str, Any], nodes: list[int] | str = "1..nodes", **section: Any) -> Plan:
    series = {"name": "s", "nodes": nodes, "ranks_per_node": 1}
    study = {"name": "s", "kernel": "interference", "measure": {"seed": 7} | measure, "interference": section}
    return make_plan(make_study(study | {"series": [series]}, "s.toml"), hashed(), host=HOST)


def test_the_cell_that_counts_all_traffic_of_a_place_is_the_last_to_be_refused() -> None:
    tight = {"places": ["alternating"], "large": "1 GiB", "window": 1000}
    first, second = hashed_plan({}, [8], victims=["stream", "allreduce"], **tight).measured
    assert [cell.parameters["victim"] for cell in (first, second)] == ["stream", "allreduce"]
    assert [first.status, second.status] == ["memory", "planned"]
    assert [cell.parameters["counted"] for cell in (first, second)] == [1, 3]


ALL: dict[str, Any] = {
    "places": ["same-leaf", "other-leaf", "alternating"],
    "victims": ["pingpong", "allreduce", "alltoall", "exchange", "stream"],
    "aggressors": ["alltoall", "incast", "shift", "bcast", "stream"],
}


def test_a_minute_has_room_for_four_rounds_where_jobs_are_counted_by_themselves() -> None:
    hour, minute = (hashed_plan({"time": time}, **ALL) for time in ("1 h", "1 min"))
    assert len(hour.measured) == 25 and not any("are measured" in note for note in hour.notes)
    assert len(minute.measured) == 4 and any("only 8 nodes, 2 of 3 places" in note for note in minute.notes)
    assert {cell.parameters["victim"] for cell in minute.measured} == {"pingpong", "stream"}
    assert 4 * sum(launch.expected_s for launch in minute.launches if launch.index == 1) <= 60


@pytest.mark.parametrize(
    ("share", "kept"),
    [
        (1.0, (3, 5, 5, 3)),
        (0.5, (3, 5, 5, 1)),
        (0.1, (3, 2, 2, 1)),
        (0.0, (1, 1, 1, 1)),
    ],
)
def test_a_study_is_reduced_from_its_longest_list_strengths_first(share: float, kept: tuple[int, ...]) -> None:
    section = InterferenceSection.model_validate(ALL | {"rates": [100, 25, 50]})
    few = section.reduced(share)
    assert tuple(len(getattr(few, key)) for key in ("places", "victims", "aggressors", "rates")) == kept
    assert few.places[-1] == "alternating" and 100 in few.rates
    assert {few.victims[0], few.victims[-1]} <= {"pingpong", "stream"}


def test_the_seconds_of_counted_jobs_are_in_estimates_and_limits_even_in_a_stated_one() -> None:
    base = fabric()
    assert base.network and base.network.tree
    tree = base.network.tree.model_copy(update={"uplinks": 2})
    study = {"name": "s", "kernel": "interference", "series": [{"name": "s", "nodes": [8], "ranks_per_node": 1}]}
    study |= {"measure": {"limit": "5 s", "budget": "50 ms"}, "interference": {"places": ["alternating"]}}
    plans = [
        make_plan(
            make_study(study, "s.toml"),
            base.model_copy(update={"network": base.network.model_copy(update={"routing": routing, "tree": tree})}),
            host=HOST,
        )
        for routing in ("tables", "ecmp")
    ]
    known, hashed = ([(cell.limit_s, cell_s(cell, plan)) for cell in plan.measured] for plan in plans)
    more = [(3 * 1.2 + 0.7), (1.2 + 0.7)]  # seconds that the ranks sleep and send
    assert [one[0] for one in known] == [5.0, 5.0]
    assert [b[1] - a[1] for a, b in zip(known, hashed, strict=True)] == pytest.approx(more, abs=0.2)
    assert [b[0] - a[0] for a, b in zip(known, hashed, strict=True)] == pytest.approx([1.2 * each for each in more])


def test_messages_of_many_bursts_have_records() -> None:
    kernel, need = kernel_named("interference"), dict[int, int]()
    for burst in (1, 1000):
        (cell,) = plan(places=["alternating"], traffic="8 B", burst=burst, victims=["pingpong"]).measured
        need[burst] = kernel.need_beside(cell.parameters)["traffic"]
    assert need[1000] - need[1] == 999 * 2 * 3 * (8 + 2 * 512)  # both ways


def test_a_model_measures_only_calls_whose_bytes_decide() -> None:
    found = plan("simulated", victims=["pingpong", "allreduce", "stream", "alltoall"], places=["alternating"])
    assert [cell.parameters["victim"] for cell in found.measured] == ["stream", "alltoall"]
    assert sum("not modelled" in note for note in found.notes) == 2


@pytest.mark.parametrize("pattern", ["alltoall", "incast", "shift", "bcast", "stream"])
def test_messages_of_a_pattern_join_two_ranks_of_the_job(pattern: str) -> None:
    for ranks in range(2, 9):
        found = pairs_of(pattern, ranks)
        assert found
        assert len(set(found)) == len(found)
        assert all(a != b and {a, b} <= set(range(ranks)) for a, b in found)


def test_a_ping_pong_comes_back() -> None:
    jobs = Jobs("pingpong", "alternating", 8, (0, 2), (1, 3), ("incast",), at_once=False)
    assert jobs.pairs == [(0, 2), (2, 0)]


@pytest.mark.parametrize("pattern", ["alltoall", "allreduce", "exchange", "incast", "bcast", "shift", "stream"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_messages_are_never_more_than_counted(pattern: str, ranks: int) -> None:
    assert len(pairs_of(pattern, ranks)) <= count_pairs(pattern, ranks)


@pytest.mark.parametrize("section", [{"victims": ["stream", "stream"]}, {"small": "12 B"}, {"rates": [0]}])
def test_keys_that_contradict_each_other_are_refused(section: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        plan(**section)
