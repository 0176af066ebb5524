# SPDX-License-Identifier: BSD-3-Clause
"""Remainders of pairs: also of those that take no time."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from made.attributed import pair_times
from made.pairs import Cluster
from weft.analyse.outliers.attribute import decompose
from weft.analyse.outliers.remainders import Remainders, remainders
from weft.analyse.pairs.matrix import node_matrix


def left_of(folder: Path, cluster: Cluster, table: pa.Table) -> Remainders:
    (times,) = pair_times(folder, cluster, table)
    matrix = node_matrix(times, times.time_s, times.over_launches("forward_s"))
    return remainders(times, times.time_s, decompose(matrix.time_s, cluster.places, []))


def test_a_pair_that_takes_no_time_has_a_remainder(tmp_path: Path) -> None:
    # A fabric without node.latency: messages of no bytes inside a node took none, and DuckDB refused their logarithm.
    cluster = Cluster(2, 2, per_leaf=2)
    rows = cluster.pairs().to_pylist()
    for row in rows:
        row["median_s"] = 0.0 if row["source"] // 2 == row["target"] // 2 else 1e-6
    left = left_of(tmp_path, cluster, pa.Table.from_pylist(rows, schema=cluster.pairs().schema))
    assert sum(int(counts.sum()) for _, counts in left.histogram().values()) == len(rows)
    assert left.left.tolist() == pytest.approx([0.0] * len(rows), abs=1e-6)


def test_statistics_of_remainders_are_those_of_the_pairs_that_count(tmp_path: Path) -> None:
    cluster = Cluster(6, 4, 3, uplinks=1, per_pod=2, pod_uplinks=1)
    left = left_of(tmp_path, cluster, cluster.pairs(seed=4))
    some = left.without_ranks([5, 17])
    source, target, node_of = left.ends.source, left.ends.target, cluster.places.node_of
    kept = ~np.isin(source, [5, 17]) & ~np.isin(target, [5, 17])
    far = node_of[source] != node_of[target]
    by_rank, by_node = some.by_rank(), some.by_node()
    for rank in range(24):
        for values, end in zip(by_rank, (source, target), strict=True):
            own = left.left[kept & far & (end == rank)]
            assert values[rank] == pytest.approx(np.median(own) if len(own) else np.nan, nan_ok=True)
    for node in range(6):
        own = left.left[kept & ~far & (node_of[source] == node)]
        assert (by_node[0][node], by_node[1][node]) == (pytest.approx(np.median(own)), len(own))
    for (_, _, class_), scale in some.scales.items():
        own = np.abs(left.left[kept & (left.ends.kind == class_)])
        assert (scale.pairs, scale.deviation) == (len(own), pytest.approx(np.median(own)))
    limits = dict.fromkeys(range(len(cluster.places.hops)), 0.02)
    assert some.beyond(limits).tolist() == np.flatnonzero(kept & (left.left > np.float32(0.02))).tolist()
