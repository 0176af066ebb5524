# SPDX-License-Identifier: BSD-3-Clause
"""``[network.rates]``: single links that differ, for a cluster with one bad cable."""

import tomllib

import pytest

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.launch.virtual.spec import spec_of

TEXT = """
name = "cluster"
kind = "virtual"
[node]
names = "node[0-5]"
cores = 1
[network]
topology = "fat-tree"
adapter_rate = "62.5 MB/s"
[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "125 MB/s"
[network.rates]
{rates}
"""


def cluster(rates: str) -> Fabric:
    return Fabric.model_validate(tomllib.loads(TEXT.format(rates=rates)))


def rates_of(fabric: Fabric) -> dict[tuple[str, str], float]:
    network = build_network(fabric)
    ends = zip(network.links.source.tolist(), network.links.target.tolist(), network.links.rate.tolist(), strict=True)
    return {(network.vertex_name(a), network.vertex_name(b)): rate for a, b, rate in ends}


def test_a_cable_is_slow_both_ways_and_no_other_is() -> None:
    rates = rates_of(cluster('"leaf1 - spine0" = "10 MB/s"'))
    slow = {ends for ends, rate in rates.items() if rate == 10e6}
    assert slow == {("leaf1", "spine0"), ("spine0", "leaf1")}
    assert set(rates.values()) == {10e6, 62.5e6, 125e6}


def test_an_arrow_slows_one_direction_alone() -> None:
    rates = rates_of(cluster('"node3 -> leaf1" = "10 MB/s"'))
    assert [ends for ends, rate in rates.items() if rate == 10e6] == [("node3", "leaf1")]


def test_the_virtual_cluster_gets_the_slow_cable() -> None:
    links = {link.name: link.rate for link in spec_of(cluster('"leaf1 - spine0" = "10 MB/s"')).links}
    assert links["leaf1-spine0"] == 10e6
    assert links["leaf0-spine0"] == 125e6


def test_a_link_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(FabricError, match='"leaf1 - leaf2", and no link joins') as refused:
        build_network(cluster('"leaf1 - leaf2" = "10 MB/s"'))
    assert "weft fabric show" in refused.value.remedy
    with pytest.raises(FabricError, match="no link joins"):
        build_network(cluster('"leaf1" = "10 MB/s"'))


def test_a_virtual_link_has_one_rate_so_an_arrow_is_refused() -> None:
    with pytest.raises(FabricError, match="has another rate than the way back"):
        spec_of(cluster('"leaf1 -> spine0" = "10 MB/s"'))
