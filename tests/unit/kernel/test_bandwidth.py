# SPDX-License-Identifier: BSD-3-Clause
"""Working bandwidth studies out: which pair of ranks stands for each pattern."""

from typing import Any

import pytest

from weft.errors import StudyError
from weft.fabric import Fabric, load_fabric
from weft.host import Host, Limit
from weft.kernel.bandwidth import Stream
from weft.kernel.sizes import line_name
from weft.kernel.studies import make_study
from weft.plan.make import make_plan
from weft.plan.records import Plan
from weft.plan.wire import flat_plan
from weft.study import Study

HOST = Host("here", 4, 2**34, (Limit(2**34, "MemAvailable"),))


def study(series: dict[str, Any] | None = None, order: str = "block", **section: Any) -> Study:
    one = {"name": "pairs", **(series or {})}
    tree = {"name": "s", "kernel": "bandwidth", "measure": {"seed": 7}, "placement": {"order": order}}
    return make_study({**tree, "bandwidth": {"sizes": ["1 B", "1 MiB"], **section}, "series": [one]}, "s.toml")


def local(**node: Any) -> Fabric:
    return Fabric.model_validate({"name": "local", "kind": "local", "node": {"copy_rate": "5 GB/s", **node}})


def plan(what: Study | None = None, where: Fabric | None = None) -> Plan:
    return make_plan(what or study(), where or load_fabric("tara"), host=HOST)


def pairs(found: Plan) -> dict[tuple[str, str, int], list[int]]:
    values = [cell.parameters for cell in found.measured]
    return {(each["pattern"], each.get("level", ""), each.get("hops", 0)): each["members"] for each in values}


def test_there_is_a_pair_within_a_socket_between_sockets_and_for_each_class_of_nodes() -> None:
    found = plan()
    assert pairs(found) == {
        ("intra-socket", "", 0): [0, 1],
        ("inter-socket", "", 0): [0, 4],
        ("inter-node", "leaf", 0): [0, 8],
        ("inter-node", "core", 2): [0, 16],
    }
    within, *_, far = [cell for cell in found.measured if cell.parameters["cache"] == "cold"]
    assert (within.nodes, within.ranks_per_node, within.ranks, within.hosts) == (1, 2, 2, ("n37",))
    assert (far.nodes, far.ranks_per_node, far.hosts) == (2, 1, ("n37", "n55"))
    assert far.bound is not None
    assert far.bound.name == "injection"


def test_one_launch_over_one_node_of_each_class_measures_all_pairs() -> None:
    found = plan()
    assert {launch.hosts for launch in found.launches} == {("n37", "n38", "n55")}
    assert {tuple(sorted(launch.cells)) for launch in found.launches} == {tuple(f"c{k:03}" for k in range(8))}
    assert any("3 of 32 nodes are used" in note for note in found.notes)


def test_in_cyclic_order_the_same_places_have_other_ranks() -> None:
    assert pairs(plan(study(order="cyclic")))["inter-socket", "", 0] == [0, 12]
    assert pairs(plan(study(order="cyclic")))["inter-node", "leaf", 0] == [0, 1]


def test_patterns_that_a_fabric_does_not_have_are_noted_with_the_reason() -> None:
    found = plan(where=local(cores=2))
    assert pairs(found) == {("intra-socket", "", 0): [0, 1]}
    assert any(
        note.startswith("inter-socket: no such pair of ranks on a node of unstated sockets") for note in found.notes
    )
    assert "inter-node: there is one node" in found.notes
    two = plan(where=local(cores=4, sockets=2))
    assert pairs(two) == {("intra-socket", "", 0): [0, 1], ("inter-socket", "", 0): [0, 2]}
    single = plan(where=local(cores=1))
    assert pairs(single) == {}


def test_one_rank_a_node_has_pairs_between_nodes_only() -> None:
    found = plan(study({"nodes": [2], "ranks_per_node": 1}))
    assert list(pairs(found)) == [("inter-node", "leaf", 0)]


def test_too_few_nodes_are_a_row() -> None:
    found = plan(study({"nodes": [2]}, cache="hot"), where=local(cores=2))
    assert [cell.status for cell in found.measured] == ["fabric"]
    assert "2 nodes asked for" in found.measured[0].reason


def test_the_flat_plan_names_the_pair_the_pattern_and_the_window() -> None:
    found = plan(study(patterns=["inter-node"], window_bytes="8 MiB"), where=load_fabric("virtual-default"))
    launch = next(launch for launch in found.launches if launch.id == "g000.l1")
    text = flat_plan(found, launch, "/tmp/run")
    cell = next(cell for cell in found.measured if cell.parameters["cache"] == "hot")
    assert f"kernel bandwidth\nhash {cell.hash}\nmembers 0 2\nbytes 1\npattern inter-node\n" in text
    assert "refine 8\nwindow 64\nwindow_bytes 8388608\ncache hot\nfootprint 2097152\nend\n" in text
    assert "window_bytes 8388608\ncache cold\nfootprint 268435456\nend\n" in text


