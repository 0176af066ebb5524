# SPDX-License-Identifier: BSD-3-Clause
"""Hop classes by groups of hosts: the same as pair by pair, in memory that does not grow with the pairs."""

import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from made.networks import classes_of_ranks, names, networks
from made.usage import usage_of
from weft.errors import FabricError
from weft.fabric.hops import groups_alike, hop_classes, host_hops, host_levels, steps_on
from weft.fabric.network.graph import Ints, Network
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree

PODS = TreeSection.model_construct(nodes_per_leaf=30, uplinks=10, leaves_per_pod=30, pod_uplinks=100, link_rate=1e9)


@settings(max_examples=60, deadline=None)
@given(networks())
def test_each_host_is_in_one_group_whose_rows_are_its_own(network: Network) -> None:
    level, hops = host_levels(network), host_hops(network)
    seen: list[int] = []
    for group in groups_alike(network):
        for member in group.members.tolist():
            others = np.arange(len(network.hosts)) != member
            assert (group.level[others] == level[member, others]).all()
            assert (group.hops[others] == hops[member, others]).all()
            seen.append(member)
    assert sorted(seen) == list(range(len(network.hosts)))


@settings(max_examples=60, deadline=None)
@given(networks())
def test_classes_by_groups_are_those_of_all_pairs(network: Network) -> None:
    assert hop_classes(network) == classes_of_ranks(network, np.arange(len(network.hosts)))


@settings(max_examples=200, deadline=None)
@given(networks(), st.data())
def test_groups_follow_tables_that_someone_broke(network: Network, data: st.DataObject) -> None:
    """Entries that lead nowhere, back, or past a host: a leaf that differs in one of them is a group of its own."""
    forward = network.forward.copy()
    for _ in range(data.draw(st.integers(1, 4))):
        switch = data.draw(st.integers(0, len(network.switches) - 1))
        link = data.draw(st.integers(-1, len(network.links) - 1))  # of any switch, and straight to any host
        forward[switch, data.draw(st.integers(0, len(network.hosts) - 1))] = link
    broken = network.with_tables(forward, "broken")
    try:
        hops = host_hops(broken)
    except FabricError:  # the tables form a loop
        with pytest.raises(FabricError):
            list(groups_alike(broken))
        return
    for group in groups_alike(broken):
        for member in group.members.tolist():
            others = np.arange(len(network.hosts)) != member
            assert (group.hops[others] == hops[member, others]).all()


def test_routes_are_followed_once_a_pod_not_once_a_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """50,000 hosts on 2,500 leaves: 125 million pairs of leaf and host took 13 s and more."""
    network = fat_tree(names(900), PODS.model_copy(update={"nodes_per_leaf": 3}), rate=1e9)  # 300 leaves in 10 pods
    followed = 0

    def counted(network: Network, at: Ints, end: Ints) -> NDArray[np.int16]:
        nonlocal followed
        followed += len(at)
        return steps_on(network, at, end)

    monkeypatch.setattr("weft.fabric.hops.steps_on", counted)
    assert sum(c.pairs for c in hop_classes(network)) == 900 * 899
    assert followed == 10 * 900 + 900, "each pod to each host, and each leaf to its own"


@pytest.mark.long
@pytest.mark.parametrize("verb", ["show", "check"])
def test_a_fabric_of_12000_hosts_fits_in_little_more_than_its_tables(verb: str, tmp_path: Path) -> None:
    """``check`` held all pairs of leaf switch and host at once: 4.7 GiB for 50,000 hosts, whose tables are 0.7 GiB."""
    (tmp_path / "f.toml").write_text(
        'name = "f"\nkind = "simulated"\n[node]\nnames = "n[1-12000]"\ncores = 2\ncopy_rate = "10 GB/s"\n'
        '[network]\ntopology = "fat-tree"\n'
        'latency = "1 us"\nadapter_rate = "1 GB/s"\n[network.tree]\nnodes_per_leaf = 8\nuplinks = 8\n'
        'leaves_per_pod = 30\npod_uplinks = 64\nlink_rate = "1 GB/s"\n'
    )
    used = usage_of([sys.executable, "-m", "weft", "fabric", verb, str(tmp_path / "f.toml")])
    tables = 12000 * (1500 + 50 * 8 + 64) * 4
    assert used.ok
    assert used.peak_bytes < 1.5 * tables + 250 * 2**20, "tables, and Python with its libraries"
    assert used.processor_s < 12


def test_classes_of_9000_hosts_take_no_matrix_of_pairs() -> None:
    network = fat_tree(names(9000), PODS, rate=1e9)
    started = time.process_time()
    tracemalloc.start()
    classes = hop_classes(network)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(c.pairs for c in classes) == 9000 * 8999
    assert peak < 9000 * 9000 * 3, "all pairs' levels and hops alone"
    assert time.process_time() - started < 10
