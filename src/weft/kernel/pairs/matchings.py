# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of a check: matchings of nodes, each of one hop level, that load no link beyond its rate.

Whole units meet: every leaf exchanges with one other, node by node, so that routes by destination (d-mod-k) put the
same number of messages on each cable. Units meet by the circle method; which node meets which is a cyclic shift, drawn
by the seed. Where tables are known, the flattest of several draws is divided into rounds in which every message is as
fast as its node: on a fuller cable a message waits for that one, whatever slows it elsewhere by less.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from weft.fabric.loads import both_ways, loads_of, needed_shares
from weft.fabric.network.graph import Ints, Network
from weft.kernel.tournament import circle

Unit = list["Unit"] | tuple[int, ...]
"""A leaf's nodes, or the units of a pod or group: lists, since an array of few nodes takes longer to make."""
DRAWS, REDRAWS = 6, 12  # draws of a round, of which the flattest is taken; further ones where nodes meet again
VISITS = 4  # meetings of two units that one cable joins: what disturbs one round, such as a burst, is no slow cable
SPARSE = 16  # where loads are not known, one of so many nodes sends at a time
#: A round that aims at parts tries every meeting of units, up to so many; and what a message of a node that is aimed at
#: costs where it crosses a part that is aimed at too, in visits to a part.
AIMED, CROSSING = 64, 0.5
ROUNDING = 1e-9  # of sums of shares


@dataclass(frozen=True, eq=False)
class Round:
    """Pairs in which no rank is twice."""

    level: str  # ``leaf`` (partners on one leaf switch), ``pod`` (in one pod or group) or ``core``
    pairs: Ints  # node indices of the partners, shape (pairs, 2); nobody is in two pairs


