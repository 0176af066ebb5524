# SPDX-License-Identifier: BSD-3-Clause
"""Slow cables of made clusters: one way, both ways, two at once, and one beside a slow node."""

from dataclasses import dataclass

import numpy as np

from made.pairs import Cluster, Faults

#: What is planted.
CASES = ("up", "down", "both", "unequal", "two cables", "two links", "cable and node")
#: (spines, levels) of the trees.
TREES = tuple((spines, levels) for spines in (1, 2, 4) for levels in (2, 3))


@dataclass(frozen=True)
class Planted:
    """Faults, and the titles of the outliers that they are."""

    faults: Faults
    titles: frozenset[str]


def tree(spines: int, levels: int) -> Cluster:
    """32 nodes under 8 leaves: in one pod, or in two pods of 4."""
    return Cluster(32, 1, 4, uplinks=spines, per_pod=8 if levels == 2 else 4, pod_uplinks=spines)


def ends(cluster: Cluster, link: int) -> tuple[str, str]:
    """The names of a link's two ends."""
    network = cluster.places.network
    source, target = (int(end[link]) for end in (network.links.source, network.links.target))
    return network.vertex_name(source), network.vertex_name(target)


def uplinks(cluster: Cluster) -> list[int]:
    """Links from leaves to spines."""
    links = np.flatnonzero(cluster.places.network.switch_links).tolist()
    return [link for link in links if ends(cluster, link)[0].startswith("leaf")]


def planted(cluster: Cluster, case: str, seed: int) -> Planted:
    """One of `CASES`, drawn by the seed: which cables, and by how much they are slow."""
    rng = np.random.default_rng([seed, CASES.index(case), len(uplinks(cluster))])
    first, second = _two_leaves(cluster, rng)
    f, g = (float(factor) for factor in rng.uniform(1.5, 3.0, 2))

    def link(each: int) -> str:
        return f"link {' -> '.join(ends(cluster, each))}"

    def cable(each: int) -> str:
        return f"cable {' - '.join(ends(cluster, each & ~1))}"

    if case in ("up", "down"):
        slow = first if case == "up" else first ^ 1
        return Planted(Faults(links={slow: f}), frozenset({link(slow)}))
    if case in ("both", "unequal"):
        return Planted(Faults(links={first: f, first ^ 1: f if case == "both" else g}), frozenset({cable(first)}))
    if case == "two cables":
        links = {first: f, first ^ 1: f, second: g, second ^ 1: g}
        return Planted(Faults(links=links), frozenset({cable(first), cable(second)}))
    if case == "two links":
        second ^= int(rng.integers(2))
        return Planted(Faults(links={first: f, second: g}), frozenset({link(first), link(second)}))
    leaf = ends(cluster, first)[0]
    away = [node for node in range(cluster.nodes) if f"leaf{node // cluster.per_leaf}" != leaf]
    node = int(rng.choice(away))
    told = frozenset({cable(first), f"node {cluster.places.nodes[node]} as sender"})
    return Planted(Faults(links={first: f, first ^ 1: f}, senders={node: g}), told)


def _two_leaves(cluster: Cluster, rng: np.random.Generator) -> tuple[int, int]:
    """Two uplinks of different leaves."""
    links = uplinks(cluster)
    while True:
        first, second = (int(link) for link in rng.choice(links, 2, replace=False))
        if ends(cluster, first)[0] != ends(cluster, second)[0]:
            return first, second
