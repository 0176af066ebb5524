# SPDX-License-Identifier: BSD-3-Clause
"""A routed network in the library's form, its routes, and the load of every link under traffic patterns.

A unit is what one rank sends to one other; times are relative to one unit over the slowest host's own link.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Floats, Ints, Longs, Network
from weft.route.library import Graph, Library, Paths, graph_columns, graph_of, pointer

Ranks = Ints | None  # the host of each rank, shape (ranks,); None: one on each host with a cable
Amounts = Floats | None  # any unit, of links (links,) or between ranks (ranks, ranks); None: all alike
MOST_KEPT = 1 << 28  # bytes of links of routes; beyond, messages are followed through the tables
NO_ENTRY, CIRCLE, WRONG_HOST = -1, -2, -3


@dataclass(frozen=True, eq=False)
class Routes:
    """A network with its routes."""

    network: Network  # with forwarding tables
    library: Library
    threads: int = 0  # that it may use; 0: one for each core

    @cached_property
    def arrays(self) -> tuple[Ints, ...]:
        """Contiguous 32-bit indices of links, hosts and tables, kept alive for the library."""
        return graph_columns(self.network)

    @cached_property
    def graph(self) -> Graph:
        """The network in the library's form."""
        return graph_of(self.network, self.arrays, self.threads)

    @cached_property
    def unit_rate(self) -> float:
        """The rate of most hosts' own links, in bytes per second, of equals the higher; NaN if some rate is unknown."""
        rate, own = self.network.links.rate, self.network.uplink[self.network.uplink >= 0]
        if not np.isfinite(rate).all() or not own.size:
            return math.nan
        rates, counts = np.unique(rate[own], return_counts=True)
        return float(rates[counts == counts.max()][-1])

    @cached_property
    def slowness(self) -> Floats:
        """Time of one unit over each link (links,), relative to most hosts' own links; 1 if some rate is unknown."""
        rate = self.network.links.rate
        return np.ones(len(rate)) if math.isnan(self.unit_rate) else np.ascontiguousarray(self.unit_rate / rate)

    @cached_property
    def shared_slowness(self) -> Floats:
        """`slowness` without what hosts with slow links of their own do to themselves: theirs count as the usual."""
        return np.where(~self.network.switch_links, np.minimum(self.slowness, 1.0), self.slowness)

    @cached_property
    def leaves(self) -> Ints:
        """Indices of switches with hosts, shape (leaves,)."""
        return np.array(list(self.network.hosts_below), np.int32)

    @cached_property
    def row(self) -> Ints:
        """Index of each host's switch in `leaves`, shape (hosts,); -1 for none."""
        at = np.searchsorted(self.leaves, np.maximum(self.network.leaf, 0))
        return np.where(self.network.leaf >= 0, at, -1).astype(np.int32)

    @cached_property
    def lengths(self) -> NDArray[np.int8]:
        """Hops from each leaf to each host, shape (leaves, hosts); -1 no entry, -2 a loop, -3 another host."""
        found = np.empty((len(self.leaves), len(self.network.hosts)), dtype=np.int8)
        self.library.call("lengths", self.graph, self.leaves, len(self.leaves), found)
        return found

    def between(self, rows: NDArray[np.integer], hosts: NDArray[np.integer]) -> Ints:
        """Links of the routes from leaves (`row`) to hosts: (..., longest), padded with the number of links."""
        links, at, left = self.network.links, self.leaves[rows], self.lengths[rows, hosts]
        onward = np.append(links.target - np.int32(len(self.network.hosts)), np.int32(0))
        found = np.full((*left.shape, max(0, int(left.max(initial=0)))), len(links), dtype=np.int32)
        for hop in range(found.shape[-1]):
            found[..., hop] = np.where(hop < left, self.network.forward[at, hosts], len(links))
            at = np.where(hop < left, onward[found[..., hop]], at)
        return found

    @cached_property
    def kept(self) -> Ints | None:
        """Links of those routes for the library, (leaves, hosts, longest); None beyond `MOST_KEPT`."""
        depth = int(self.lengths.max(initial=0))
        if self.lengths.size * depth * 4 > MOST_KEPT:
            return None
        found = np.empty((*self.lengths.shape, depth), dtype=np.int32)
        self.library.call("paths", self.graph, self.leaves, len(self.leaves), depth, self.lengths, found)
        return found

    @cached_property
    def paths(self) -> Paths:
        """Those routes in the library's form."""
        return Paths(int(self.lengths.max(initial=0)), pointer(self.row), pointer(self.kept), pointer(self.lengths))

    def with_network(self, network: Network) -> "Routes":
        """The same library and threads on another network."""
        return Routes(network, self.library, self.threads)

    def members(self, hosts: Ranks) -> Ints:
        """``hosts``, or all hosts with a cable, as indices (hosts,)."""
        chosen = np.flatnonzero(self.network.uplink >= 0) if hosts is None else hosts
        return np.ascontiguousarray(chosen, dtype=np.int32)


