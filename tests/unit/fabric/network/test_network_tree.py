# SPDX-License-Identifier: BSD-3-Clause
"""Fat trees: wiring, levels, routes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made.networks import hops_of
from weft.errors import FabricError
from weft.fabric.loads import Hottest, all_to_all_loads
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree


def tree(hosts: int, *, rate: float = 1e9, **numbers: object) -> Network:
    given_numbers = {"link_rate": 1e9, **numbers}
    return fat_tree([f"n{i}" for i in range(hosts)], TreeSection.model_construct(**given_numbers), rate=rate)


def yellowstone() -> Network:
    return tree(4518, nodes_per_leaf=18, uplinks=18, spines=9, leaves=251, leaves_per_pod=9, pod_uplinks=162, cores=162)


@st.composite
def trees(draw: st.DrawFn) -> Network:
    spines, parallel = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    per_leaf, hosts = draw(st.integers(1, 6)), draw(st.integers(1, 40))
    numbers: dict[str, object] = {"nodes_per_leaf": per_leaf, "uplinks": spines * parallel, "spines": spines}
    if draw(st.booleans()):
        up, share = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        numbers |= {"leaves_per_pod": draw(st.integers(1, 4)), "pod_uplinks": spines * up * share}
        numbers["cores"] = draw(st.sampled_from([None, spines * up, share, 1]))
    return tree(hosts, **numbers)


@settings(max_examples=60, deadline=None)
@given(trees())
def test_every_pair_has_a_route_that_goes_up_and_then_down(network: Network) -> None:
    hosts = len(network.hosts)
    level = [0] * hosts + [s.level for s in network.switches]
    for a in range(hosts):
        for b in range(hosts):
            route = network.route(a, b)
            heights = [level[network.links.source[link]] for link in route] + [0]
            top = heights.index(max(heights))
            assert heights == sorted(heights[: top + 1]) + sorted(heights[top + 1 :], reverse=True)
            assert len(route) <= 2 * max(level)


@settings(max_examples=60, deadline=None)
@given(trees())
def test_no_port_holds_two_cables(network: Network) -> None:
    ends = list(zip(network.links.source.tolist(), network.links.source_port.tolist(), strict=True))
    assert len(set(ends)) == len(ends)


def test_taras_tree_has_leaves_spines_and_parallel_links() -> None:
    network = tree(36, nodes_per_leaf=18, uplinks=18, spines=3)
    assert [s.name for s in network.switches] == ["leaf0", "leaf1", "spine0", "spine1", "spine2"]
    assert len(network.links) // 2 == 36 + 2 * 18
    assert network.coordinates["leaf"].tolist() == [0] * 18 + [1] * 18


def test_a_full_tree_of_two_levels_lets_an_all_to_all_run_at_the_adapters_pace() -> None:
    network = tree(648, nodes_per_leaf=18, uplinks=18)
    assert Hottest(network, all_to_all_loads(network)).relative == pytest.approx(1.0)


def test_half_the_uplinks_hardly_slow_an_all_to_all_of_two_leaves_and_nearly_halve_one_of_many() -> None:
    two, many = (tree(n, nodes_per_leaf=18, uplinks=9) for n in (36, 648))
    assert Hottest(two, all_to_all_loads(two)).relative == pytest.approx(18 * 18 / 9 / 35)
    assert Hottest(many, all_to_all_loads(many)).relative == pytest.approx(18 * 630 / 9 / 647)


def test_yellowstone_has_its_665_switches_and_no_link_slower_than_an_adapter() -> None:
    network = yellowstone()
    assert [sum(s.level == n for s in network.switches) for n in (1, 2, 3)] == [251, 252, 162]
    hot = Hottest(network, all_to_all_loads(network))
    assert hot.relative == pytest.approx(1.0)
    assert [hops_of(network, 0, b) for b in (17, 18, 161, 162, 4517)] == [0, 2, 2, 4, 4]


def test_every_shift_of_a_full_tree_is_free_of_contention() -> None:
    """What d-mod-k is for: in s -> s + k no link carries two messages."""
    from weft.fabric.loads import pair_loads

    network = tree(36, nodes_per_leaf=6, uplinks=6)
    source = np.arange(36, dtype=np.int32)
    for shift in range(1, 36):
        loads = pair_loads(network, source, ((source + shift) % 36).astype(np.int32), np.ones(36))
        assert loads.max() == 1, shift


def test_leaves_may_stand_there_without_hosts() -> None:
    network = tree(4, nodes_per_leaf=2, uplinks=1, leaves=5)
    assert sum(s.level == 1 for s in network.switches) == 5
    assert network.coordinates["leaf"].tolist() == [0, 0, 1, 1]


def test_cores_divide_into_planes_as_directors_do() -> None:
    network = tree(8, nodes_per_leaf=2, uplinks=2, leaves_per_pod=2, pod_uplinks=4, cores=2)
    above: dict[str, set[str]] = {}
    for link in np.flatnonzero(network.switch_links):
        low, high = (
            network.vertex_name(int(network.links.source[link])),
            network.vertex_name(int(network.links.target[link])),
        )
        if high.startswith("core"):
            above.setdefault(high, set()).add(low)
    assert above == {"core0": {"pod0-spine0", "pod1-spine0"}, "core1": {"pod0-spine1", "pod1-spine1"}}


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"nodes_per_leaf": 2, "uplinks": 3, "spines": 2}, "uplinks = 3 cannot be spread evenly over spines = 2"),
        (
            {"nodes_per_leaf": 2, "uplinks": 2, "leaves": 1},
            "leaves = 1 with 2 nodes each hold 2 nodes, the fabric has 8",
        ),
        ({"nodes_per_leaf": 2, "uplinks": 2, "pod_uplinks": 2}, "without leaves_per_pod"),
        ({"nodes_per_leaf": 2, "uplinks": 2, "leaves_per_pod": 2}, "leaves_per_pod without pod_uplinks"),
        (
            {"nodes_per_leaf": 2, "uplinks": 2, "leaves_per_pod": 2, "pod_uplinks": 3},
            "pod_uplinks = 3 cannot be spread",
        ),
        (
            {"nodes_per_leaf": 2, "uplinks": 2, "leaves_per_pod": 2, "pod_uplinks": 4, "cores": 3},
            "pod_uplinks = 4 cannot be spread evenly over cores = 3",
        ),
        ({"nodes_per_leaf": 1, "uplinks": 10_000_000}, "too large"),
    ],
)
def test_numbers_that_make_no_tree_are_refused(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(FabricError, match=message):
        tree(8, **numbers)
