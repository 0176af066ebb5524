# SPDX-License-Identifier: BSD-3-Clause
"""The least traffic of a collective, for any algorithm.

Cut bounds (Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and experience",
2007, section 3, where n is the whole vector; b here is a block or the message). Between g ranks inside a set of nodes
and the p - g outside at least these bytes cross, in the busier direction:

===================  =====================================================================
bcast, reduce        b: the message, or a partial result
allreduce            b each way
scatter, gather      b for each rank on the other side of the cut from the root
allgather            b max(g, p - g): everything inside goes out, everything outside comes in
reduce_scatter       b max(g, p - g): partial results of blocks that the other side owns
alltoall(v)          b g (p - g)
===================  =====================================================================

A rank can send to all others at once, so only one latency is certain; trees and rings take more, by choice. Within a
node only certain copies count: on a single node every rank but one must receive data that it did not have.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import StudyError
from weft.files.matrix import read_matrix
from weft.kernel.traffic import Combined, MatrixTraffic, Traffic, Uniform, has_weights, made_weights

ELEMENT = 8  # bytes of an element of a reduction or of a derived datatype
LIGHT_SHARE = 8
WHOLE = frozenset({"allgather", "reduce_scatter"})
MESSAGE = frozenset({"bcast", "reduce", "allreduce"})
CONVERGING = frozenset({"gather", "alltoall", "alltoallv"})
ROOTED_BLOCKS = frozenset({"scatter", "gather"})


def least_share(pattern: str, ranks: int, outside: int) -> Fraction:
    """The least that one rank sends to any ``outside`` other ranks, in units of the largest block."""
    linear = Fraction(outside * (outside + 1), 2 * ranks)
    known = {"equal": Fraction(outside), "linear": linear, "heavy": Fraction(outside, LIGHT_SHARE)}
    return known.get(pattern, Fraction(0))  # a matrix may have zeros for exactly these


@dataclass(frozen=True)
class CollectiveTraffic(Combined):
    """Least traffic of one collective at one size (`weft.kernel.traffic.Traffic`)."""

    collective: str
    block_bytes: int
    ranks: int  # pyrefly: ignore[bad-override]
    node_ranks: tuple[int, ...] = ()  # ranks on each node, if the numbers differ; otherwise empty
    in_place: bool = False  # whether a rank's own block is not copied
    pattern: str = "equal"  # pattern of the blocks of alltoallv

    def converging(self, nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """All ranks of other nodes with a block each, where an algorithm may let all send at once; otherwise one."""
        counts = self.counts(nodes, ranks_per_node)
        others = self.ranks - min(counts) if self.collective in CONVERGING else min(1, self.ranks - 1)
        return others, others * self.block_bytes

    def counts(self, nodes: int, ranks_per_node: int) -> tuple[int, ...]:
        """Ranks on each node."""
        return self.node_ranks or (ranks_per_node,) * nodes

    def between(self, nodes: int, ranks_per_node: int) -> None:
        """None: it depends on the algorithm; only the bytes across a cut are known."""

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Bytes copied inside the node that copies most."""
        counts = self.counts(nodes, ranks_per_node)
        r, b, own = max(counts), self.block_bytes, 1 - self.in_place
        if self.collective in MESSAGE:
            return (r - 1) * b if len(counts) == 1 else 0
        if self.collective in ROOTED_BLOCKS:
            return (min(counts) - 1 + own) * b
        if self.collective == "reduce_scatter":
            return r * (r - 1) * b
        if self.collective == "alltoallv":
            return int(r * least_share(self.pattern, self.ranks, r - 1 + own) * b)
        return r * (r - 1 + own) * b

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """Bytes that must cross the border of a set of nodes in one direction."""
        counts = self.counts(nodes, ranks_per_node)
        inside = sum(counts[node] for node in group)
        outside = self.ranks - inside
        if not inside or not outside:
            return 0
        if self.collective in MESSAGE:
            return self.block_bytes
        if self.collective in ROOTED_BLOCKS:
            # On the root's side all blocks of the other side cross; else those of this side. One single node has it.
            return self.block_bytes * (self.ranks - max(counts) if len(group) == 1 else min(inside, outside))
        if self.collective in WHOLE:
            return self.block_bytes * max(inside, outside)
        shares = least_share(self.pattern, self.ranks, outside) if self.collective == "alltoallv" else Fraction(outside)
        return int(inside * shares * self.block_bytes)


def traffic_at(values: Mapping[str, Any], size: int, ranks: int) -> Traffic:
    """Least traffic of a cell's call at one size; it is exact for an all-to-all of equal blocks on even nodes."""
    node_ranks, pattern = tuple(values.get("node_ranks", ())), values.get("pattern", "equal")
    least = CollectiveTraffic(values["collective"], size, ranks, node_ranks, values["form"] == "inplace", pattern)
    try:
        weights = weights_of(values, ranks)
    except StudyError:  # the matrix stayed on another machine: what holds for any pattern is lower, and valid
        weights = None
    if weights is not None and len(weights) == ranks:
        unit = ELEMENT if values["form"] == "vector" else 1
        return MatrixTraffic(size, ranks, weights, unit, least.node_ranks, values.get("cyclic", False))
    everywhere = least.collective in ("alltoall", "alltoallv") and least.pattern == "equal"
    if everywhere and not least.in_place and not least.node_ranks:
        return Uniform(size, least.rounds, least.messages)
    return least


def blocks_of(values: Mapping[str, Any], ranks: int, largest: int) -> NDArray[np.int64]:
    """Bytes of the block from each rank to each other, shape (ranks, ranks); StudyError without the matrix."""
    weights, pattern = weights_of(values, ranks), values.get("pattern", "equal")
    if weights is None and pattern == "heavy":
        weights = np.where(np.arange(ranks)[:, np.newaxis] == 0, LIGHT_SHARE, np.ones((ranks, ranks), np.int64))
    elif weights is None:
        weights = np.tile(np.arange(1, ranks + 1) if pattern == "linear" else np.ones(ranks, np.int64), (ranks, 1))
    return (weights.astype(object) * largest // int(weights.max())).astype(np.int64)  # beyond 64 bits in between


def weights_of(values: Mapping[str, Any], ranks: int) -> NDArray[np.int64] | None:
    """Weights of the blocks of a cell with a matrix or a skew, shape (ranks, ranks); None for other patterns."""
    if has_weights(values.get("pattern", "")):
        return made_weights(values["pattern"], ranks)
    return np.array(read_matrix(Path(values["matrix"])), dtype=np.int64) if "matrix" in values else None
