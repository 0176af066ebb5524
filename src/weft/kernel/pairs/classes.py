# SPDX-License-Identifier: BSD-3-Clause
"""Hop classes of pairs of ranks, counted and sampled by groups of nodes: a matrix of all pairs would be too large."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.fabric.hops import groups_alike
from weft.fabric.network.graph import Ints, Network

SAME_NODE = 0
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Group:
    """Nodes with the same classes to all others."""

    members: NDArray[np.int64]  # indices of the nodes of the group
    # class of a member with each node, shape (nodes,): 1 + hops, or 1 if the network is not known; -1 for none
    class_of: NDArray[np.int16]


class Classes:
    """Pairs of ranks by class: 0 on one node, else 1 + hops."""

    def __init__(
        self, node_of: NDArray[np.integer[Any]], network: Network | None = None, hosts: Ints | None = None
    ) -> None:
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
            yield Group(np.arange(nodes), np.ones(nodes, np.int16))
            return
        for group in groups_alike(self._network, self._hosts):
            yield Group(group.members, np.where(group.hops < 0, -1, group.hops + 1).astype(np.int16))

    def _counted(self) -> list[dict[int, int]]:
        """For each group, the number of ordered pairs of ranks that start at its members, by class."""
        found: list[dict[int, int]] = []
        for group in self._groups():
            known = group.class_of >= 0
            ranks = np.bincount(group.class_of[known], self._size[known]).astype(np.int64)
            own = self._size[group.members]
            begun = ranks * own.sum()
            inner = group.class_of[group.members]
            for number in np.unique(inner[inner >= 0]).tolist():  # pairs within a node are of class 0
                begun[number] -= int((own[inner == number] ** 2).sum())
            found.append({int(number): int(begun[number]) for number in np.flatnonzero(begun)})
        return found

    def _of_nodes(self, count: int, near: NDArray[np.int64], dice: "np.random.Generator") -> list[Pair]:
        def one() -> Pair:
            draw = int(dice.integers(int(ends[-1])))
            node = int(np.searchsorted(ends, draw, side="right"))
            low, high = dice.choice(int(self._size[node]), 2, replace=False).tolist()
            return self._rank(node, low), self._rank(node, high)

        ends = np.cumsum(near)
        if ends[-1] // 2 > 2 * count:  # over half of the pairs are free, so few draws are repeats
            drawn: dict[Pair, None] = {}
            while len(drawn) < count:
                drawn[_ordered(*one())] = None
            return list(drawn)
        every = [
            (self._rank(node, low), self._rank(node, high))
            for node, size in enumerate(self._size.tolist())
            for high in range(size)
            for low in range(high)
        ]
        return _some_of(every, count, dice)

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
        """``times`` pairs that start at a member of the group, drawn independently."""
        targets = np.flatnonzero(group.class_of == number)
        ends = [np.cumsum(self._size[nodes]) for nodes in (group.members, targets)]
        found: list[Pair] = []
        while len(found) < times:
            nodes: list[Pair] = []
            for of, until in zip((group.members, targets), ends, strict=True):
                draw = int(dice.integers(int(until[-1])))
                place = int(np.searchsorted(until, draw, side="right"))
                nodes.append((int(of[place]), int(until[place]) - 1 - draw))
            if nodes[0][0] != nodes[1][0]:  # pairs within a node are of another class
                found.append(_ordered(self._rank(*nodes[0]), self._rank(*nodes[1])))
        return found

    def _all_of(self, number: int) -> Iterator[Pair]:
        for group in self._groups():
            targets = np.flatnonzero(group.class_of == number).tolist()
            for source, target in product(group.members.tolist(), targets):
                if source != target:
                    for one, other in np.ndindex(int(self._size[source]), int(self._size[target])):
                        yield _ordered(self._rank(source, one), self._rank(target, other))

    def _rank(self, node: int, place: int) -> int:
        return int(self._order[self._first[node] + place])


def _ordered(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


def _some_of(every: list[Pair], count: int, dice: "np.random.Generator") -> list[Pair]:
    """``count`` entries of a list at random, or all."""
    return [every[i] for i in dice.permutation(len(every))[:count].tolist()]
