# SPDX-License-Identifier: BSD-3-Clause
"""Hashed paths: the distribution of the fullest cable against all outcomes counted one by one, and its short cuts."""

import time
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from weft.errors import FabricError
from weft.fabric.network.build import torus
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import TorusSection, TreeSection
from weft.fabric.network.tree import fat_tree
from weft.launch.preload import route_library
from weft.route import hashed
from weft.route.hashed import APART, DRAWN, EXACT, Traffic, hash_paths, hash_phases
from weft.route.routes import Routes


def tree(hosts: int, rate: float = 1e9, **shape: int) -> Network:
    """A fat tree whose links between switches have a rate, its hosts' 1 GB/s."""
    return fat_tree([f"n{k}" for k in range(hosts)], TreeSection.model_construct(link_rate=rate, **shape), rate=1e9)


def routes(network: Network) -> Routes:
    return Routes(network, route_library())


TWO_LEAVES = tree(4, 0.5e9, nodes_per_leaf=2, uplinks=2)
PODS = tree(2, 0.25e9, nodes_per_leaf=1, uplinks=2, leaves_per_pod=1, pod_uplinks=4)
RING = torus(["a", "b", "c", "d"], TorusSection.model_construct(dimensions=(2, 2), link_rate=0.5e9), rate=1e9)


def ways(network: Network, a: int, b: int) -> list[tuple[tuple[int, ...], float]]:
    """All shortest ways between two hosts with their probability, by trying every link: no table, no rings."""
    links, hosts = network.links, len(network.hosts)
    goal = hosts + int(network.leaf[b])
    found: list[tuple[int, ...]] = []
    paths: list[tuple[int, ...]] = [()]
    while not found:
        longer: list[tuple[int, ...]] = []
        for path in paths:
            at = int(links.target[path[-1]]) if path else hosts + int(network.leaf[a])
            longer += [(*path, k) for k in range(len(links)) if links.source[k] == at and links.target[k] >= hosts]
        found = [path for path in longer if links.target[path[-1]] == goal]
        paths = longer
    # at each switch the links that begin some shortest way are equally likely
    chances: list[float] = []
    for path in found:
        chance = 1.0
        for step in range(len(path)):
            chance /= len({other[step] for other in found if other[:step] == path[:step]})
        chances.append(chance)
    return list(zip(found, chances, strict=True))


def counted(network: Network, connections: int = 1) -> dict[float, float]:
    """Probability of each slow-down, over the product of all choices of all connections."""
    hosts, rate = range(len(network.hosts)), network.links.rate
    flows = [ways(network, a, b) for a in hosts for b in hosts if network.leaf[a] != network.leaf[b]] * connections
    even = np.zeros(len(rate))
    for choices in flows:
        for path, chance in choices:
            even[list(path)] += chance / connections
    least = max(len(hosts) - 1.0, float((even * 1e9 / rate).max()))
    found: defaultdict[float, float] = defaultdict(float)
    for chosen in product(*flows):
        load = np.zeros(len(rate))
        for path, _ in chosen:
            load[list(path)] += 1 / connections
        slow = max(len(hosts) - 1.0, float((load * 1e9 / rate).max())) / least
        found[round(slow, 9)] += float(np.prod([chance for _, chance in chosen]))
    return dict(found)


@pytest.mark.parametrize(
    ("network", "connections"), [(TWO_LEAVES, 1), (PODS, 1), (PODS, 2), (tree(3, nodes_per_leaf=1, uplinks=2), 1)]
)
def test_small_fabrics_have_the_distribution_that_counting_all_outcomes_gives(
    network: Network, connections: int
) -> None:
    found = Traffic(routes(network), None).slowdowns(connections, 10, 1)
    assert found.method == EXACT
    told: defaultdict[float, float] = defaultdict(float)
    for value, weight in zip(found.values.tolist(), found.weights.tolist(), strict=True):
        told[round(value, 9)] += weight
    assert dict(told) == pytest.approx(counted(network, connections))


@pytest.mark.parametrize("network", [TWO_LEAVES, PODS, RING])
def test_drawing_agrees_with_counting_in_every_value(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed, "MOST_ENUMERATED", 0)
    found = Traffic(routes(network), None).slowdowns(1, 20_000, 3)
    assert found.method == DRAWN
    values, counts = np.unique(np.round(found.values, 9), return_counts=True)
    expected = counted(network)
    assert dict(zip(values.tolist(), (counts / 20_000).tolist(), strict=True)) == pytest.approx(expected, abs=0.012)


def test_links_drawn_by_themselves_agree_with_connections_drawn_on_many_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = Traffic(routes(tree(128, 0.5e9, nodes_per_leaf=8, uplinks=8, leaves_per_pod=4, pod_uplinks=32)), None)
    together = traffic.slowdowns(1, 300, 5)
    monkeypatch.setattr(hashed, "MOST_DRAWN", 0)
    apart = traffic.slowdowns(1, 4000, 5)
    assert (together.method, apart.method) == (DRAWN, APART)
    for share in (0.1, 0.5, 0.9):
        assert apart.quantile(share) == pytest.approx(together.quantile(share), rel=0.015)


