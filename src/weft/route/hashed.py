# SPDX-License-Identifier: BSD-3-Clause
"""An all-to-all over hashed paths: how full the fullest cable gets, over many seeds of the switches' hashes.

Every connection takes one of the shortest ways, drawn at each switch among its equal links (equal-cost multi-path). All
connections carry as much; the time is that of the fullest link, relative to the same traffic spread evenly.

Small fabrics are enumerated. Others are drawn: the connections from each switch towards a leaf are split by a
multinomial, so the loads of all links have their joint distribution. Where that is too much (over ``MOST_DRAWN``
numbers) each link is drawn by itself from the exact mean and variance of its load, with the skew of a sum of rare
events: links then share no connections, which matters less the more leaves there are.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import NormalDist

import numpy as np

from weft.errors import FabricError
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import EqualCost, equal_cost
from weft.route.hashed_phases import HashedPhases, hash_phases
from weft.route.library import Floats, Ints, Longs
from weft.route.routes import Routes, all_to_all

MOST_DRAWN = 20_000_000  # numbers, of some 100 ns each
MOST_ENUMERATED = 32  # connections
MOST_STATES = 60_000
MOST_CONNECTIONS = 1024
WELL_BELOW = 1.2  # slow-down that users put up with: the number of connections for it is looked for
EXACT, DRAWN, APART = "exact", "drawn", "drawn link by link"


@dataclass(frozen=True, eq=False)
class Slowdowns:
    """Times of the fullest link over seeds, relative to the same traffic spread evenly over all shortest ways."""

    connections: int  # of each pair of ranks
    method: str
    values: Floats  # ascending
    weights: Floats  # probability of each

    def quantile(self, share: float) -> float:
        """The value that a share of all seeds does not exceed."""
        at = int(np.searchsorted(np.cumsum(self.weights), share - 1e-12))
        return float(self.values[min(at, len(self.values) - 1)])

    def interval(self, share: float) -> tuple[float, float]:
        """95 % interval of that value, from order statistics of what was drawn; nothing but the value if exact."""
        if self.method == EXACT:
            return self.quantile(share), self.quantile(share)
        off = 1.96 * np.sqrt(share * (1 - share) / len(self.values))
        return self.quantile(max(0.0, share - off)), self.quantile(min(1.0, share + off))


@dataclass(frozen=True, eq=False)
class Hashed:
    """What hashed paths do to an all-to-all on a fabric, beside its static tables."""

    asked: Slowdowns
    enough: Slowdowns | None  # the fewest connections that keep 95 of 100 seeds below `WELL_BELOW`; None: over 1,024
    even: float  # time of the traffic spread evenly, over that of the hosts' own links
    tables: float  # slow-down of the fabric's static tables
    routing: str  # origin of these
    phases: HashedPhases  # the same connections one phase of a shift after the other


def hash_paths(routes: Routes, ranks: Ints | None, connections: int, seeds: int, seed: int = 1) -> Hashed:
    """Slow-down of an all-to-all of ranks (ranks,) by connections, and how many are enough; FabricError for none."""
    if connections < 1 or seeds < 1:
        raise FabricError(f"--connections {connections} --seeds {seeds}", "give at least 1 of each")
    traffic = Traffic.of(routes, ranks)
    asked = traffic.slowdowns(connections, seeds, seed)

    @cache
    def at(count: int) -> Slowdowns:
        return asked if count == connections else traffic.slowdowns(count, seeds, seed)

    def is_enough(count: int) -> bool:
        return at(count).quantile(0.95) < WELL_BELOW

    # the first power of two, then the first number above the power before it
    power = next((n for n in (1 << k for k in range(MOST_CONNECTIONS.bit_length())) if is_enough(n)), 0)
    enough = at(bisect_left(range(power), True, power // 2 + 1, key=is_enough)) if power else None
    loads = all_to_all(routes, ranks)
    tables = float((loads.load * routes.shared_slowness).max()) / traffic.even
    shifted = hash_phases(routes, ranks, connections, seeds, seed)
    return Hashed(asked, enough, traffic.even / traffic.injection, tables, routes.network.routing, shifted)


@dataclass(frozen=True, eq=False)
class Traffic:
    """An all-to-all of ranks on leaves, and what each connection of it costs every link."""

    network: Network
    weight: Longs  # ranks under each switch, shape (switches,)
    slowness: Floats  # time of one unit over each link between switches, shape (links,); 0 for hosts' links
    injection: float  # time of the slowest host's own link
    mean: Floats  # units over each link on average, shape (links,)
    square: Floats  # sum over pairs of ranks of the squared probability to cross each link, shape (links,)
    splits: int  # numbers to draw for one seed

    @classmethod
    def of(cls, routes: Routes, ranks: Ints | None) -> "Traffic":
        """The all-to-all of these ranks; FabricError if all are under one leaf, or a pair has no way."""
        network, members = routes.network, routes.members(ranks)
        own = np.bincount(members, minlength=len(network.hosts))
        hosts = np.flatnonzero(own)
        weight = np.zeros(len(network.switches), dtype=np.int64)
        np.add.at(weight, network.leaf[hosts], own[hosts])
        if np.count_nonzero(weight) < 2:
            raise FabricError("all ranks are under one leaf: no path is hashed", "name hosts of two leaves")
        cost = np.where(network.switch_links, routes.slowness, 0.0)
        sent = own[hosts] * (len(members) - own[hosts])
        injection = float((sent * routes.shared_slowness[network.uplink[hosts]]).max())
        return cls(network, weight, cost, injection, *_moments(network, weight))

    @property
    def pairs(self) -> int:
        """Pairs of ranks under two leaves."""
        return int(self.weight.sum() ** 2 - (self.weight**2).sum())

    @property
    def even(self) -> float:
        """Time of the traffic spread evenly."""
        return max(self.injection, float((self.mean * self.slowness).max()))

    def slowdowns(self, connections: int, seeds: int, seed: int) -> Slowdowns:
        """Times of the fullest link over the even time, for connections of each pair of ranks."""
        rng = np.random.default_rng(seed)
        weights = np.full(seeds, 1 / seeds)
        if (exact := self._enumerated(connections)) is not None:
            method, (times, weights) = EXACT, exact
        elif seeds * self.splits <= MOST_DRAWN:
            method, times = DRAWN, self._drawn(connections, seeds, rng)
        else:
            method, times = APART, self._apart(connections, seeds, rng)
        times = np.maximum(times, self.injection) / self.even
        order = np.argsort(times)
        return Slowdowns(connections, method, times[order], weights[order])

    def _towards(self) -> Iterator[EqualCost]:
        return (near for near in equal_cost(self.network) if self.weight[near.home])

    def _drawn(self, connections: int, seeds: int, rng: "np.random.Generator") -> Floats:
        hosts, target = len(self.network.hosts), self.network.links.target
        load = np.zeros((len(target), seeds), dtype=np.int64)
        for near in self._towards():
            at = np.repeat((self.weight * self.weight[near.home] * connections)[:, np.newaxis], seeds, axis=1)
            for ring in near.rings:
                for rows, links in near.ways(ring):
                    count = links.shape[1]
                    split = rng.multinomial(at[rows], np.full(count, 1 / count)).transpose(0, 2, 1)
                    load[links] += split
                    np.add.at(at, target[links] - hosts, split)
        return (load * self.slowness[:, np.newaxis]).max(axis=0) / connections

    def _apart(self, connections: int, seeds: int, rng: "np.random.Generator") -> Floats:
        unit = self.slowness / connections
        mean, spread = self.mean * self.slowness, np.sqrt((self.mean - self.square) * connections) * unit
        telling = mean + 8 * spread >= mean.max()
        scale = float(mean.max())
        columns: list[list[float]] = [np.round(each[telling] / scale, 9).tolist() for each in (mean, spread, unit)]
        kinds = Counter(zip(*columns, strict=True))
        normal, times = NormalDist().inv_cdf, np.zeros(seeds)
        for (middle, wide, step), count in kinds.items():
            largest = np.clip(rng.random(seeds) ** (1 / count), 1e-300, 1 - 2**-53)  # of so many that are alike
            score = np.array([normal(each) for each in largest.tolist()])
            skew = step / wide if wide else 0.0
            times = np.maximum(times, scale * (middle + wide * (score + skew * (score**2 - 1) / 6)))
        return times

    def _enumerated(self, connections: int) -> tuple[Floats, Floats] | None:
        """Every time that can come out and its probability; None if there are too many states of the links."""
        if self.pairs * connections > MOST_ENUMERATED:
            return None
        states: dict[tuple[int, ...], float] = {(0,) * len(self.slowness): 1.0}
        for near in self._towards():
            for leaf in np.flatnonzero(self.weight).tolist():
                ways = list(_ways(near, self.network, leaf)) if leaf != near.home else []
                for _ in range(int(self.weight[leaf] * self.weight[near.home]) * connections if ways else 0):
                    if len(states) * len(ways) > MOST_STATES:
                        return None
                    states = _with_one_more(states, ways)
        loads, chances = np.array(list(states)), np.array(list(states.values()))
        return (loads * self.slowness).max(axis=1) / connections, chances


def _ways(near: EqualCost, network: Network, at: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Each way from a switch to the leaf as links, with its probability."""
    if at == near.home:
        yield (), 1.0
        return
    links = near.out[at][near.nearer[at]].tolist()
    for link in links:
        for rest, chance in _ways(near, network, int(network.links.target[link]) - len(network.hosts)):
            yield (link, *rest), chance / len(links)


