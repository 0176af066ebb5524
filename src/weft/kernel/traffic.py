# SPDX-License-Identifier: BSD-3-Clause
"""Traffic of a kernel in bytes, in closed form: without a loop over pairs, so 4608 ranks cost as little as 2.

At the end: matrices of all-to-alls in which some ranks have more to do than others, by their skew: the largest sum of a
column (what one rank receives) over the mean one. Every rank sends as much as any other, except under ``zipf``.

``hot``   one rank receives ``skew`` times the mean, the others alike
``zipf``  the k-th busiest receiver and the k-th busiest sender have 1 / k^a of the busiest one's, in shuffled orders
``moe``   receivers as in ``zipf``; each sender has preferences of its own, as tokens that a gate sends to experts

And graphs, in which all blocks are alike and most ranks exchange none:

``cartesian``  a torus of two dimensions, as square as the ranks allow: each rank has its four neighbours
``random``     each rank sends to four others drawn at random
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SKEWED = ("zipf", "hot", "moe")
NAME = re.compile(rf"({'|'.join(SKEWED)})(\d+(?:\.\d+)?)")
GRAPHS = ("cartesian", "random")
DEGREE, SEED = 4, 33
SCALE = 10**6  # the largest weight
TASTE = 1.0  # spread of a sender's own preferences, as the standard deviation of their logarithm
ROUNDS = 200


def barrier_messages(ranks: int) -> int:
    """Messages of the dissemination barrier before each call."""
    return ranks * max(1, math.ceil(math.log2(ranks))) if ranks > 1 else 0


class Traffic(Protocol):
    """Bytes of one operation between N nodes of r ranks each (nodes are counted from 0 in the order of their ranks)."""

    @property
    def rounds(self) -> int:
        """Least number of messages that must follow one another."""
        ...

    @property
    def messages(self) -> int:
        """Least number of messages that one rank must send."""
        ...

    @property
    def message_bytes(self) -> int | None:
        """Bytes of each of them; None if others may cut, combine and forward them."""
        ...

    def converging(self, nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """Ranks of other nodes that may send to one rank at the same time, and their bytes together."""
        ...

    def between(self, nodes: int, ranks_per_node: int) -> Sequence[Sequence[int]] | None:
        """Bytes from each node to each other, row by row; None if only those that cross a cut are known."""
        ...

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Bytes copied inside the node that copies most."""
        ...

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """Bytes that cross the border of a set of nodes in the busier direction; most patterns are symmetric."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Every rank sends ``block_bytes`` to every rank, itself included: its own block is copied within its node."""

    block_bytes: int
    rounds: int
    messages: int

    @property
    def message_bytes(self) -> int | None:
        """A block where each goes to its rank by itself, which is so where every rank sends several messages."""
        return self.block_bytes if self.messages > 1 else None

    def between(self, nodes: int, ranks_per_node: int) -> Sequence[Sequence[int]]:
        """Each node sends the same number of bytes to each."""
        return [[ranks_per_node**2 * self.block_bytes] * nodes] * nodes

    def converging(self, nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """All ranks of other nodes, a block each."""
        others = (nodes - 1) * ranks_per_node
        return others, others * self.block_bytes

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """r^2 blocks, which stay on each node."""
        return ranks_per_node * ranks_per_node * self.block_bytes

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """One block from each rank inside to each rank outside."""
        inside = len(group) * ranks_per_node
        return inside * (nodes * ranks_per_node - inside) * self.block_bytes


@dataclass(frozen=True)
class Mirror:
    """Rank r sends all to rank p - 1 - r (reverse keys), so node i to N - 1 - i, in block and in cyclic order."""

    local_bytes: int
    rounds: int
    messages: int
    message_bytes: int | None = None  # an algorithm may cut them

    def between(self, nodes: int, ranks_per_node: int) -> Sequence[Sequence[int]]:
        """Each node sends to one."""
        return [[ranks_per_node * self.local_bytes * (a + b == nodes - 1) for b in range(nodes)] for a in range(nodes)]

    def converging(self, nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """One rank with all it has."""
        return 1, self.local_bytes

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """The bytes of the middle one of an odd number of nodes; else 0."""
        return ranks_per_node * self.local_bytes if nodes % 2 else 0

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """All bytes of the nodes in the set whose mirror image is outside."""
        inside = set(group)
        return sum(ranks_per_node * self.local_bytes for node in inside if nodes - 1 - node not in inside)


class Combined:
    """Base of traffic that other ranks may combine and forward: what the algorithm decides is not known."""

    ranks: int
    message_bytes = None

    @property
    def rounds(self) -> int:
        """One, or 0 for a single rank."""
        return min(1, self.ranks - 1)

    messages = rounds


@dataclass(frozen=True, eq=False)
class MatrixTraffic(Combined):
    """What an all-to-all of known unequal blocks moves, whoever combines and forwards them."""

    block_bytes: int  # of the largest block
    ranks: int  # pyrefly: ignore[bad-override]
    # weights, unit: blocks are whole multiples of ``unit`` bytes, in proportion to the weights, shape (ranks, ranks)
    weights: NDArray[np.int64]
    unit: int = 1
    node_ranks: tuple[int, ...] = ()  # ranks on each node, if the numbers differ; otherwise empty
    cyclic: bool = False  # rank i is on node i modulo N; otherwise ranks fill one node after the other

    def evenly(self) -> Uniform:
        """The same bytes in blocks that are all alike."""
        mean = self.block_bytes * float(self.weights.mean()) / float(self.weights.max())
        return Uniform(round(mean), self.rounds, self.messages)

    def converging(self, nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """All ranks of other nodes, with no more than the busiest node receives."""
        others = self.ranks - min(self.node_ranks or (ranks_per_node,))
        moved = _node_matrix(self, nodes, ranks_per_node)
        return others, int((moved.sum(axis=0) - moved.diagonal()).max())

    def between(self, nodes: int, ranks_per_node: int) -> Sequence[Sequence[int]]:
        """As the matrix says."""
        return _node_matrix(self, nodes, ranks_per_node).tolist()

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Bytes between ranks of the node that has most of them."""
        return int(_node_matrix(self, nodes, ranks_per_node).diagonal().max())

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """Bytes that leave the set, or enter it if those are more."""
        return max(self.crossing(group, nodes, ranks_per_node))

    def busiest(self, nodes: int, ranks_per_node: int) -> int:
        """The node that sends or receives most."""
        moved = _node_matrix(self, nodes, ranks_per_node)
        return int((np.maximum(moved.sum(axis=0), moved.sum(axis=1)) - moved.diagonal()).argmax())

    def crossing(self, group: Collection[int], nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """Bytes that leave the set, and bytes that enter it."""
        moved = _node_matrix(self, nodes, ranks_per_node)
        inside = np.isin(np.arange(nodes), list(group))
        return int(moved[inside][:, ~inside].sum()), int(moved[~inside][:, inside].sum())


@lru_cache(maxsize=4)
def _node_matrix(traffic: MatrixTraffic, nodes: int, ranks_per_node: int) -> NDArray[np.int64]:
    """Bytes from each node to each, itself included, shape (nodes, nodes)."""
    largest = traffic.block_bytes // traffic.unit
    blocks = np.floor(traffic.weights * (largest / float(traffic.weights.max()))).astype(np.int64) * traffic.unit
    ranks, counts = np.arange(traffic.ranks), traffic.node_ranks or (ranks_per_node,) * nodes
    node = ranks % nodes if traffic.cyclic else np.repeat(np.arange(nodes), counts)
    found = np.zeros((nodes, nodes), dtype=np.int64)
    np.add.at(found, (node[:, np.newaxis], node[np.newaxis, :]), blocks)
    return found


def is_skewed(pattern: str) -> bool:
    """Whether it is the name of a pattern with its skew."""
    return NAME.fullmatch(pattern) is not None


def has_weights(pattern: str) -> bool:
    """Whether a pattern's weights are made here: by its skew, or of a graph."""
    return is_skewed(pattern) or pattern in GRAPHS


def made_weights(pattern: str, ranks: int) -> NDArray[np.int64]:
    """Weights of ``zipf2.5``, or 1 to the neighbours of ``cartesian``: row i what rank i sends, (ranks, ranks)."""
    if pattern not in GRAPHS:
        return skewed_weights(pattern, ranks)
    found, here = np.zeros((ranks, ranks), dtype=np.int64), np.arange(ranks)
    if pattern == "cartesian":
        columns = ranks // max(rows for rows in range(1, math.isqrt(ranks) + 1) if ranks % rows == 0)
        row, column = np.divmod(here, columns)
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            found[here, (row + down) % (ranks // columns) * columns + (column + right) % columns] = 1
    else:
        rng = np.random.default_rng(SEED)
        for rank in range(ranks):
            others = rng.permutation(ranks)
            found[rank, others[others != rank][:DEGREE]] = 1
    np.fill_diagonal(found, ranks == 1)  # a rank alone is its own neighbour
    return found


def skew_of(pattern: str) -> float:
    """The skew in a name: 2.5 of ``zipf2.5``."""
    return float(pattern.lstrip("zipfhotme"))


@lru_cache(maxsize=8)
def skewed_weights(pattern: str, ranks: int) -> NDArray[np.int64]:
    """Weights of ``zipf2.5``, row i what rank i sends to each, shape (ranks, ranks); the largest is a million."""
    kind, skew = pattern.rstrip("0123456789."), min(skew_of(pattern), float(ranks))
    rng = np.random.default_rng(SEED)
    if kind == "hot":
        columns = np.full(ranks, (ranks - skew) / max(1, ranks - 1))
        columns[rng.integers(ranks)] = skew
        shares = np.tile(columns, (ranks, 1))
    else:
        falling = _falling(ranks, skew)
        columns = rng.permutation(falling)
        shares = np.outer(rng.permutation(falling) if kind == "zipf" else np.ones(ranks), columns)
        if kind == "moe":
            shares *= rng.lognormal(0.0, TASTE, (ranks, ranks))
            for _ in range(ROUNDS):  # back to the sums of rows and columns (Sinkhorn, 1967)
                shares *= (ranks / shares.sum(axis=1))[:, np.newaxis]
                shares *= columns * ranks / shares.sum(axis=0)
    return np.asarray(np.round(shares * (SCALE / float(shares.max()))), dtype=np.int64)


def peak_of(pattern: str, ranks: int) -> float:
    """The largest block over the mean one of ``zipf2.5``; 1 where blocks are alike."""
    weights = skewed_weights(pattern, ranks) if is_skewed(pattern) else np.ones(1)
    return float(weights.max() / weights.mean())


def _falling(ranks: int, skew: float) -> NDArray[np.float64]:
    """1 / k^a for k = 1 .. ranks with mean 1 and the first one ``skew``; ``a`` by bisection."""
    place, low, high = np.arange(1.0, ranks + 1), 0.0, 60.0
    for _ in range(100):
        power = (low + high) / 2
        low, high = (power, high) if 1 / (place**-power).mean() < skew else (low, power)
    found = place**-high
    return found / found.mean()