def test_mean_and_variance_of_every_link_are_those_of_the_ways_of_all_pairs() -> None:
    for network in (PODS, RING, tree(6, nodes_per_leaf=2, uplinks=2, leaves_per_pod=2, pod_uplinks=2)):
        mean, square = np.zeros(len(network.links)), np.zeros(len(network.links))
        for a, b in product(range(len(network.hosts)), repeat=2):
            if network.leaf[a] == network.leaf[b]:
                continue
            crossed = np.zeros(len(network.links))
            for path, chance in ways(network, a, b):
                crossed[list(path)] += chance
            mean, square = mean + crossed, square + crossed**2
        traffic = Traffic(routes(network), None)
        assert traffic.mean == pytest.approx(mean)
        assert traffic.square == pytest.approx(square)


def test_enough_connections_are_the_fewest_that_keep_95_of_100_seeds_below_it() -> None:
    given = routes(tree(24, 0.5e9, nodes_per_leaf=4, uplinks=4))
    found = hash_paths(given, None, 1, 400)
    assert found.enough is not None
    few = found.enough.connections
    assert few > 1
    traffic = Traffic(given, None)
    assert traffic.slowdowns(few, 400, 1).quantile(0.95) < 1.2 <= traffic.slowdowns(few - 1, 400, 1).quantile(0.95)
    assert found.tables == pytest.approx(1.0)  # d-mod-k fills all cables alike
    assert found.even == pytest.approx(4 * 20 / (4 * 0.5) / 23)


def test_ranks_of_a_host_are_connections_of_their_own() -> None:
    network = tree(4, 0.5e9, nodes_per_leaf=2, uplinks=2)
    twice = np.repeat(np.arange(4, dtype=np.int32), 2)
    four = Traffic(routes(network), twice).slowdowns(1, 2000, 1)
    same = Traffic(routes(network), None).slowdowns(4, 2000, 1)
    assert four.quantile(0.95) == pytest.approx(same.quantile(0.95), rel=0.03)


@pytest.mark.parametrize(
    ("ranks", "connections", "what"), [([0, 1], 1, "one leaf"), ([0, 2], 0, "--connections 0"), ([0], 1, "one leaf")]
)
def test_traffic_without_a_choice_is_refused(ranks: list[int], connections: int, what: str) -> None:
    with pytest.raises(FabricError, match=what):
        hash_paths(routes(TWO_LEAVES), np.array(ranks, dtype=np.int32), connections, 10)


@pytest.mark.parametrize("network", [TWO_LEAVES, PODS, RING])
def test_phases_have_the_times_that_counting_the_outcomes_of_each_gives(network: Network) -> None:
    hosts, rate = len(network.hosts), network.links.rate
    found: defaultdict[float, float] = defaultdict(float)
    for distance in range(1, hosts):
        pairs = [(a, (a + distance) % hosts) for a in range(hosts)]
        flows = [ways(network, a, b) for a, b in pairs if network.leaf[a] != network.leaf[b]]
        for chosen in product(*flows):
            load = np.zeros(len(rate))
            for path, _ in chosen:
                load[list(path)] += 1
            slow = max(1.0, float((load * 1e9 / rate).max()))
            found[slow] += float(np.prod([chance for _, chance in chosen])) / (hosts - 1)
    drawn = hash_phases(routes(network), None, 1, 20_000)
    values, counts = np.unique(drawn.times, return_counts=True)
    assert dict(zip(values.tolist(), (counts / 20_000).tolist(), strict=True)) == pytest.approx(dict(found), abs=0.012)
    mean, low, high = drawn.mean
    assert low - 1e-9 <= sum(value * chance for value, chance in found.items()) <= high + 1e-9
    assert low <= mean <= high


def test_phases_get_shorter_with_more_connections_and_static_tables_have_none_of_it() -> None:
    given = routes(tree(128, nodes_per_leaf=8, uplinks=8))
    one, four = (hash_phases(given, None, connections, 200) for connections in (1, 4))
    assert (one.tables, four.tables) == (1, 1)
    assert 3.5 < one.mean[0] < 4.5  # eight messages of a leaf on eight cables, of 32 groups the fullest
    assert 2.0 < four.mean[0] < 2.6


@pytest.mark.long
def test_a_thousand_seeds_of_eleven_thousand_hosts_take_ten_seconds() -> None:
    network = tree(11_664, nodes_per_leaf=18, uplinks=18, leaves_per_pod=18, pod_uplinks=324)
    given, began = routes(network), time.process_time()
    found = Traffic(given, None).slowdowns(1, 1000, 1)
    assert time.process_time() - began < 10
    # 11,346 connections a cable, 46,656 cables: 4.2 standard deviations of 0.95 % over the mean
    assert found.quantile(0.5) == pytest.approx(1.04, abs=0.01)
