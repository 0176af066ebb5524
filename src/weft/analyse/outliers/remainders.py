# SPDX-License-Identifier: BSD-3-Clause
"""Remainders: each pair's time over what its hop class, slow nodes and slow links predict, and their statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa

from weft.analyse.engine import Expression, memory_table
from weft.analyse.outliers.polish import Decomposition
from weft.analyse.outliers.two_groups import BINS
from weft.analyse.pairs.matrix import NodeMatrix
from weft.store.files import Table

#: With at least this many nodes, pairs within a node are compared with the same places of other nodes.
FEWEST_NODES = 4
KEY = ["bytes", "mode"]


class Way(TypedDict):
    """A message size in bytes and the mode of measuring."""

    bytes: int
    mode: str


class OfClass(Way):
    """A row of one hop class, by its number."""

    class_: int


class ScaleRow(OfClass):
    """A row of `scales`."""

    pairs: int
    deviation: float
    base_s: float


class BucketRow(OfClass):
    """A row of `histogram`."""

    bucket: int
    pairs: int


class RankLeft(Way):
    """A row of `by_rank`."""

    rank: int
    as_source: float
    as_target: float


class NodeLeft(Way):
    """A row of `by_node`."""

    node: int
    left: float
    pairs: int


class PairLeft(OfClass):
    """What is read of a row of `beyond`: two ranks, their nodes, and how far they lie beyond their class."""

    source: int
    target: int
    source_node: int
    target_node: int
    checked: bool
    left: float


def fitted_table(matrices: Sequence[NodeMatrix], taken: Sequence[Decomposition]) -> Table:
    """A row for every two nodes, times in s: bytes, mode, source_node, target_node, fitted_s, base_s, touched."""
    tables: list[Table] = []
    for matrix, found in zip(matrices, taken, strict=True):
        nodes = len(matrix.time_s)
        source, target = np.divmod(np.arange(nodes * nodes, dtype=np.int32), np.int32(nodes))
        columns = {
            "bytes": np.full(nodes * nodes, matrix.bytes, np.int64),
            "mode": pa.DictionaryArray.from_arrays(np.zeros(nodes * nodes, np.int32), [matrix.mode]).cast(pa.string()),
            "source_node": source,
            "target_node": target,
            "fitted_s": found.fitted.ravel(),
            "base_s": found.base.ravel(),
            "touched": found.touched.ravel().astype(np.int16),
        }
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)


SHORTEST_S = 1e-10  # clocks count nanoseconds


def remainders(placed: Expression, fitted: Table, nodes: int) -> Expression:
    """Each pair with its expected time, one row for each pair, size and mode.

    Between nodes, the decomposition gives the expected time. Within a node, it is the median of the same places on the
    other nodes, which accounts for sockets; with few nodes it is the median of all pairs within nodes. Returns source,
    target, bytes, mode, class_, nodes and places of both, time_s, checked, touched (by how many outliers), base_s (the
    time of its class without outliers), left: log(time / expected), and spread, in which groups of a class are
    searched: log(time / base) within nodes and ``left`` between them.
    """
    import ibis

    inside = placed.filter(placed.source_node == placed.target_node)
    places = ["source_place", "target_place"] if nodes >= FEWEST_NODES else []
    usual = inside.group_by([*KEY, *places]).agg(expected_s=inside.time_s.median())
    whole = inside.group_by(KEY).agg(base_s=inside.time_s.median())
    kept = ["source", "target", *KEY, "class_", "source_node", "target_node", "source_place", "target_place"]
    kept += ["time_s", "checked"]
    near = inside.inner_join(usual, [*KEY, *places]).inner_join(whole, KEY)
    near = near.select(*kept, "expected_s", "base_s", grouped_s=near.base_s, touched=ibis.literal(0, "int16"))
    between = placed.filter(placed.source_node != placed.target_node)
    far = between.inner_join(ibis.memtable(fitted), [*KEY, "source_node", "target_node"])
    far = far.select(*kept, "base_s", expected_s=far.fitted_s, grouped_s=far.fitted_s, touched=far.touched)
    far = far.select(*near.columns)
    both = near.union(far)
    left, spread = _log_ratio(both.time_s, both.expected_s), _log_ratio(both.time_s, both.grouped_s)
    return both.select(*kept, "base_s", "touched", left=left, spread=spread)


def _log_ratio(time_s: Expression, other_s: Expression) -> Expression:
    """log(time / other); a model may give a message inside a node no time at all, which counts as `SHORTEST_S`."""
    import ibis

    return (ibis.greatest(time_s, SHORTEST_S) / ibis.greatest(other_s, SHORTEST_S)).ln()


def scales(left: Expression) -> Expression:
    """Spread of the remainders of each class: bytes, mode, class_, pairs, deviation (median absolute), base_s."""
    return left.group_by([*KEY, "class_"]).agg(
        pairs=left.count(), deviation=left.left.abs().median(), base_s=left.base_s.median()
    )


def histogram(left: Expression) -> Expression:
    """Histogram of ``spread`` of each class: bytes, mode, class_, bucket, pairs; without pairs that two outliers touch.

    If the slow direction of an outlier is unknown, it is also unknown whether it adds to another outlier in the same
    direction, so the remainders of their common pairs do not form a group.
    """
    known = left.filter(left.touched < 2)
    bucketed = known.mutate(bucket=(known.spread * BINS).floor().cast("int64"))
    return bucketed.group_by([*KEY, "class_", "bucket"]).agg(pairs=bucketed.count())


def by_rank(left: Expression) -> Expression:
    """Median remainder of each rank as source and as target, over its pairs with other nodes."""
    far = left.filter(left.source_node != left.target_node)
    source = far.group_by([*KEY, "source"]).agg(as_source=far.left.median())
    target = far.group_by([*KEY, "target"]).agg(as_target=far.left.median())
    joined = source.inner_join(
        target, [*(source[name] == target[name] for name in KEY), source.source == target.target]
    )
    return joined.select(
        *(source[name] for name in KEY), rank=source.source, as_source=source.as_source, as_target=target.as_target
    )


def by_node(left: Expression) -> Expression:
    """Median remainder of the pairs within each node: bytes, mode, node, left, pairs."""
    near = left.filter(left.source_node == left.target_node)
    return near.group_by([*KEY, near.source_node.name("node")]).agg(left=near.left.median(), pairs=near.count())


def by_place(left: Expression, size: int, mode: str, split: float) -> Expression:
    """For pairs within nodes: the share of each two places that lies beyond the valley ``split``."""
    near = left.filter((left.source_node == left.target_node) & (left.bytes == size) & (left["mode"] == mode))
    beyond = (near.spread > split).cast("float64")
    return near.mutate(beyond=beyond).group_by(["source_place", "target_place"]).agg(share=beyond.mean())


@dataclass(frozen=True)
class Threshold:
    """The remainder from which on a pair of a class counts as slow."""

    bytes: int
    mode: str
    class_: int
    left: float


def beyond(left: Expression, thresholds: Sequence[Threshold]) -> Expression:
    """Pairs whose remainder lies beyond the threshold of their class."""
    limits = memory_table(
        {
            "bytes": [limit.bytes for limit in thresholds],
            "mode": [limit.mode for limit in thresholds],
            "class_": [limit.class_ for limit in thresholds],
            "from_left": [limit.left for limit in thresholds],
        },
        schema={"bytes": "int64", "mode": "string", "class_": "int16", "from_left": "float64"},
    )
    joined = left.inner_join(limits, [*KEY, "class_"])
    return joined.filter((joined.left > joined.from_left) & (joined.touched < 2))
