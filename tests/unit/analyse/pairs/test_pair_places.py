# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks sit: hop classes in words, hosts under other names, placements kept apart."""

from types import SimpleNamespace
from typing import Any

import pytest

from made.pairs import Cluster
from weft.analyse.pairs.places import list_placements, locate_ranks
from weft.errors import DataError

CLUSTER = Cluster(8, 2, 2, uplinks=1, per_pod=2, pod_uplinks=1)


def rank_rows(hosts: list[str], per_node: int = 2, launch: str = "g000.l1") -> list[dict[str, Any]]:
    return [
        {"launch_id": launch, "rank": rank, "host": hosts[rank // per_node], "node": rank // per_node}
        | {"local_rank": rank % per_node}
        for rank in range(len(hosts) * per_node)
    ]


def plan(cluster: Cluster = CLUSTER) -> SimpleNamespace:
    return SimpleNamespace(planned_fabric=cluster.fabric, cells=(SimpleNamespace(hosts=cluster.fabric.hosts),))


def test_classes_are_named_by_hops_and_by_what_two_ranks_share() -> None:
    places = locate_ranks(rank_rows(list(CLUSTER.fabric.hosts)), plan())
    assert places.labels == ("0 hops, same node", "0 hops, same leaf", "2 hops, same pod", "4 hops")
    assert places.routed


@pytest.mark.parametrize("suffix", ["", ".cluster.example"])
def test_hosts_are_found_under_their_short_and_their_full_names(suffix: str) -> None:
    places = locate_ranks(rank_rows([name + suffix for name in CLUSTER.fabric.hosts]), plan())
    assert places.nodes == CLUSTER.fabric.hosts
    assert places.routed


def test_hosts_with_names_of_their_own_are_those_that_the_plan_placed() -> None:
    places = locate_ranks(rank_rows([f"ip-10-0-0-{index}" for index in range(8)]), plan())
    assert places.nodes == CLUSTER.fabric.hosts


def test_hosts_that_nobody_knows_keep_their_times_but_no_link_is_named() -> None:
    places = locate_ranks(rank_rows(["a", "b", "c"]), SimpleNamespace(planned_fabric=CLUSTER.fabric, cells=()))
    assert places.labels == ("other nodes", "0 hops, same node")
    assert not places.routed
    assert "does not know the hosts a, b, c" in places.unknown


def test_a_rank_on_two_nodes_is_refused() -> None:
    rows = rank_rows(["n0", "n1"]) + rank_rows(["n1", "n0"], launch="g000.l2")
    rows[-1]["node"] = 0
    with pytest.raises(DataError, match="rank 3 sat at"):
        locate_ranks(rows, plan())


def test_placements_are_kept_apart_and_the_largest_stands_first() -> None:
    hosts = list(CLUSTER.fabric.hosts)
    rows = (
        rank_rows(hosts[:2], launch="g000.l1") + rank_rows(hosts, launch="g001.l1") + rank_rows(hosts, launch="g001.l2")
    )
    found = list_placements([*rows, *rank_rows(hosts, launch="f000.l1")], ["g000.l1", "g001.l1", "g001.l2"], plan())
    assert [(launches, places.ranks) for launches, places in found] == [(["g001.l1", "g001.l2"], 16), (["g000.l1"], 4)]