Schedule = Literal["shift", "exchange"]
KINDS: dict[Schedule, int] = {"shift": 0, "exchange": 1}
# Messages of a schedule that are all followed, else about this many: of phases, or of splits, drawn at random
MOST_FOLLOWED, DRAWN, FEWEST, SEED = 1 << 26, 1 << 23, 100, 20080914


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads of one pattern."""

    load: Longs  # units over each link, shape (links,)
    lost: int  # units without a route


@dataclass(frozen=True, eq=False)
class Phases:
    """Loads of a schedule of phases."""

    time: Floats  # relative time of the slowest link in each phase, shape (phases,)
    link: Ints  # index of that link, shape (phases,); -1 for a phase without traffic
    load: Longs  # units over each link, summed over these phases, shape (links,)
    lost: int  # messages without a route
    of: int  # number of phases of the whole schedule

    @property
    def mean(self) -> float:
        """Mean relative time of a phase: time of the schedule over its time with all links as fast as the adapters."""
        return float(self.time.mean()) if len(self.time) else 0.0

    @property
    def half(self) -> float:
        """Half of the 95 % interval of `mean`: 0 where all phases are counted."""
        count = len(self.time)
        return 1.96 * float(self.time.std(ddof=1)) * ((1 - count / self.of) / count) ** 0.5 if self.drawn else 0.0

    @property
    def drawn(self) -> str:
        """The number of phases in words where not all are counted, else empty."""
        return f"{len(self.time):,} of {self.of:,} phases" if len(self.time) < self.of else ""


def all_to_all(routes: Routes, ranks: Ranks = None) -> Loads:
    """Loads when every rank (shape (ranks,), by its host) sends one unit to every rank on another host."""
    weight = np.bincount(routes.members(ranks), minlength=len(routes.network.hosts)).astype(np.int64)
    load = np.zeros(len(routes.network.links), dtype=np.int64)
    return Loads(load, int(routes.library.call("all_to_all", routes.graph, weight, load)))


def phases(routes: Routes, schedule: Schedule = "shift", ranks: Ranks = None, slowness: Amounts = None) -> Phases:
    """Loads of every phase of a schedule, or of some of over `MOST_FOLLOWED` messages, for hosts of ranks, (ranks,)."""
    host = routes.members(ranks)
    count = len(host) - 1 if schedule == "shift" else (1 << max(0, len(host) - 1).bit_length()) - 1
    number = np.arange(1, count + 1)
    drawn = max(FEWEST, DRAWN // max(1, len(host)))
    if len(host) * count > MOST_FOLLOWED and count > drawn:
        number = np.sort(np.random.default_rng(SEED).choice(number, drawn, replace=False))
    time, link = np.zeros(len(number)), np.full(len(number), -1, dtype=np.int32)
    load = np.zeros(len(routes.network.links), dtype=np.int64)
    slowness = routes.shared_slowness if slowness is None else slowness
    arguments = (KINDS[schedule], len(host), host, len(number), number, slowness, time, link, load)
    lost = int(routes.library.call("phases", routes.graph, routes.paths, *arguments))
    return Phases(time, link, load, lost, max(0, count))


def placed_matrix(routes: Routes, amounts: NDArray[np.floating], ranks: Ranks = None) -> Floats:
    """Load of each link, (links,), by amounts between ranks, (ranks, ranks), any unit; FabricError if none fits."""
    members = routes.members(ranks)
    if amounts.shape != (len(members), len(members)):
        what = f"a traffic matrix of {' x '.join(map(str, amounts.shape))} ranks for {len(members)} ranks"
        raise FabricError(what, "name as many hosts by --placement, times --ranks, as the matrix has rows")
    source, target = np.nonzero(amounts)
    return flow_loads(routes, members[source], members[target], amounts[source, target])


def flow_loads(routes: Routes, sources: Ints, targets: Ints, amounts: NDArray[np.floating] | None = None) -> Floats:
    """Load of each link, (links,), by messages between hosts, (messages,), of ``amounts``; FabricError for no route."""
    network = routes.network
    away = sources != targets
    source, target = sources[away], targets[away]
    weight = np.ones(len(source)) if amounts is None else np.asarray(amounts, dtype=np.float64)[away]
    row = routes.row[source]
    broken = (row < 0) | (routes.lengths[row, target] < 0)
    if broken.any():
        at = int(np.argmax(broken))
        raise network.no_route(int(source[at]), int(target[at]))
    between = routes.between(row, target)
    count = len(network.links)
    load = np.zeros(count + 1)  # the last one means "no link"
    np.add.at(load, routes.arrays[2][source], weight)
    np.add.at(load, routes.arrays[3][target], weight)
    np.add.at(load, between, weight[:, np.newaxis])
    return load[:count]