def _with_one_more(
    states: dict[tuple[int, ...], float], ways: list[tuple[tuple[int, ...], float]]
) -> dict[tuple[int, ...], float]:
    found = defaultdict[tuple[int, ...], float](float)
    for (state, before), (links, chance) in product(states.items(), ways):
        load = list(state)
        for link in links:
            load[link] += 1
        found[tuple(load)] += before * chance
    return found


def _moments(network: Network, weight: Longs) -> tuple[Floats, Floats, int]:
    """Mean units over each link, the sum over pairs of ranks of the squared probability to cross it, and `splits`."""
    mean, square, splits = np.zeros(len(network.links)), np.zeros(len(network.links)), 0
    peer = network.links.target - len(network.hosts)
    mark = np.random.default_rng(0).random(len(weight))
    for near in equal_cost(network):
        if not weight[near.home]:
            continue
        pairs = (weight * weight[near.home]).astype(np.float64)
        pairs[near.home] = 0
        _refuse_lost(network, near, pairs)
        sources = np.flatnonzero(pairs).astype(np.int32)
        # leaves that choose among the same switches are one kind: what follows is alike
        kinds = np.zeros(len(weight))
        for rows, links in near.ways(sources):
            kinds[rows] = np.round(mark[peer[links]].mean(axis=1), 12)
        _, one, kind = np.unique(kinds[sources], return_index=True, return_inverse=True)
        visit, several = np.zeros((len(one), len(weight))), np.bincount(kind.ravel(), weights=pairs[sources])
        visit[np.arange(len(one)), sources[one]] = 1
        _step(visit, near, sources[one], peer)
        visit[np.arange(len(one)), sources[one]] = 0  # what leaves a switch with ranks is counted for each by itself
        through, squared = pairs.copy(), pairs.copy()
        for ring in near.rings:
            here = visit[:, ring]
            if here.any():
                through[ring] += (several[:, np.newaxis] * here).sum(axis=0)
                squared[ring] += (several[:, np.newaxis] * here**2).sum(axis=0)
                _step(visit, near, ring, peer)
            for rows, links in near.ways(ring):
                splits += links.size
                mean[links] += through[rows, np.newaxis] / links.shape[1]
                square[links] += squared[rows, np.newaxis] / links.shape[1] ** 2
    return mean, square, splits


def _step(visit: Floats, near: EqualCost, switches: Ints, peer: Ints) -> None:
    """Add to the probabilities of visits, shape (kinds, switches), those of the switches that come after these."""
    for rows, links in near.ways(switches):
        kind, at = np.nonzero(visit[:, rows])  # most kinds pass few of the switches
        share = visit[kind, rows[at]] / links.shape[1]
        np.add.at(visit, (kind[:, np.newaxis], peer[links[at]]), share[:, np.newaxis])


def _refuse_lost(network: Network, near: EqualCost, pairs: Floats) -> None:
    reached = np.zeros(len(pairs), dtype=bool)
    reached[np.concatenate([*near.rings, [near.home]])] = True
    lost = np.flatnonzero((pairs > 0) & ~reached)
    if lost.size:
        start, end = (int(network.hosts_below[int(leaf)][0]) for leaf in (lost[0], near.home))
        raise network.no_route(start, end)
