# SPDX-License-Identifier: BSD-3-Clause
"""Causes that meet at one leaf: each is chosen, and no node behind a cable is taken for it."""

import numpy as np
import pytest

from made.cables import tree
from made.pairs import Cluster, Faults
from weft.analyse.outliers.attribute import decompose
from weft.analyse.outliers.polish import list_candidates

SEEDS = 3


def chosen(cluster: Cluster, faults: Faults, seed: int) -> set[str]:
    """Names of the nodes and links that are found slow."""
    one_way = cluster.one_way(0, faults, np.random.default_rng(seed))
    found = decompose((one_way + one_way.T) / 2, cluster.places, list_candidates(cluster.places))
    return {effect.candidate.name for effect in found.effects}


def cable(cluster: Cluster, leaf: str, spine: str, factor: float) -> dict[int, float]:
    """Both links of a cable, slow."""
    return {cluster.link(leaf, spine): factor, cluster.link(spine, leaf): factor}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_link_and_a_node_behind_it_are_not_taken_for_a_cable(seed: int) -> None:
    # all bytes to n13 come down from spine1, so the cable's two directions explain most of what n13 is slow to send
    cluster = tree(4, 3)
    faults = Faults(links={cluster.link("leaf3", "pod0-spine1"): 2.9}, senders={13: 2.8})
    assert chosen(cluster, faults, seed) == {"leaf3 -> pod0-spine1", "n13"}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_slow_node_does_not_drag_in_the_others_behind_its_slow_cable(seed: int) -> None:
    cluster = tree(2, 2)
    faults = Faults(links=cable(cluster, "leaf6", "pod0-spine1", 1.7), senders={27: 2.4})
    assert chosen(cluster, faults, seed) == {"leaf6 -> pod0-spine1", "pod0-spine1 -> leaf6", "n27"}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_leaf_whose_cables_are_slow_is_not_slow_itself_and_nor_are_its_nodes(seed: int) -> None:
    # its nodes are as fast with each other as those of other leaves
    cluster = tree(2, 2)
    slow = cable(cluster, "leaf6", "pod0-spine0", 1.6) | cable(cluster, "leaf6", "pod0-spine1", 2.2)
    found = chosen(cluster, Faults(links=slow), seed)
    assert found <= {f"leaf6 -> pod0-spine{k}" for k in (0, 1)} | {f"pod0-spine{k} -> leaf6" for k in (0, 1)}
    assert len(found) >= 3