def draw_matchings(
    leaf: Ints, pod: Ints | None, count: int, seed: int, network: Network | None = None, hosts: Ints | None = None,
    aim: Sequence[Ints] = (), apart: Collection[int] = (),
) -> list[Round]:  # fmt: skip
    """Draw the rounds of a check. `leaf`, `pod`: leaf switch and pod (or group) of each node, shape (nodes,); a leaf
    for each where unknown. `aim`: links of each part for every round to cross. `apart`: nodes that should not meet.
    """
    dice = np.random.default_rng([seed, 41])
    levels = _levels(leaf, pod)
    # rounds of each level in which all partners differ
    most = {name: max(_players(units) * max(map(_size, units)) for units in own) for name, own in levels}
    shares = _shares(most, count, aimed=bool(aim))
    met: set[int] = set()
    cables = _Visits(network, hosts, aim, nodes=len(leaf))
    few = np.array(sorted(apart), np.int32)
    visits = 1
    if network is not None:
        # cables that join leaf switches, as in a dragonfly, are crossed only when their two units meet
        leaves = np.unique(network.leaf) + len(network.hosts)
        joined = np.isin(network.links.source, leaves) & np.isin(network.links.target, leaves)
        visits = VISITS if joined.any() else 1
    found: list[Round] = []
    # rounds that aim: those within leaves come last, and have the nodes that the others left out
    for name, parents in reversed(levels) if aim else levels:
        # of each leaf's nodes, which meet different units in one round, so that all are met in so many
        smallest = min(_smallest(unit) for units in parents for unit in units)
        slices = max(1, min(-(-max(map(_players, parents)) // max(-(-shares[name] // visits), 1)), smallest))
        for numbers in _numbers(parents, shares[name], slices, dice):
            drawn = [_matching(parents, numbers, dice) for _ in range(DRAWS)]
            if aim or len(few) > 1:
                drawn += [_matching(parents, each, dice) for each in _meetings(parents, slices, dice)]
            for _ in range(REDRAWS):
                if any(not _repeats(pairs, met) for pairs in drawn):
                    break
                drawn.append(_matching(parents, numbers, dice))
            best = min(drawn, key=lambda pairs: cables.cost(pairs, few, _repeats(pairs, met)))
            met.update(_keys(best))
            cables.add(best)
            found += [Round(name, some) for some in _divide(best, network, hosts) if len(some)]
    return [found[place] for place in dice.permutation(len(found))]


def _divide(pairs: Ints, network: Network | None, hosts: Ints | None) -> list[Ints]:
    """Pairs in parts of about one size without an overloaded link, those on the fullest first; all without routes."""
    if network is None or hosts is None or not len(pairs):
        return [pairs]
    routes = both_ways(pairs, network, hosts)
    own = np.concatenate(np.split(routes, 2), axis=1)
    needed = np.concatenate(np.split(needed_shares(routes, network), 2), axis=1)
    load = np.bincount(own[own >= 0], needed[own >= 0], len(network.links) + 1)  # and none on padding
    part_of, sizes = np.zeros(len(pairs), np.int64), np.zeros(max(int(np.ceil(load.max() - ROUNDING)), 1))
    taken = np.zeros((len(sizes), len(load)))
    for pair in np.argsort(-load[own].max(axis=1), kind="stable"):
        links = own[pair]
        fits = np.flatnonzero((taken[:, links] + needed[pair] <= 1 + ROUNDING).all(axis=1))
        if not len(fits):
            fits, sizes = np.array([len(sizes)]), np.append(sizes, 0)
            taken = np.concatenate([taken, np.zeros((1, len(load)))])
        shared = taken[:, links].sum(axis=1)  # a link is full, or free
        part = fits[(sizes[fits] - len(pairs) * shared[fits]).argmin()]
        part_of[pair] = part
        taken[part, links] += needed[pair]
        sizes[part] += 1
    return [pairs[part_of == part] for part in range(len(sizes))]


def draw_alone(nodes: int, count: int, seed: int, apart: Collection[int] = ()) -> list[Round]:
    """Rounds where no topology is known: `SPARSE` of the nodes at a time, so that few messages share a cable."""
    whole = draw_matchings(np.arange(nodes, dtype=np.int32), None, count, seed, apart=apart)
    parts, dice = max(min(SPARSE, nodes // 16), 1), np.random.default_rng([seed, 43])
    found: list[Round] = []
    for pairs in (each.pairs for each in whole):
        # neighbours in the list have neighbours as partners, whose routes seldom meet; they are near or far together,
        # but for the node around which the circle turns
        odd = (pairs == nodes - 1).any(axis=1)
        others, place = pairs[~odd], int(dice.integers(max(len(pairs) - 1, 1)))
        mixed = np.concatenate([others[:place], pairs[odd], others[place:]])
        found += [Round("", some) for some in np.array_split(mixed, parts) if len(some)]
    return found


def _smallest(unit: Unit) -> int:
    return len(unit) if isinstance(unit, tuple) else min(map(_smallest, unit))


def _levels(leaf: Ints, pod: Ints | None) -> list[tuple[str, list[list[Unit]]]]:
    leaves: list[tuple[int, ...]] = [tuple(np.flatnonzero(leaf == number).tolist()) for number in np.unique(leaf)]
    alone: list[list[Unit]] = [[(node,) for node in own] for own in leaves]
    pods: list[list[Unit]] = [list[Unit](leaves)]
    if pod is not None:
        of_leaf = np.array([pod[own[0]] for own in leaves])
        pods = [[leaves[i] for i in np.flatnonzero(of_leaf == number)] for number in np.unique(of_leaf)]
    several = len(pods) > 1
    every = {"leaf": alone, "pod": pods if several else [], "core": [list[Unit](pods)] if several else pods}
    return [(name, parents) for name, parents in every.items() if any(len(own) > 1 for own in parents)]


def _shares(most: dict[str, int], count: int, *, aimed: bool) -> dict[str, int]:
    """Rounds of each level: an eighth within leaves, a quarter within pods, the rest, and what is over, beyond."""
    *_, last = most
    wanted = {"leaf": 1 if aimed else max(2, count // 8), "pod": count // 4} | {last: count}
    found: dict[str, int] = {}
    for name in most:  # nearest first
        found[name] = min(most[name], wanted[name], count - sum(found.values()))
    for name in reversed(most):
        found[name] += min(most[name] - found[name], count - sum(found.values()))
    found[last] += count - sum(found.values())  # all pairs are met: some meet again
    return found


def _players(units: list[Unit]) -> int:
    """Rounds of the circle method for some units; the halves of an odd number of units meet."""
    return len(units) - 1 if len(units) % 2 == 0 else 2 * len(units) - 2


def _size(unit: Unit) -> int:
    return len(unit) if isinstance(unit, tuple) else sum(map(_size, unit))


def _numbers(parents: list[list[Unit]], count: int, slices: int, dice: "np.random.Generator") -> list[list[int]]:
    """Rounds of the circle method for each slice of each round, all of them once before any again."""
    rounds = max(1, *map(_players, parents))
    found: list[int] = []
    while len(found) < count * slices:
        found += dice.permutation(rounds).tolist()
    return [found[place * slices : (place + 1) * slices] for place in range(count)]


def _meetings(parents: list[list[Unit]], slices: int, dice: "np.random.Generator") -> list[list[int]]:
    """Every round of the circle method with all slices alike, `AIMED` at most; and as many drawn."""
    alike = [[number] * slices for number in dice.permutation(max(1, *map(_players, parents))).tolist()[:AIMED]]
    return [*alike, *(_numbers(parents, len(alike), slices, dice) if slices > 1 else [])]


def _matching(parents: list[list[Unit]], numbers: list[int], dice: "np.random.Generator") -> Ints:
    """The pairs of one round, shape (pairs, 2): slice ``s`` of each leaf follows round ``numbers[s]`` of the circle. It
    meets the same slice elsewhere, so that d-mod-k routes stay even.
    """
    found: tuple[list[int], list[int]] = [], []
    for units in parents:
        if len(units) < 2:
            continue
        for place, number in enumerate(numbers):
            own = [_part(unit, place, len(numbers)) for unit in units] if len(numbers) > 1 else units
            camps, first = _camps(own)
            for one, other in _circle(len(camps), number % (len(camps) - 1 - first) + first):
                _meet(camps[one], camps[other], dice, found)
    return np.array(found, np.int32).T


@lru_cache(maxsize=1024)
def _circle(players: int, number: int) -> list[list[int]]:
    return circle(players, number).tolist()


def _camps(units: list[Unit]) -> tuple[list[Unit], int]:
    """Units that meet, an even number: those given, or halves; and the first round in which no two of one unit meet."""
    count = len(units)
    if count % 2 == 0:
        return units, 0
    if all(_size(unit) == 1 for unit in units):  # a node cannot be halved: one has a bye
        return [*units, _part(units[0], 1, 2)], 0
    halves = [(_part(unit, 0, 2), _part(unit, 1, 2)) for unit in units]
    last = 2 * count - 1
    return [halves[k][0] if k < count else halves[0 if k == last else last - k][1] for k in range(2 * count)], 1


def _part(unit: Unit, which: int, of: int) -> Unit:
    return unit[which::of] if isinstance(unit, tuple) else [_part(each, which, of) for each in unit]


def _meet(one: Unit, other: Unit, dice: "np.random.Generator", found: tuple[list[int], list[int]]) -> None:
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    shift = int(dice.integers(len(many))) if len(many) > 1 else 0
    if isinstance(few, tuple) and isinstance(many, tuple):
        found[0].extend(few)
        found[1].extend((many[shift:] + many[:shift])[: len(few)])
        return
    assert isinstance(few, list)
    assert isinstance(many, list)
    for place, each in enumerate(few):
        _meet(each, many[(place + shift) % len(many)], dice, found)


def _keys(pairs: Ints) -> list[int]:
    """A number for each pair, whichever of both is first."""
    low, high = np.sort(pairs, axis=1).astype(np.int64).T
    return (low << 32 | high).tolist()


def _repeats(pairs: Ints, met: set[int]) -> int:
    return sum(map(met.__contains__, _keys(pairs)))


class _Visits:
    """How often the rounds so far crossed each link."""

    def __init__(self, network: Network | None, hosts: Ints | None, aim: Sequence[Ints], nodes: int) -> None:
        self._network, self._hosts, self._aim = network, hosts, aim
        self._unmet = np.arange(nodes) if aim else np.empty(0, np.int64)
        self._seen = np.zeros(0 if network is None else len(network.links))

    def cost(self, pairs: Ints, few: Ints, repeats: int) -> tuple[float, ...]:
        """How little a round adds for parts to aim at, those crossed least first, and for the ``few`` nodes. Then nodes
        that no round that aims has yet; pairs that meet again; the mean load that limits; how little is new.
        """
        if not len(pairs):  # the halves of single nodes, some of them empty
            return (np.inf,)
        together = float(np.isin(pairs, few).all(axis=1).sum())  # pairs of two of the few
        if self._network is None or self._hosts is None:
            return together, 0.0, repeats, 0.0, 0.0
        routes = both_ways(pairs, self._network, self._hosts)
        load = np.bincount(routes[routes >= 0], minlength=len(self._seen))
        missed = -sum(min(load[links].sum(), 2) / (1 + self._seen[links].sum()) for links in self._aim)
        if self._aim and len(few):
            own = routes[np.isin(np.concatenate([pairs, pairs[:, ::-1]]), few).any(axis=1)]
            together += float(np.isin(own, np.concatenate(self._aim)).any(axis=1).sum())
        limiting = round(float(loads_of(routes, self._network).mean()), 2)
        fresh = -float((1 / (1 + self._seen[load > 0])).sum())
        unmet = float((~np.isin(self._unmet, pairs)).sum())
        return missed + CROSSING * together, unmet, repeats, limiting, fresh

    def add(self, pairs: Ints) -> None:
        """Count the links and nodes of a round."""
        self._unmet = self._unmet[~np.isin(self._unmet, pairs)]
        if self._network is not None and self._hosts is not None:
            routes = both_ways(pairs, self._network, self._hosts)
            self._seen += np.bincount(routes[routes >= 0], minlength=len(self._seen))
