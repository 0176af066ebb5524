# SPDX-License-Identifier: BSD-3-Clause
"""An all-to-all over hashed paths: how full the fullest cable gets, over many seeds of the switches' hashes.

Every connection takes one of the shortest ways, drawn at each switch among its equal links (equal-cost multi-path). All
connections carry as much; the time is that of the fullest link, relative to the same traffic spread evenly.

Small fabrics are enumerated. Others are drawn: the connections from each switch towards a leaf are split by a
multinomial, so the loads of all links have their joint distribution. Where that is too much (over ``MOST_DRAWN``
numbers) each link is drawn by itself from the exact mean and variance of its load, with the skew of a sum of rare
events: links then share no connections, which matters less the more leaves there are.

In the phases of a shift each rank sends to one other, so few connections share many cables: the time of a pairwise or
ring algorithm that waits in each phase, as the score ``shift`` of static tables, and in its unit: the time of the
fullest link over that of a host's own link. Each drawn phase has another seed; the mean over them is that of the whole
schedule.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Floats, Ints, Longs, Network
from weft.fabric.network.minimal import EqualCost, equal_cost
from weft.route.routes import Ranks, Routes, all_to_all, phases

MOST_DRAWN = 20_000_000  # numbers, of some 100 ns each
MOST_ENUMERATED = 32  # connections
MOST_STATES = 60_000
MOST_CONNECTIONS = 1024
WELL_BELOW = 1.2  # slow-down that users put up with: the number of connections for it is looked for
EXACT, DRAWN, APART = "exact", "drawn", "drawn link by link"
Whole = tuple[int, ...]  # links of a way, or loads of all links
AT_ONCE = 400_000  # connections of phases that are followed at a time
MOST_FOLLOWED = 2_000_000  # connections in all drawn phases, of some microseconds each
FEWEST = 20  # phases, where even those are more
MOST_RANKS = 4608  # for which the phases over static tables are computed too


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
class HashedPhases:
    """Times of phases over hashed paths, over that of a host's own link."""

    times: Floats  # of each drawn phase, ascending
    tables: float | None  # mean over all phases with the fabric's static tables; None for over `MOST_RANKS`

    @property
    def mean(self) -> tuple[float, float, float]:
        """The mean and its 95 % interval: that of the whole schedule."""
        mean, off = float(self.times.mean()), 1.96 * float(self.times.std()) / len(self.times) ** 0.5
        return mean, mean - off, mean + off

    def quantile(self, share: float) -> float:
        """The time that a share of the phases does not exceed."""
        return float(np.quantile(self.times, share, method="inverted_cdf"))


@dataclass(frozen=True, eq=False)
class Hashed:
    """What hashed paths do to an all-to-all on a fabric, beside its static tables."""

    asked: Slowdowns
    enough: Slowdowns | None  # the fewest connections that keep 95 of 100 seeds below `WELL_BELOW`; None: over 1,024
    even: float  # time of the traffic spread evenly, over that of the hosts' own links
    tables: float  # slow-down of the fabric's static tables
    routing: str  # origin of these
    phases: HashedPhases  # the same connections one phase of a shift after the other


