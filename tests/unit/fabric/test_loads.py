# SPDX-License-Identifier: BSD-3-Clause
"""Link loads: the fast way equals walking every pair."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made.networks import names, networks
from weft.errors import FabricError
from weft.fabric.loads import Hottest, all_to_all_loads, pair_loads, relative_times
from weft.fabric.network.build import star
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree


@settings(max_examples=120, deadline=None)
@given(networks(), st.data())
def test_an_all_to_all_is_the_sum_over_all_pairs_to_the_last_unit(network: Network, data: st.DataObject) -> None:
    count = len(network.hosts)
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), dtype=np.int64)
    expected = np.zeros(len(network.links), dtype=np.int64)
    for a in range(count):
        for b in range(count):
            for link in network.route(a, b) if weights[a] and weights[b] else ():
                expected[link] += weights[a] * weights[b]
    assert (all_to_all_loads(network, weights) == expected).all()


@settings(max_examples=200, deadline=None)
@given(networks(), st.data())
def test_broken_tables_give_the_same_sums_or_an_error(network: Network, data: st.DataObject) -> None:
    count, forward = len(network.hosts), network.forward.copy()
    for _ in range(data.draw(st.integers(1, 3))):
        switch, link = (data.draw(st.integers(0, most)) for most in (len(forward) - 1, len(network.links)))
        forward[switch, data.draw(st.integers(0, count - 1))] = link - 1
    broken = network.with_tables(forward, "broken")
    expected = np.zeros(len(network.links), dtype=np.int64)
    try:
        for a in range(count):
            for b in range(count):
                np.add.at(expected, list(broken.route(a, b)), 1)
    except FabricError:
        with pytest.raises(FabricError):
            all_to_all_loads(broken)
        return
    assert (all_to_all_loads(broken) == expected).all()


def test_a_host_whose_own_switch_forgot_it_is_an_error_also_where_it_is_the_last() -> None:
    network = star(names(4), rate=1e9)
    forward = network.forward.copy()
    forward[0, 3] = -1  # as an index: the last link, which leads to this very host
    with pytest.raises(FabricError, match="to n3"):
        all_to_all_loads(network.with_tables(forward, "broken"))


@settings(max_examples=40, deadline=None)
@given(networks())
def test_all_shifts_together_are_the_all_to_all(network: Network) -> None:
    count = len(network.hosts)
    source = np.arange(count, dtype=np.int32)
    together = np.zeros(len(network.links))
    for shift in range(1, count):
        together += pair_loads(network, source, ((source + shift) % count).astype(np.int32), np.ones(count))
    assert (together == all_to_all_loads(network)).all()


def test_messages_of_any_size_add_up_over_their_links() -> None:
    network = star(names(3), rate=1e9)
    loads = pair_loads(
        network, np.array([0, 1, 2], np.int32), np.array([2, 2, 2], np.int32), np.array([10.0, 5.0, 99.0])
    )
    assert loads[network.uplink].tolist() == [10, 5, 0]  # a message to oneself crosses no link
    assert loads[network.uplink ^ 1].tolist() == [0, 0, 15]


def test_the_narrow_uplink_is_named_with_the_rate_it_leaves_a_host() -> None:
    shape = TreeSection.model_construct(nodes_per_leaf=2, uplinks=1, link_rate=15.625e6)
    network = fat_tree(names(4), shape, rate=62.5e6)
    hot = Hottest(network, all_to_all_loads(network))
    assert hot.name == "leaf0:3->spine0:1"
    assert hot.load == 4
    assert hot.rate_per_host == pytest.approx(3 * 15.625e6 / 4)
    assert hot.relative == pytest.approx((4 / 15.625) / (3 / 62.5))


def test_a_slow_link_with_few_units_beats_a_fast_one_with_many() -> None:
    network = star(names(4), rate=1e9)
    network.links.rate[network.uplink[2]] = 1e8
    hot = Hottest(network, all_to_all_loads(network))
    assert hot.link == network.uplink[2]
    assert relative_times(network, all_to_all_loads(network))[hot.link] == pytest.approx(1.0)


def test_hosts_without_a_route_are_an_error_not_a_number() -> None:
    network = fat_tree(names(4), TreeSection.model_construct(nodes_per_leaf=2, uplinks=1, link_rate=1e9), rate=1e9)
    forward = network.forward.copy()
    forward[0, 3] = -1
    with pytest.raises(FabricError, match="no route from n0 to n3"):
        all_to_all_loads(network.with_tables(forward, "broken"))


def test_4518_hosts_take_less_than_two_seconds() -> None:
    shape = TreeSection.model_construct(
        nodes_per_leaf=18, uplinks=18, spines=9, leaves_per_pod=9, pod_uplinks=162, link_rate=1e9
    )
    network = fat_tree(names(4518), shape, rate=1e9)
    start = time.process_time()
    loads = all_to_all_loads(network)
    assert time.process_time() - start < 2
    assert loads[network.uplink].tolist() == [4517] * 4518
