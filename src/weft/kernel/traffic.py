# SPDX-License-Identifier: BSD-3-Clause
"""What a kernel asks of the network, in bytes, by counting: no loop over pairs, so 4608 ranks cost as little as 2."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


class Traffic(Protocol):
    """Bytes of one operation between N nodes of r ranks each (nodes are counted from 0 in the order of their ranks)."""

    @property
    def rounds(self) -> int:
        """Messages that must follow one another, at least."""
        ...

    @property
    def messages(self) -> int:
        """Messages one rank must send, at least."""
        ...

    @property
    def pairwise(self) -> bool:
        """Whether it is known how much each node sends to each other; otherwise only what must cross a cut is."""
        ...

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Bytes copied inside the node that copies most."""
        ...

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """Bytes that leave a set of nodes (as many enter it: every pattern here is symmetric)."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Every rank sends ``block_bytes`` to every rank, itself included.

    The block a rank keeps is copied too: from ``unsorted`` to ``sorted``, within its node.
    """

    block_bytes: int
    rounds: int
    messages: int

    @property
    def pairwise(self) -> bool:
        """Each node sends as much to each."""
        return True

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """r^2 blocks stay on each node."""
        return ranks_per_node * ranks_per_node * self.block_bytes

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """Each rank inside sends one block to each rank outside."""
        inside = len(group) * ranks_per_node
        return inside * (nodes * ranks_per_node - inside) * self.block_bytes


@dataclass(frozen=True)
class Mirror:
    """Rank r sends all it has to rank p - 1 - r: keys in reverse order.

    Node i faces node N - 1 - i in block order (r // R) and in cyclic order (r mod N) alike.
    """

    local_bytes: int
    rounds: int
    messages: int

    @property
    def pairwise(self) -> bool:
        """Each node sends to one other."""
        return True

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Only the middle one of an odd number of nodes keeps its bytes."""
        return ranks_per_node * self.local_bytes if nodes % 2 else 0

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """All bytes of the nodes whose mirror image lies outside."""
        inside = set(group)
        return sum(ranks_per_node * self.local_bytes for node in inside if nodes - 1 - node not in inside)