def hash_paths(routes: Routes, ranks: Ranks, connections: int, seeds: int, seed: int = 1) -> Hashed:
    """Slow-down of an all-to-all of ranks (ranks,) by connections, and how many are enough; FabricError for none."""
    if connections < 1 or seeds < 1:
        raise FabricError(f"--connections {connections} --seeds {seeds}", "give at least 1 of each")
    traffic = Traffic(routes, ranks)

    @cache
    def at(count: int) -> Slowdowns:
        return traffic.slowdowns(count, seeds, seed)

    def is_enough(count: int) -> bool:
        return at(count).quantile(0.95) < WELL_BELOW

    # the first power of two, then the first number above the power before it
    power = next((n for n in (1 << k for k in range(MOST_CONNECTIONS.bit_length())) if is_enough(n)), 0)
    enough = at(bisect_left(range(power), True, power // 2 + 1, key=is_enough)) if power else None
    tables = float((all_to_all(routes, ranks).load * routes.shared_slowness).max()) / traffic.even
    shifted = hash_phases(routes, ranks, connections, seeds, seed)
    return Hashed(at(connections), enough, traffic.even / traffic.injection, tables, routes.network.routing, shifted)


class Traffic:
    """An all-to-all of ranks, and what each connection costs each link; FabricError: one leaf, or a pair has no way."""

    def __init__(self, routes: Routes, ranks: Ranks) -> None:
        self.network, members = routes.network, routes.members(ranks)
        own = np.bincount(members, minlength=len(self.network.hosts))
        hosts = np.flatnonzero(own)
        self.weight = np.zeros(len(self.network.switches), dtype=np.int64)  # ranks under each switch, shape (switches,)
        np.add.at(self.weight, self.network.leaf[hosts], own[hosts])
        if np.count_nonzero(self.weight) < 2:
            raise FabricError("all ranks are under one leaf: no path is hashed", "name hosts of two leaves")
        # time of one unit over each link between switches, shape (links,); 0 for hosts' links
        self.slowness = np.where(self.network.switch_links, routes.slowness, 0.0)
        sent = own[hosts] * (len(members) - own[hosts])  # and the time of the slowest host's own link
        self.injection = float((sent * routes.shared_slowness[self.network.uplink[hosts]]).max())
        self.mean, self.square, self.splits = _moments(self.network, self.weight)

    @property
    def even(self) -> float:
        """Time of the traffic spread evenly."""
        return max(self.injection, float((self.mean * self.slowness).max()))

    def slowdowns(self, connections: int, seeds: int, seed: int) -> Slowdowns:
        """Times of the fullest link over the even time, for connections of each pair of ranks."""
        rng, weights = np.random.default_rng(seed), np.full(seeds, 1 / seeds)
        if (exact := self._enumerated(connections)) is not None:
            method, (times, weights) = EXACT, exact
        elif seeds * self.splits <= MOST_DRAWN:
            method, times = DRAWN, self._drawn(connections, seeds, rng)
        else:
            method, times = APART, self._apart(connections, seeds, rng)
        times = np.maximum(times, self.injection) / self.even
        order = np.argsort(times)
        return Slowdowns(connections, method, times[order], weights[order])

    def _drawn(self, connections: int, seeds: int, rng: "np.random.Generator") -> Floats:
        hosts, target = len(self.network.hosts), self.network.links.target
        load = np.zeros((len(target), seeds), dtype=np.int64)
        for near in _towards(self.network, self.weight):
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
        pairs = int(self.weight.sum() ** 2 - (self.weight**2).sum())  # of ranks under two leaves
        if pairs * connections > MOST_ENUMERATED:
            return None
        states: dict[Whole, float] = {(0,) * len(self.slowness): 1.0}
        for near in _towards(self.network, self.weight):
            for leaf in np.flatnonzero(self.weight).tolist():
                ways = list(_ways(near, self.network, leaf)) if leaf != near.home else []
                for _ in range(int(self.weight[leaf] * self.weight[near.home]) * connections if ways else 0):
                    if len(states) * len(ways) > MOST_STATES:
                        return None
                    states = _with_one_more(states, ways)
        loads, chances = np.array(list(states)), np.array(list(states.values()))
        return (loads * self.slowness).max(axis=1) / connections, chances


def _towards(network: Network, weight: Longs) -> Iterator[EqualCost]:
    return (near for near in equal_cost(network) if weight[near.home])


def _ways(near: EqualCost, network: Network, at: int) -> Iterator[tuple[Whole, float]]:
    """Each way from a switch to the leaf as links, with its probability."""
    if at == near.home:
        yield (), 1.0
        return
    links = near.out[at][near.nearer[at]].tolist()
    for link in links:
        for rest, chance in _ways(near, network, int(network.links.target[link]) - len(network.hosts)):
            yield (link, *rest), chance / len(links)


def _with_one_more(states: dict[Whole, float], ways: list[tuple[Whole, float]]) -> dict[Whole, float]:
    found = defaultdict[Whole, float](float)
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
    for near in _towards(network, weight):
        pairs = (weight * weight[near.home]).astype(np.float64)
        pairs[near.home] = 0
        reached = np.zeros(len(weight), dtype=bool)
        reached[np.concatenate([*near.rings, [near.home]])] = True
        if (lost := np.flatnonzero((pairs > 0) & ~reached)).size:
            raise network.no_route(*(int(network.hosts_below[int(leaf)][0]) for leaf in (lost[0], near.home)))
        sources = np.flatnonzero(pairs).astype(np.int32)
        kinds = np.zeros(len(weight))  # leaves that choose among the same switches are one: what follows is alike
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


#: For each leaf switch that is a destination: its row, shape (switches,), -1 for others; how many links of each switch
#: lead nearer, shape (leaves, switches), and their columns, first, (leaves, switches, most); links, (switches, most).
Choices = tuple[Ints, NDArray[np.int16], NDArray[np.int16], Ints]


def hash_phases(routes: Routes, ranks: Ranks, connections: int, draws: int, seed: int = 1) -> HashedPhases:
    """Times of up to ``draws`` phases of a shift, each with a seed of its own; FabricError for below 1, or one rank."""
    members, network = routes.members(ranks), routes.network
    if connections < 1 or draws < 1 or len(members) < 2:
        raise FabricError(f"{len(members)} ranks, --connections {connections}, --seeds {draws}", "take more of them")
    each = len(members) * connections
    draws = min(draws, max(FEWEST, MOST_FOLLOWED // each))
    rng, choices = np.random.default_rng(seed), _choices(network)
    tables = phases(routes, "shift", ranks).mean if len(members) <= MOST_RANKS else None
    times = np.concatenate([
        _drawn(network, choices, members, connections, min(some, draws - first), rng, routes.shared_slowness)
        for some in [max(1, AT_ONCE // each)]
        for first in range(0, draws, some)
    ])  # fmt: skip
    return HashedPhases(np.sort(times), tables)


def _choices(network: Network) -> Choices:
    every, row = list(equal_cost(network)), np.full(len(network.switches), -1, dtype=np.int32)
    row[[near.home for near in every]] = np.arange(len(every))
    count = np.stack([near.nearer.sum(axis=1).astype(np.int16) for near in every])
    port = np.stack([np.argsort(~near.nearer, axis=1, kind="stable").astype(np.int16) for near in every])
    return row, count, port, every[0].out


def _drawn(
    network: Network, choices: Choices, members: Ints, connections: int, draws: int, rng: "np.random.Generator",
    slowness: Floats,
) -> Floats:  # fmt: skip
    """Times of some phases, each of a random distance, shape (draws,)."""
    ranks, links, hosts = len(members), len(network.links), len(network.hosts)
    row, nearer, port, out = choices
    distance = rng.integers(1, ranks, draws)
    source = np.tile(members, draws)
    target = members[(np.arange(ranks) + distance[:, np.newaxis]) % ranks].ravel()
    draw = np.repeat(np.arange(draws), ranks)
    away = source != target
    source, target, draw = (np.repeat(each[away], connections) for each in (source, target, draw))
    load = np.zeros(draws * links)
    np.add.at(load, draw * links + network.uplink[source], 1.0)
    np.add.at(load, draw * links + (network.uplink[target] ^ 1), 1.0)
    at, goal = network.leaf[source], network.leaf[target]
    while (going := np.flatnonzero(at != goal)).size:
        here, leaf = at[going], row[goal[going]]
        several = nearer[leaf, here]
        if not several.all():
            lost = going[int(np.argmin(several))]
            raise network.no_route(int(source[lost]), int(target[lost]))
        chosen = out[here, port[leaf, here, (rng.random(len(going)) * several).astype(np.intp)]]
        load += np.bincount(draw[going] * links + chosen, minlength=len(load))
        at[going] = network.links.target[chosen] - hosts
    return (load.reshape(draws, links) * slowness).max(axis=1) / connections