def test_each_pair_has_a_hot_and_a_cold_series_of_one_footprint_whatever_the_size() -> None:
    found = plan(study(sizes=["1 B", "512 KiB", "513 KiB", "64 MiB"]), where=local(cores=2))
    hot, cold = found.measured
    assert (hot.parameters["cache"], hot.parameters["bytes"]) == ("hot", [1, 2**19])
    assert (cold.parameters["cache"], cold.parameters["bytes"]) == ("cold", [1, 2**19, 513 * 2**10, 2**26])
    assert "messages under way 2 MiB" in hot.memory.formula
    assert "messages under way 256 MiB" in cold.memory.formula
    assert "hot: sizes over 512 KiB are left out, 4 of them are more than its footprint" in found.notes
    assert [line_name("send", cell.parameters) for cell in found.measured] == [
        "intra-socket, from cache",
        "intra-socket, from memory",
    ]
    (alone,) = plan(study(cache="cold", cold_footprint="64 MiB"), where=local(cores=2)).measured
    assert (alone.parameters["footprint"], alone.parameters["cache"]) == (2**26, "cold")


def test_a_message_of_a_stream_is_bound_by_rates_alone() -> None:
    (cell,) = plan(study(patterns=["intra-socket"], cache="cold"), where=local(cores=2)).measured
    assert cell.bounds["send@1048576"].terms == {"memory copy": pytest.approx(2**20 / 5e9)}


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"patterns": ["intra-socket", "intra-socket"]}, "one pattern twice"),
        ({"sizes": ["0 B"]}, "sizes start at 1 B"),
        ({"patterns": ["inter-rack"]}, "inter-node"),
        ({"window": 0}, "window"),
        ({"cache": "tepid"}, "cache"),
        ({"cold_footprint": "1023 KiB"}, "cold_footprint must hold the largest message"),
        ({"cache": "hot", "sizes": ["1 MiB"]}, "hot_footprint must hold 4 of the smallest messages"),
    ],
)
def test_sections_that_cannot_be_are_refused(section: dict[str, Any], why: str) -> None:
    with pytest.raises(StudyError, match=why):
        study(**section)


def test_ways_pairs_and_transfers_are_cells_of_their_own() -> None:
    found = plan(study(patterns=["inter-node"], cache="hot", ways=["one", "both"], pairs="cores", sizes=["8 B"]))
    near = [cell for cell in found.measured if cell.parameters["level"] == "leaf"]
    assert [(cell.parameters.get("way", "one"), cell.ranks) for cell in near] == [
        (way, 2 * count) for count in (1, 2, 4, 8) for way in ("one", "both")
    ]
    four = next(cell for cell in near if cell.ranks == 8)
    assert (four.parameters["members"], four.nodes) == ([0, 1, 2, 3, 8, 9, 10, 11], 2)
    one, both = near[0].bounds["send@8"], near[1].bounds["send@8"]
    assert (one.name, both.terms["injection"]) == ("overhead", pytest.approx(one.terms["injection"] / 2))
    assert "overhead" not in {name for name, seconds in both.terms.items() if seconds}
    assert "messages under way 4 MiB" in (near[1].memory.formula if near[1].memory else "")
    assert [line_name("send", cell.parameters) for cell in near[1:4]] == [
        "inter-node, 0 hops, both ways, from cache", "inter-node, 0 hops, 2 pairs, from cache",
        "inter-node, 0 hops, 2 pairs, both ways, from cache",
    ]  # fmt: skip
    assert "\npattern inter-node\nway both\n" in flat_plan(found, found.launches[-1], "/tmp/run")
    calls = plan(study(cache="hot", patterns=["intra-socket"], transfers=["send", "get"]), local(cores=2)).measured
    assert [list(cell.bounds) for cell in calls] == [["send@1"], ["get@1"]]


def test_one_place_for_all_messages_is_a_series_of_its_own() -> None:
    (cell,) = plan(study(patterns=["intra-socket"], cache="shared"), local(cores=2)).measured
    assert (cell.parameters["footprint"], cell.parameters["bytes"]) == (2**20, [1, 2**20])
    assert line_name("send", cell.parameters) == "intra-socket, in one place"


def test_a_fan_has_a_rank_of_every_node_or_all_of_one_node() -> None:
    found = plan(study({"nodes": [4]}, patterns=["incast", "outcast"], sizes=["300 B", "1 MiB"], cache="hot"))
    into, out = found.measured
    assert (into.parameters["members"], into.nodes, into.ranks_per_node) == ([0, 8, 16, 24], 4, 1)
    assert into.parameters["bytes"] == [300]
    link = into.bounds["send@300"].terms["injection"]
    assert out.bounds["send@300"].terms["injection"] == link
    assert link == pytest.approx(300 / 3.5e9, rel=1.0)
    assert [line_name("send", cell.parameters) for cell in (into, out)] == [
        "incast, 3 to 1, from cache", "outcast, 1 to 3, from cache",
    ]  # fmt: skip
    here = plan(study({"ranks_per_node": [4]}, patterns=["incast"], cache="hot"), local(cores=4)).measured
    assert [cell.parameters["members"] for cell in here] == [[0, 1, 2, 3]]
    few = plan(study(patterns=["incast"]), local(cores=2))
    assert not few.measured
    assert any(note.startswith("incast: fewer than three nodes") for note in few.notes)


def test_shares_of_a_fan_cross_each_border_once() -> None:
    into = Stream(300, fan=True)
    assert [into.leaving(group, 4, 1) for group in ([0], [1], [1, 2], [0, 1])] == [300, 100, 200, 200]
    assert into.between(4, 1)[0] == [0, 100, 100, 100]
    assert Stream(300, both=True).leaving([1], 2, 4) == 150
