# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds (METHOD 16), against hand-made numbers and against loops over all pairs."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.bound.placed import bounds, main_of, with_rates
from weft.bound.terms import Bound, closed_form
from weft.fabric import Fabric
from weft.kernel.traffic import Mirror, Uniform


@dataclass(frozen=True)
class Placed:
    nodes: int
    ranks_per_node: int
    hosts: tuple[str, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    kernel: str = "exchange"

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node


def fabric(nodes: int = 4, **network: Any) -> Fabric:
    tree = {"topology": "fat-tree", "tree": {"nodes_per_leaf": 2, "uplinks": 1, "link_rate": "1 GB/s"}}
    return Fabric.model_validate(
        {
            "name": "f",
            "kind": "simulated",
            "node": {"names": f"n[1-{nodes}]", "cores": 64, "copy_rate": "8 GB/s"},
            "network": {"latency": "1 us", "adapter_rate": "1 GB/s", **tree, **network},
        }
    )


def contention(where: Fabric, nodes: int, ranks_per_node: int, hosts: tuple[str, ...] | None = None) -> Placed:
    p = nodes * ranks_per_node
    values = {"n": p * p * 1000, "m": 125, "data": "contention", "calls": ["A", "B", "C"]}  # blocks of 1 MB
    return Placed(nodes, ranks_per_node, hosts or where.hosts[:nodes], values)


def bound(cell: Placed, where: Fabric, call: str | None = None) -> Bound | None:
    found = bounds(cell, where)
    return found.get(call) if call else main_of(cell.kernel, found)


def test_on_one_node_memory_copies_bound_the_exchange() -> None:
    where = fabric()
    found = bound(contention(where, 1, 4), where)
    assert found
    assert found.name == "memory copy"
    assert found.terms == {"memory copy": pytest.approx(16 * 1e6 / 8e9)}


def test_on_one_leaf_the_adapters_bound_it() -> None:
    where = fabric()
    found = bound(contention(where, 2, 2), where)
    assert found
    assert found.name == "injection"
    assert found.seconds == pytest.approx(4 * 1e6 / 1e9)
    assert found.terms["latency"] == pytest.approx(1e-6)


def test_over_two_leaves_the_narrow_uplink_bounds_it() -> None:
    where = fabric()
    found = bound(contention(where, 4, 2), where)
    assert found
    assert found.name == "link leaf0 up"
    assert found.seconds == pytest.approx(4 * 4 * 1e6 / 1e9)


def test_wide_uplinks_leave_the_adapters_as_the_bound() -> None:
    where = fabric(tree={"nodes_per_leaf": 2, "uplinks": 4, "link_rate": "1 GB/s"})
    found = bound(contention(where, 4, 2), where)
    assert found
    assert found.name == "injection"


def test_the_leaf_that_is_loaded_most_is_named() -> None:
    where = fabric(6)
    found = bound(contention(where, 3, 2, ("n1", "n3", "n4")), where)
    assert found
    assert found.terms["link leaf0 up"] == found.terms["injection"]  # 1 against 2 hosts: both sides carry the same
    found = bound(contention(where, 4, 2, ("n1", "n3", "n4", "n5")), where)
    assert found
    assert "link leaf1 up" in found.terms


def test_over_two_pods_the_narrow_way_out_of_a_pod_bounds_it() -> None:
    tree = {"nodes_per_leaf": 1, "uplinks": 4, "link_rate": "1 GB/s", "leaves_per_pod": 2, "pod_uplinks": 1}
    where = fabric(tree=tree)
    found = bound(contention(where, 4, 2), where)
    assert found
    assert found.name == "link pod0 up"
    assert found.seconds == pytest.approx(4 * 4 * 1e6 / 1e9)


@pytest.mark.parametrize(("nodes", "per_node"), [(4, 4), (2, 8), (36, 8)])
def test_a_call_of_one_integer_needs_one_latency_however_many_ranks(nodes: int, per_node: int) -> None:
    """log2 p of them were beaten: all messages may fly at once, and those within a node take less (node.direct)."""
    where = fabric()
    found = bound(contention(where, nodes, per_node), where, "A")
    assert found
    assert found.terms["latency"] == pytest.approx(1e-6)


def test_messages_cost_what_the_fabric_says() -> None:
    where = fabric(overhead="1 ms")
    found = bounds(contention(where, 4, 2), where)
    assert found["C"].terms["overhead"] == pytest.approx(6e-3)  # one of the seven others is on the same node
    assert found["A"].terms["overhead"] == pytest.approx(1e-3)  # counts may be combined: one message must leave


def test_an_adapter_starts_one_message_in_each_gap() -> None:
    where = fabric(message_gap="2 ms")
    found = bounds(contention(where, 4, 2), where)
    assert found["C"].name == "message gap"
    assert found["C"].seconds == pytest.approx(2 * 6 * 2e-3)  # both ranks of a node send to six others elsewhere
    assert found["A"].terms["message gap"] == pytest.approx(2e-3)
    assert "message gap" not in bounds(contention(where, 1, 2), where)["C"].terms


def test_each_of_several_adapters_starts_messages_of_its_own() -> None:
    one, two = (fabric(message_gap="2 ms", rails=rails) for rails in (1, 2))
    gaps = [bounds(contention(where, 4, 2), where)["C"].terms["message gap"] for where in (one, two)]
    assert gaps[1] == pytest.approx(gaps[0] / 2)


def test_o_and_g_are_those_of_the_size_of_a_message() -> None:
    where = fabric(overhead="1 us", segments=[{"above": "512 KiB", "overhead": "2 ms", "message_gap": "5 ms"}])
    found = bounds(contention(where, 4, 2), where)  # blocks of 1 MB; B sends a few bytes, and A's may be combined
    assert found["C"].terms["overhead"] == pytest.approx(6 * 2e-3)
    assert found["C"].terms["message gap"] == pytest.approx(12 * 5e-3)
    assert found["B"].terms["overhead"] == pytest.approx(6e-6)
    assert "message gap" not in found["B"].terms
    assert found["A"].terms["overhead"] == pytest.approx(1e-6)


@pytest.mark.parametrize("spec", ["node.multi{nl=2}", "node.direct", "bruck{r=4}", "node.bruck"])
def test_where_blocks_are_combined_one_message_bounds_the_exchange(spec: str) -> None:
    """Calls A and B of tara by node.multi beat a bound of p - r messages, and the page called the bound wrong."""
    where = fabric(overhead="1 ms")
    cell = contention(where, 4, 2)
    found = bounds(replace(cell, parameters={**cell.parameters, "algorithm": spec}), where)
    assert found["B"].terms["overhead"] == found["C"].terms["overhead"] == pytest.approx(1e-3)
    flat = bounds(replace(cell, parameters={**cell.parameters, "algorithm": "flat.pairwise"}), where)
    assert flat["B"].terms["overhead"] == pytest.approx(6e-3)


def test_the_closed_form_counts_the_larger_of_overhead_and_gap() -> None:
    def modelled(**network: str) -> float:
        where = fabric(latency="1 us", **network)
        cell = contention(where, 4, 2)
        return closed_form(bounds(cell, where)["C"].terms, cell, where, 1_000_000)

    free = modelled()
    assert modelled(overhead="3 ms") - free == pytest.approx(6 * 3e-3)
    assert modelled(message_gap="1 ms") - free == pytest.approx(6 * 2e-3)
    assert modelled(overhead="3 ms", message_gap="1 ms") - free == pytest.approx(6 * 3e-3)
    assert modelled(overhead="1 ms", rendezvous_stall="2 ms", eager_limit="1 KiB") - free == pytest.approx(6 * 3e-3)


def test_measured_rates_take_the_place_of_stated_ones() -> None:
    where = with_rates(fabric(), copy_rate=4e9, latency=3e-6)
    assert where.node.copy_rate == 4e9
    assert where.network
    assert where.network.latency == where.node.latency == 3e-6
    one = bound(contention(where, 1, 4), where)
    assert one
    assert one.terms["memory copy"] == pytest.approx(16e6 / 4e9)
    assert one.terms["latency"] == pytest.approx(3e-6)


def test_what_a_fabric_does_not_give_is_left_out() -> None:
    bare = Fabric.model_validate({"name": "b", "kind": "local", "node": {"names": "here", "cores": 2}})
    assert bounds(contention(bare, 1, 2), bare) == {}
    assert bound(contention(bare, 1, 2), bare) is None


def test_an_exchange_without_the_main_call_is_known_by_its_last() -> None:
    where = fabric()
    cell = contention(where, 2, 2)
    found = bound(Placed(2, 2, cell.hosts, {**cell.parameters, "calls": ["A", "B"]}), where)
    assert found
    assert found == bounds(cell, where)["B"]


def test_nobody_knows_what_a_file_moves() -> None:
    where = fabric()
    found = bound(Placed(2, 2, where.hosts[:2], {"n": 64, "m": 1, "data": "file", "file": "/x"}), where)
    assert found
    assert set(found.terms) == {"latency"}


def test_the_bound_of_4608_ranks_is_instant() -> None:
    where = fabric(576, tree={"nodes_per_leaf": 18, "uplinks": 18, "link_rate": "1 GB/s"})
    cell = contention(where, 576, 8)
    start = time.process_time()
    found = bound(cell, where)
    assert time.process_time() - start < 0.2
    assert found
    assert found.name == "injection"


def brute(pairs: dict[tuple[int, int], int], nodes: int, per_node: int, order: str, group: set[int]) -> tuple[int, int]:
    """(bytes staying in the busiest node, bytes leaving the group), by a loop over all pairs of ranks."""

    def node(rank: int) -> int:
        return rank // per_node if order == "block" else rank % nodes

    staying = [0] * nodes
    leaving = 0
    for (a, b), size in pairs.items():
        staying[node(a)] += size * (node(a) == node(b))
        leaving += size * (node(a) in group and node(b) not in group)
    return max(staying), leaving


@given(st.integers(1, 5), st.integers(1, 4), st.sampled_from(["block", "cyclic"]), st.sets(st.integers(0, 4)))
def test_counting_agrees_with_a_loop_over_all_pairs(nodes: int, per_node: int, order: str, chosen: set[int]) -> None:
    group, p = {node for node in chosen if node < nodes}, nodes * per_node
    everybody = {(a, b): 3 for a in range(p) for b in range(p)}
    mirrored = {(a, p - 1 - a): 5 for a in range(p)}
    for traffic, pairs in ((Uniform(3, 1, 1), everybody), (Mirror(5, 1, 1), mirrored)):
        counted = traffic.staying(nodes, per_node), traffic.leaving(group, nodes, per_node)
        assert counted == brute(pairs, nodes, per_node, order, group)
