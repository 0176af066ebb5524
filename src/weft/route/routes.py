# SPDX-License-Identifier: BSD-3-Clause
"""A routed network in the library's form, and the routes between all of its leaves and hosts."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.graph import Network
from weft.route.library import Floats, Graph, Ints, Library, Paths, graph_columns, graph_of, pointer

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
        own = ~self.network.switch_links
        return np.where(own, np.minimum(self.slowness, 1.0), self.slowness)

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

    def members(self, hosts: Ints | None) -> Ints:
        """``hosts``, or all hosts with a cable, as indices (hosts,)."""
        if hosts is None:
            return np.flatnonzero(self.network.uplink >= 0).astype(np.int32)
        return np.ascontiguousarray(hosts, dtype=np.int32)
