# SPDX-License-Identifier: BSD-3-Clause
"""Leaves of a machine whose cables nobody knows, by its own times."""

import numpy as np
import pytest

from weft.analyse.outliers.few_parts import cluster_nodes


def times(nodes: int, width: int, near_s: float, far_s: float, seed: int) -> tuple[np.ndarray, ...]:
    """Log times of 16 rounds of random pairs."""
    dice = np.random.default_rng(seed)
    ends = np.concatenate([dice.permutation(nodes).reshape(-1, 2) for _ in range(16)])
    source, target = ends.T.astype(np.int64)
    near = source // width == target // width
    return source, target, np.log(np.where(near, near_s, far_s)) + dice.normal(0, 0.03, len(source))


@pytest.mark.parametrize(("nodes", "width"), [(32, 16), (64, 16)])
def test_nodes_whose_pairs_are_near_share_a_leaf(nodes: int, width: int) -> None:
    found = cluster_nodes(nodes, *times(nodes, width, 1.1e-6, 1.7e-6, seed=3))
    assert found is not None
    true = np.arange(nodes) // width
    for leaf in range(found.max() + 1):
        assert len(set(true[found == leaf].tolist())) == 1
    assert found.max() + 1 == nodes // width
    assert (found >= 0).mean() >= 0.95  # a node may have met no neighbour


def test_times_without_two_groups_tell_no_leaves() -> None:
    assert cluster_nodes(64, *times(64, 16, 1.5e-6, 1.5e-6, seed=4)) is None


def test_leaves_that_too_few_pairs_join_are_not_told() -> None:
    """Of 512 nodes on leaves of 8 hardly any meets a neighbour in 16 rounds."""
    assert cluster_nodes(512, *times(512, 8, 1.1e-6, 1.7e-6, seed=5)) is None


def test_one_slow_node_is_no_leaf() -> None:
    source, target, log_s = times(64, 16, 1.5e-6, 1.5e-6, seed=6)
    log_s[(source == 7) | (target == 7)] += np.log(1.6)
    assert cluster_nodes(64, source, target, log_s) is None
