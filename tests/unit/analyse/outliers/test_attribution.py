# SPDX-License-Identifier: BSD-3-Clause
"""Attribution: planted faults are all found and rightly named, and nobody else is."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from made.attributed import outliers_of, planted_outliers
from made.pair_shapes import HEALTHY
from made.pairs import Cluster, Faults
from weft.analyse.outliers.outlier import Outlier

BIG = Cluster()  # 64 nodes of 16 ranks under 8 leaves and 2 pods
MIDDLING = Cluster(
    nodes=32, per_node=4, per_pod=2
)  # two nodes behind a cable down, as in BIG: one alone is not told from its cable


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("name", ["star of 12", "tree of 16", "torus of 4 x 4", "dragonfly of 16"])
def test_a_healthy_network_accuses_nobody(tmp_path: Path, name: str, noise: float) -> None:
    assert planted_outliers(tmp_path, HEALTHY[name](noise), Faults(), seed=3) == []


def titles(found: list[Outlier]) -> set[str]:
    return {outlier.title for outlier in found}


def planted(cluster: Cluster, seed: int) -> tuple[Faults, set[str]]:
    """Four faults drawn by the seed, and what they are called."""
    rng = np.random.default_rng([seed, 4711])
    nodes = cluster.places.nodes
    node, one, other = (int(draw) for draw in rng.choice(cluster.nodes, 3, replace=False))
    sends = bool(rng.integers(2))
    between = [ends(cluster, int(link)) for link in np.flatnonzero(cluster.places.network.switch_links)]
    source, target = rng.choice([pair for pair in between if any("leaf" in end for end in pair)])
    low, high = sorted(int(each) * cluster.per_node + int(rng.integers(cluster.per_node)) for each in (one, other))
    slow = {node: float(rng.uniform(1.6, 3.0))}
    faults = Faults(
        senders=slow if sends else {},
        receivers={} if sends else slow,
        links={cluster.link(source, target): float(rng.uniform(1.8, 3.0))},
        pairs={(low, high): float(rng.uniform(3.0, 6.0))},
        sockets=float(rng.uniform(1.5, 12.0)),
        flukes=30,
    )
    named = {
        f"node {nodes[node]} as {'sender' if sends else 'receiver'}",
        f"link {source} -> {target}",
        f"pair {low} on {nodes[low // cluster.per_node]} with {high} on {nodes[high // cluster.per_node]}",
        "pairs at 0 hops, same node",
    }
    return faults, named


def ends(cluster: Cluster, link: int) -> tuple[str, str]:
    network = cluster.places.network
    return tuple(network.vertex_name(int(end[link])) for end in (network.links.source, network.links.target))  # type: ignore[return-value]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("cluster", "seeds"),
    [
        pytest.param(MIDDLING, range(4), id="128"),
        pytest.param(MIDDLING, range(4, 50), id="128, more seeds", marks=pytest.mark.long),
        pytest.param(BIG, range(3), id="1024", marks=pytest.mark.long),
    ],
)
def test_four_faults_are_found_and_nobody_else(tmp_path: Path, cluster: Cluster, seeds: Iterable[int]) -> None:
    wrong: dict[int, set[str]] = {}
    for seed in seeds:
        faults, expected = planted(cluster, seed)
        found = titles(planted_outliers(tmp_path, cluster, faults, seed))
        if found != expected:
            wrong[seed] = found ^ expected
    assert not wrong


#: Trees of two levels of switches and a core, with two to four nodes behind each cable of a leaf.
TREES = {
    "leaves of 4": Cluster(nodes=16, per_node=2, per_leaf=4, uplinks=2, per_pod=2, pod_uplinks=2),
    "leaves of 8, 4 cables": Cluster(nodes=48, per_node=2, per_leaf=8, uplinks=4, per_pod=2, pod_uplinks=8),
    "leaves of 8, 2 cables": Cluster(nodes=32, per_node=2, per_leaf=8, uplinks=2, per_pod=2, pod_uplinks=2),
}
#: Three causes among the four nodes of a leaf are not told apart (docs/slow-node.md).
LARGE_LEAVES = [tree for tree, cluster in TREES.items() if cluster.per_leaf >= 8]


def at_one_leaf(cluster: Cluster, seed: int, second: bool) -> tuple[Faults, set[str]]:
    """A slow link of a leaf and a slow node under it, drawn by the seed; or two nodes, one to send, one to receive."""
    rng = np.random.default_rng([seed, 4712])
    leaf = int(rng.integers(cluster.nodes // cluster.per_leaf))
    one, other = (leaf * cluster.per_leaf + int(each) for each in rng.choice(cluster.per_leaf, 2, replace=False))
    network = cluster.places.network
    links = [ends(cluster, int(link)) for link in np.flatnonzero(network.switch_links)]
    source, target = rng.choice([pair for pair in links if f"leaf{leaf}" in pair])
    roles = ("sender", "receiver") if rng.integers(2) else ("receiver", "sender")
    slow = {roles[0]: {one: float(rng.uniform(1.6, 3.0))}, roles[1]: {other: 2.2} if second else {}}
    links = {cluster.link(source, target): float(rng.uniform(1.8, 3.0))}
    named = {f"node {cluster.places.nodes[node]} as {role}" for role in roles for node in slow[role]}
    return Faults(slow["sender"], slow["receiver"], links), named | {f"link {source} -> {target}"}


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 16), marks=pytest.mark.long)], ids=["few", "many"])
@pytest.mark.parametrize("tree, second", [*((tree, False) for tree in TREES), *((tree, True) for tree in LARGE_LEAVES)])
def test_a_slow_link_and_slow_nodes_under_its_leaf_are_told_apart_and_nobody_else_is_named(
    tmp_path: Path, tree: str, second: bool, seeds: range
) -> None:
    cluster, wrong = TREES[tree], dict[int, set[str]]()
    for seed in seeds:
        faults, expected = at_one_leaf(cluster, seed, second)
        found = titles(planted_outliers(tmp_path, cluster, faults, seed))
        if found != expected:
            wrong[seed] = found ^ expected
    assert not wrong


def test_half_of_the_pairs_of_a_slow_receiver_cross_a_slow_link_and_its_other_ways_are_not_named(
    tmp_path: Path,
) -> None:
    cluster = TREES["leaves of 8, 2 cables"]
    faults = Faults(receivers={13: 2.84}, links={cluster.link("leaf1", "pod0-spine0"): 2.74})
    found = titles(planted_outliers(tmp_path, cluster, faults, 14))
    assert found == {"node n13 as receiver", "link leaf1 -> pod0-spine0"}


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize(("nodes", "per_node", "per_leaf"), [(4, 1, 2), (4, 2, 1), (8, 2, 2), (16, 1, 4)])
def test_small_noisy_clusters_blame_the_slow_node_and_a_healthy_one_nobody(
    tmp_path: Path, nodes: int, per_node: int, per_leaf: int, noise: float
) -> None:
    cluster = Cluster(nodes, per_node, per_leaf, uplinks=1, per_pod=8, pod_uplinks=1, noise=(noise, 0.01, 0.005))
    for seed in range(2):
        assert titles(planted_outliers(tmp_path, cluster, Faults(), seed)) == set()
        found = titles(planted_outliers(tmp_path, cluster, Faults(receivers={1: 2.5}), seed))
        assert found == {"node n1 as receiver" if nodes < 10 else "node n01 as receiver"}


def test_without_common_clocks_the_role_is_left_open(tmp_path: Path) -> None:
    cluster = Cluster(8, 2, 2, uplinks=1, per_pod=8, pod_uplinks=1)
    (found,) = planted_outliers(tmp_path, cluster, Faults(senders={3: 2.0}), 1, forward=False)
    assert found.statement == f"node n3 as sender or receiver: {found.factor:.3g} x, all partners"
    assert found.factor == pytest.approx(1.5, rel=0.05)


def test_wrong_clocks_alone_blame_nobody(tmp_path: Path) -> None:
    cluster = Cluster(8, 2, 2, uplinks=1, per_pod=8, pod_uplinks=1, clocks=1e-6)
    assert planted_outliers(tmp_path, cluster, Faults(), 1) == []


def test_a_node_slow_both_ways_is_told_so(tmp_path: Path) -> None:
    cluster = Cluster(8, 2, 2, uplinks=1, per_pod=8, pod_uplinks=1)
    found = planted_outliers(tmp_path, cluster, Faults(senders={3: 2.0}, receivers={3: 2.0}), 1)
    assert titles(found) == {"node n3 as sender and receiver"}


def test_the_only_uplink_of_a_leaf_is_named_in_its_direction(tmp_path: Path) -> None:
    cluster = Cluster(8, 2, 2, uplinks=1, per_pod=8, pod_uplinks=1)
    up, down = cluster.link("leaf1", "pod0-spine0"), cluster.link("pod0-spine0", "leaf1")
    assert titles(planted_outliers(tmp_path, cluster, Faults(links={up: 3.0}), 1)) == {"link leaf1 -> pod0-spine0"}
    assert titles(planted_outliers(tmp_path, cluster, Faults(links={down: 3.0}), 1)) == {"link pod0-spine0 -> leaf1"}
    (both,) = planted_outliers(tmp_path, cluster, Faults(links={up: 3.0, down: 3.0}), 1)
    assert both.statement.startswith("cable leaf1 - pod0-spine0: ")
    assert both.statement.endswith("in both directions")
    (either,) = planted_outliers(tmp_path, cluster, Faults(links={up: 3.0}), 1, forward=False)
    assert either.statement.endswith("in one direction or both")


def test_a_node_alone_on_its_leaf_is_told_beside_the_cable_that_nobody_can_tell_from_it(tmp_path: Path) -> None:
    cluster = Cluster(6, 2, 1, uplinks=1, per_pod=6, pod_uplinks=1)
    (found,) = planted_outliers(tmp_path, cluster, Faults(senders={2: 2.0}), 1)
    assert found.title == "node n2 as sender"
    assert "cable leaf2 - pod0-spine0" in found.also
    assert "indistinguishable from" in found.statement


def test_a_slow_rank_is_not_taken_for_its_node(tmp_path: Path) -> None:
    cluster = Cluster(8, 4, 4, uplinks=2, per_pod=2, pod_uplinks=2)
    found = planted_outliers(tmp_path, cluster, Faults(ranks={13: 1.8}), 1)
    assert titles(found) == {"rank 13 on n3"}


def test_a_pair_that_is_fast_when_measured_again_is_not_named(tmp_path: Path) -> None:
    cluster = Cluster(8, 4, 4, uplinks=2, per_pod=2, pod_uplinks=2)
    assert planted_outliers(tmp_path, cluster, Faults(flukes=40), 1) == []
    (found,) = planted_outliers(tmp_path, cluster, Faults(flukes=40, pairs={(2, 30): 4.0}), 1)
    assert found.statement.startswith("pair 2 on n0 with 30 on n7: ")
    assert found.detail == "slow again in two more measurements alone"


def test_times_of_a_few_ticks_of_the_clock_accuse_nobody(tmp_path: Path) -> None:
    cluster = Cluster(8, 4, 4, uplinks=2, per_pod=2, pod_uplinks=2)
    table = cluster.pairs(Faults(pairs={(2, 30): 4.0}, ranks={13: 1.8}, sockets=2.0), 1)
    assert len(outliers_of(tmp_path, cluster, table)) == 3
    ticks_a_second = 19 / max(table["median_s"].to_pylist())
    for place, name in enumerate(table.column_names):
        if name.endswith("_s"):
            ticks = pc.round(pc.multiply(table[name], ticks_a_second))
            table = table.set_column(place, name, pc.multiply(ticks, 1e-9))
    assert outliers_of(tmp_path, cluster, table) == []


def test_pairs_of_a_model_that_run_together_are_told_apart_by_their_company_alone(tmp_path: Path) -> None:
    cluster = Cluster(8, 4, 4, uplinks=2, per_pod=2, pod_uplinks=2)
    for mode, told in (("all", 0), ("isolated", 1)):
        table = cluster.pairs(Faults(sockets=2.0), 1, modes={mode: 1.0})
        assert [each.kind for each in outliers_of(tmp_path, cluster, table)] == ["class"]
        assert len(outliers_of(tmp_path, cluster, table, modelled=True)) == told


def test_a_culprit_at_several_sizes_is_one(tmp_path: Path) -> None:
    cluster = Cluster(8, 2, 2, uplinks=1, per_pod=8, pod_uplinks=1)
    (found,) = planted_outliers(tmp_path, cluster, Faults(senders={3: 2.0}), 1, sizes=(0, 1 << 18), modes={"all": 1.2})
    assert [seen.bytes for seen in found.sightings] == [0, 1 << 18]
    assert "256 KiB" in found.statement
