# SPDX-License-Identifier: BSD-3-Clause
"""Classes of pairs of ranks without a matrix of all pairs: the same classes, evenly drawn, 64,000 ranks in little."""

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from weft.fabric.hops import host_hops
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.host import Host, Limit
from weft.kernel.studies import make_study
from weft.kernel.tournament import Classes
from weft.plan.make import make_plan

GIB = 2**30


def tree(nodes: int, cores: int, per_leaf: int = 4) -> Fabric:
    parts: dict[str, Any] = {"nodes_per_leaf": per_leaf, "uplinks": 2, "leaves_per_pod": 4, "pod_uplinks": 2}
    return Fabric.model_validate(
        {
            "name": "tree",
            "kind": "simulated",
            "node": {"names": f"n[1-{nodes}]", "cores": cores},
            "network": {
                "topology": "fat-tree",
                "adapter_rate": "10 GB/s",
                "tree": parts | {"link_rate": "10 GB/s"},
            },
        }
    )


@pytest.mark.parametrize("cyclic", [False, True])
def test_every_pair_has_the_class_that_the_matrix_of_hops_gives_it(cyclic: bool) -> None:
    network = build_network(tree(20, 2))
    ranks = np.arange(40)
    node_of = ranks % 20 if cyclic else ranks // 2
    hosts = np.arange(20, dtype=np.int32)
    drawn = Classes(node_of, network, hosts).draw(10**6, seed=1)
    hops = host_hops(network, hosts)
    expected: dict[int, set[tuple[int, int]]] = {}
    for low in range(40):
        for high in range(low + 1, 40):
            a, b = node_of[low], node_of[high]
            expected.setdefault(0 if a == b else int(hops[a, b]) + 1, set()).add((low, high))
    assert {number: set(pairs) for number, pairs in drawn.items()} == expected
    assert sum(map(len, drawn.values())) == 40 * 39 // 2


def test_nodes_of_unequal_size_give_each_pair_the_same_chance() -> None:
    node_of = np.repeat(np.arange(12), [1, 3] * 6)  # 24 ranks: 258 pairs between nodes, 18 within
    seen = np.zeros((24, 24))
    for seed in range(400):
        drawn = Classes(node_of).draw(20, seed)
        assert [len(set(drawn[number])) for number in (0, 1)] == [18, 20]
        for low, high in drawn[1]:
            assert low < high
            assert node_of[low] != node_of[high]
            seen[low, high] += 1
    expected = 400 * 20 / 258
    between = seen[(node_of[:, None] != node_of[None, :]) & (np.arange(24)[:, None] < np.arange(24)[None, :])]
    assert between.sum() == 400 * 20
    # each count is nearly Poisson: chi squared of 258 has a mean of 258 and a deviation of 23
    assert ((between - expected) ** 2 / expected).sum() < 258 + 5 * 23


def test_64_000_ranks_are_planned_in_little_memory_and_time() -> None:
    series = {"name": "all", "nodes": [4000], "ranks_per_node": 16}
    asked = {"name": "s", "kernel": "pairs", "measure": {"seed": 7}, "series": [series]}
    study = make_study(asked | {"pairs": {"bytes": ["0 B"], "concurrency": "isolated"}}, "s.toml")
    host = Host("here", 8, 64 * GIB, (Limit(60 * GIB, "MemAvailable"),))
    fabric = tree(4000, 16, per_leaf=16)
    tracemalloc.start()
    began = time.process_time()
    plan = make_plan(study, fabric, predict=False, host=host)
    took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "drawn by seed 7" in " ".join(plan.notes)
    assert peak < 1 * GIB
    assert took < 60  # traced, on a busy machine; 2 s untraced
