# SPDX-License-Identifier: BSD-3-Clause
"""The schedule of all pairs of ranks (METHOD 26); native/measure/pairs/pair_schedule.cpp computes the same rounds.

Nodes are paired by the circle method; while two are paired, their ranks are paired by cyclic shifts. Then the ranks
within each node are paired, on all nodes at once.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.int32]


def circle(players: int, number: int) -> Pairs:
    """Index pairs of round ``number`` in 0 .. players - 2, for an even number of players; shape (players / 2, 2)."""
    ring = players - 1  # the last player stays in place, the others rotate
    k = np.arange(1, players // 2, dtype=np.int32)
    turning = np.stack([(number + k) % ring, (number + ring - k) % ring], axis=1)
    return np.concatenate([np.array([[ring, number]], np.int32), turning])


class PairSchedule:
    """A tournament of ranks: each pair occurs once, and no rank is in two pairs of a round.

    A round is between nodes or within them. N nodes of r ranks take p - 1 rounds for even r, p for odd r and even N,
    p + r if both are odd: then one rank has a bye in every round. Nodes of unequal size are padded with byes.
    """

    def __init__(self, node_of: Sequence[int] | NDArray[np.int32]) -> None:
        nodes = np.asarray(node_of, dtype=np.int32)
        sizes = np.bincount(nodes) if len(nodes) else np.zeros(0, np.int64)
        self.nodes = len(sizes)
        self.slots = int(sizes.max(initial=0))
        # with an odd number of nodes one would have a bye in each round: pair halves of nodes instead, whose number is
        # even, and omit the round in which the two halves of every node would meet
        self.halved = self.nodes > 1 and self.nodes % 2 == 1 and self.slots % 2 == 0
        self.width = self.slots // 2 if self.halved else self.slots
        self.camps = 2 * self.nodes if self.halved else self.nodes + self.nodes % 2
        self.between = (self.camps - (2 if self.halved else 1)) * self.width if self.nodes > 1 else 0
        self.within = self.slots + self.slots % 2 - 1 if self.slots > 1 else 0
        self._ranks = self._table(nodes, sizes)
        self._camps = self._camp_table()

    @property
    def rounds(self) -> int:
        """Rounds of the tournament: those between nodes, then those within."""
        return self.between + self.within

    def is_within(self, number: int) -> bool:
        """Whether a round pairs ranks within nodes."""
        return number >= self.between

    def camp_of(self) -> NDArray[np.int32]:
        """The camp of each rank, shape (ranks,)."""
        camp, place = np.nonzero(self._camps >= 0)
        found = np.zeros(int(self._camps.max(initial=-1)) + 1, np.int32)
        found[self._camps[camp, place]] = camp
        return found

    def pairs(self, number: int) -> Pairs:
        """Rank indices of the pairs of round ``number``, sorted by the lower rank; shape (pairs, 2)."""
        found = self._within(number - self.between) if self.is_within(number) else self._between(number)
        found = np.sort(found[(found >= 0).all(axis=1)], axis=1)
        return found[np.argsort(found[:, 0])]

    def _table(self, nodes: NDArray[np.int32], sizes: NDArray[np.int64]) -> Pairs:
        """Rank of each (node, slot), shape (nodes, slots); -1 if there is none. A last row without ranks is the bye."""
        table = np.full((self.nodes + 1, max(self.slots, 1)), -1, np.int32)
        order = np.argsort(nodes, kind="stable")
        ends = np.concatenate([[0], np.cumsum(sizes)])
        for node, (first, end) in enumerate(pairwise(ends.tolist())):
            table[node, : end - first] = order[first:end]
        return table

    def _camp_table(self) -> Pairs:
        """Ranks of each camp (a node, or half of one) of the outer tournament, shape (camps, width)."""
        if not self.halved:
            return self._ranks[: max(self.camps, 1)]
        # round 0 pairs the last player with 0, and k with last - k: the halves of one node
        last = self.camps - 1
        number = np.arange(self.camps)
        node = np.where(number < self.nodes, number, np.where(number == last, 0, last - number))
        first = np.where(number < self.nodes, 0, self.width)
        return self._ranks[node[:, np.newaxis], first[:, np.newaxis] + np.arange(self.width)]

    def _between(self, number: int) -> Pairs:
        met = circle(self.camps, number // self.width + (1 if self.halved else 0))
        slot = np.arange(self.width)
        ours = self._camps[met[:, 0]]
        theirs = self._camps[met[:, 1]][:, (slot + number % self.width) % self.width]
        return np.stack([ours.ravel(), theirs.ravel()], axis=1)

    def _within(self, number: int) -> Pairs:
        met = circle(self.slots + self.slots % 2, number)
        met = met[(met < self.slots).all(axis=1)]  # who is paired with the bye waits
        ranks = self._ranks[: self.nodes]
        return np.stack([ranks[:, met[:, 0]].ravel(), ranks[:, met[:, 1]].ravel()], axis=1)
