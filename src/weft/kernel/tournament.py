# SPDX-License-Identifier: BSD-3-Clause
"""The schedule of all pairs of ranks (METHOD 26); native/measure/pairs/pair_schedule.cpp computes the same rounds.
Nodes are paired by the circle method; while two are paired, their ranks are paired by cyclic shifts. Then the ranks
within each node are paired, on all nodes at once. At the end: pairs drawn by hop class, counted by groups of nodes, as
a matrix of all pairs would be too large.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.fabric.hops import groups_alike
from weft.fabric.network.graph import Ints, Network

Pairs = NDArray[np.int32]
SAME_NODE = 0
Pair = tuple[int, int]


def circle(players: int, number: int) -> Pairs:
    """Index pairs of round ``number`` in 0 .. players - 2, for an even number of players; shape (players / 2, 2)."""
    ring = players - 1  # the last player stays in place, the others rotate
    k = np.arange(1, players // 2, dtype=np.int32)
    turning = np.stack([(number + k) % ring, (number + ring - k) % ring], axis=1)
    return np.concatenate([np.array([[ring, number]], np.int32), turning])


class PairSchedule:
    """A tournament of ranks: each pair occurs once, and no rank is in two pairs of a round. A round is between nodes or
    within them. N nodes of r ranks take p - 1 rounds for even r, p for odd r and even N, p + r if both are odd: then
    one rank has a bye in every round. Nodes of unequal size are padded with byes.
    """

    def __init__(self, node_of: Sequence[int] | NDArray[np.int32]) -> None:
        nodes = np.asarray(node_of, dtype=np.int32)
        sizes = np.bincount(nodes) if len(nodes) else np.zeros(0, np.int64)
        self.nodes, self.slots = len(sizes), int(sizes.max(initial=0))
        # with an odd number of nodes one would have a bye in each round: pair halves of nodes instead, whose number is
        # even, and omit the round in which the two halves of every node would meet
        self.halved = self.nodes > 1 and self.nodes % 2 == 1 and self.slots % 2 == 0
        self.width = self.slots // 2 if self.halved else self.slots
        self.camps = 2 * self.nodes if self.halved else self.nodes + self.nodes % 2
        self.between = (self.camps - (2 if self.halved else 1)) * self.width if self.nodes > 1 else 0
        self.within = self.slots + self.slots % 2 - 1 if self.slots > 1 else 0
        self.rounds = self.between + self.within  # those between nodes, then those within
        self._ranks = self._table(nodes, sizes)
        self._camps = self._camp_table()

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
        first = np.cumsum(sizes) - sizes
        table[nodes[order], np.arange(len(nodes)) - first[nodes[order]]] = order
        return table

    def _camp_table(self) -> Pairs:
        """Ranks of each camp (a node, or half of one) of the outer tournament, shape (camps, width)."""
        if not self.halved:
            return self._ranks[: max(self.camps, 1)]
        last = self.camps - 1  # round 0 pairs the last player with 0, and k with last - k: the halves of one node
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


Group = tuple[NDArray[np.int64], NDArray[np.int16]]
"""Indices of nodes with the same classes to all others; and the class of any of them with each node, shape (nodes,):
1 + hops, or 1 if the network is not known; -1 for none."""


class Classes:
    """Pairs of ranks by class: 0 on one node, else 1 + hops."""

    def __init__(self, node_of: NDArray[Any], network: Network | None = None, hosts: Ints | None = None) -> None:
        self._network, self._hosts = network, hosts
        self._order = np.argsort(node_of, kind="stable")
        self._size = np.bincount(node_of)
        self._first = np.cumsum(self._size) - self._size

    def draw(self, count: int, seed: int) -> dict[int, list[Pair]]:
        """Draw ``count`` pairs (low, high) of each class at random without repetition; all if a class has no more."""
        dice = np.random.default_rng([seed, 26])
        found: dict[int, list[Pair]] = {}
        near = self._size * (self._size - 1)
        if near.sum():
            found[SAME_NODE] = self._of_nodes(count, near, dice)
        weights = self._counted()
        for each in sorted({number for counted in weights for number in counted}):
            found[each] = self._between(each, [counted.get(each, 0) for counted in weights], count, dice)
        return found

    def _groups(self) -> Iterator[Group]:
        nodes = len(self._size)
        if self._network is None:
            yield np.arange(nodes), np.ones(nodes, np.int16)
            return
        for group in groups_alike(self._network, self._hosts):
            yield group.members, np.where(group.hops < 0, -1, group.hops + 1).astype(np.int16)

    def _counted(self) -> list[dict[int, int]]:
        """For each group, the number of ordered pairs of ranks that start at its members, by class."""
        found: list[dict[int, int]] = []
        for members, class_of in self._groups():
            known = class_of >= 0
            own, inner = self._size[members], class_of[members]
            begun = np.bincount(class_of[known], self._size[known]).astype(np.int64) * own.sum()
            for number in np.unique(inner[inner >= 0]).tolist():  # pairs within a node are of class 0
                begun[number] -= int((own[inner == number] ** 2).sum())
            found.append({int(number): int(begun[number]) for number in np.flatnonzero(begun)})
        return found

    def _of_nodes(self, count: int, near: NDArray[np.int64], dice: "np.random.Generator") -> list[Pair]:
        def draw_one() -> Pair:
            draw = int(dice.integers(int(ends[-1])))
            node = int(np.searchsorted(ends, draw, side="right"))
            one, other = (self._rank(node, at) for at in dice.choice(int(self._size[node]), 2, replace=False).tolist())
            return min(one, other), max(one, other)

        ends = np.cumsum(near)
        if ends[-1] // 2 > 2 * count:  # over half of the pairs are free, so few draws are repeats
            drawn: dict[Pair, None] = {}
            while len(drawn) < count:
                drawn[draw_one()] = None
            return list(drawn)
        sizes = enumerate(self._size.tolist())
        places = [(node, low, high) for node, size in sizes for high in range(size) for low in range(high)]
        return _some_of([(self._rank(node, low), self._rank(node, high)) for node, low, high in places], count, dice)

    def _between(self, number: int, weights: list[int], count: int, dice: "np.random.Generator") -> list[Pair]:
        ends = np.cumsum(np.array(weights, np.int64))
        if ends[-1] // 2 <= 2 * count:
            return _some_of(sorted(set(self._all_of(number))), count, dice)
        found: dict[Pair, None] = {}
        while len(found) < count:  # over half of the pairs are free, so one pass is nearly always enough
            drawn = np.bincount(np.searchsorted(ends, dice.integers(ends[-1], size=2 * count), side="right"))
            for group, times in zip(self._groups(), drawn.tolist(), strict=False):
                if times:
                    found |= dict.fromkeys(self._some_of_group(group, number, times, dice))
        return _some_of(sorted(found), count, dice)

    def _some_of_group(self, group: Group, number: int, times: int, dice: "np.random.Generator") -> list[Pair]:
        sides = group[0], np.flatnonzero(group[1] == number)
        ends = [np.cumsum(self._size[nodes]) for nodes in sides]
        found: list[Pair] = []
        while len(found) < times:
            nodes: list[Pair] = []
            for of, until in zip(sides, ends, strict=True):
                draw = int(dice.integers(int(until[-1])))
                place = int(np.searchsorted(until, draw, side="right"))
                nodes.append((int(of[place]), int(until[place]) - 1 - draw))
            if nodes[0][0] != nodes[1][0]:  # pairs within a node are of another class
                one, other = self._rank(*nodes[0]), self._rank(*nodes[1])
                found.append((min(one, other), max(one, other)))
        return found

    def _all_of(self, number: int) -> Iterator[Pair]:
        for members, class_of in self._groups():
            for source, target in product(members.tolist(), np.flatnonzero(class_of == number).tolist()):
                if source != target:
                    for low, high in np.ndindex(int(self._size[source]), int(self._size[target])):
                        one, other = self._rank(source, low), self._rank(target, high)
                        yield min(one, other), max(one, other)

    def _rank(self, node: int, place: int) -> int:
        return int(self._order[self._first[node] + place])


def _some_of(every: list[Pair], count: int, dice: "np.random.Generator") -> list[Pair]:
    return [every[i] for i in dice.permutation(len(every))[:count].tolist()]
