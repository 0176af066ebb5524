# SPDX-License-Identifier: BSD-3-Clause
"""Traffic of a kernel in bytes, in closed form: without a loop over pairs, so 4608 ranks cost as little as 2."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


def barrier_messages(ranks: int) -> int:
    """Messages of the dissemination barrier before each call."""
    return ranks * max(1, math.ceil(math.log2(ranks))) if ranks > 1 else 0


def any_eager(sizes: Sequence[int], limit: int | None) -> bool:
    """Whether one of the message sizes (bytes) is sent eagerly: at most ``limit`` bytes, or any if it is None."""
    return limit is None or min(sizes) <= limit


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

    @property
    def pairwise(self) -> bool:
        """Whether the bytes from each node to each other are known; otherwise only those that cross a cut are."""
        ...

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Bytes copied inside the node that copies most."""
        ...

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """Bytes that leave a set of nodes; the same number enter it, since every pattern here is symmetric."""
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

    @property
    def pairwise(self) -> bool:
        """True: each node sends the same number of bytes to each."""
        return True

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

    @property
    def message_bytes(self) -> int | None:
        """None: an algorithm may cut them."""
        return None

    @property
    def pairwise(self) -> bool:
        """True: each node sends to one other."""
        return True

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
