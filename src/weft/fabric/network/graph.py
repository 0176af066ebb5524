# SPDX-License-Identifier: BSD-3-Clause
"""A network: switches, hosts and links, and the collecting of its cables while it is made."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
MOST_CABLES = 2_000_000
MOST_ENTRIES = 500_000_000  # in the forwarding tables: 2 GB


def refuse_oversize(hosts: int, switches: int, cables: int) -> None:
    """FabricError for a network that would not fit into memory, before it is built: a file may state any numbers."""
    if cables > MOST_CABLES or hosts * switches > MOST_ENTRIES:
        raise FabricError(
            f"the network has {hosts:,} hosts, {switches:,} switches and {cables:,} cables: too large "
            f"(at most {MOST_CABLES:,} cables, and {MOST_ENTRIES:,} hosts times switches)",
            "check [network] for a mistake, or describe a part of the machine",
        )


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch: its name, its level (1 = leaf, a switch with hosts) and its key in a dump."""

    name: str
    level: int
    label: str = ""


@dataclass(frozen=True, eq=False)
class Links:
    """Directed links as columns. Links ``2 c`` and ``2 c + 1`` are the two directions of cable ``c``. Vertices are
    numbered hosts first: host ``h`` is vertex ``h``, switch ``s`` is vertex ``len(hosts) + s``.
    """

    source: Ints  # vertex, shape (links,) as all of these
    target: Ints
    source_port: Ints  # counted from 1
    target_port: Ints
    rate: Floats  # bytes per second in the direction of the link; nan if it is not stated
    latency: Floats  # seconds that the link adds to a message

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, eq=False)
class Addresses:
    """Addresses of hosts and switches in an InfiniBand subnet, shape (hosts,) or (switches,); 0 where unknown."""

    switch_guids: NDArray[np.uint64]
    port_guids: NDArray[np.uint64]  # of each host's port
    host_lids: Ints  # of each host's cable
    switch_lids: Ints
    # LID, switch index and port on it, shape (others, 3), of second cables of hosts, further LIDs of a port,
    # aggregation nodes, routers; GUIDs of their ports, shape (others,)
    others: Ints = field(default_factory=lambda: np.empty((0, 3), dtype=np.int32))
    other_guids: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))


@dataclass(frozen=True, eq=False)
class Network:
    """Hosts, switches, links and destination-based routes."""

    topology: str  # its origin: ``star``, ``fat-tree``, ``dragonfly``, ``torus`` or ``dump``
    hosts: tuple[str, ...]  # names; a host's index is its position here
    switches: tuple[Switch, ...]  # a switch's index is its position here
    links: Links
    # index of the link that a switch takes towards a host, shape (switches, hosts); -1 for none. An InfiniBand subnet
    # has one linear forwarding table per switch, so real tables have the same form as computed ones.
    forward: Ints
    # columns of ``ranks.parquet``, shape (hosts,), from 0: ``leaf``, and by the topology ``pod``, ``group``, ``x`` ...
    coordinates: Mapping[str, Ints] = field(default_factory=dict[str, Ints])
    routing: str = "minimal"  # origin of ``forward``, in words
    # hops that the two host links add for a pair on different hosts: with 0 only switch-to-switch links count, with 2
    # every link of the route, as in the table of the Yellowstone study (where 0 means the same node)
    end_hops: int = 0
    # False if cables are not counted (Slurm's topologies), or a hash chooses among them: hops are valid, loads are not
    cables_known: bool = True
    addresses: Addresses | None = None  # GUIDs and LIDs if a dump states them

    def __getstate__(self) -> dict[str, object]:
        """Its fields alone, for `weft.latest`: what was computed from them meanwhile makes no other network of it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Host index by name."""
        return {name: i for i, name in enumerate(self.hosts)}

    @cached_property
    def uplink(self) -> Ints:
        """Link from each host's lowest cabled port to its switch, shape (hosts,); -1 for a host without a cable."""
        up = np.full(len(self.hosts), -1, dtype=np.int32)
        from_host = np.flatnonzero(self.links.source < len(self.hosts))
        order = from_host[np.argsort(self.links.source_port[from_host], kind="stable")[::-1]]
        up[self.links.source[order]] = order
        return up

    @cached_property
    def leaf(self) -> Ints:
        """Index of each host's switch, shape (hosts,); -1 for none (or for a cable from host to host)."""
        leaf = np.full(len(self.hosts), -1, dtype=np.int32)
        cabled = self.uplink >= 0
        leaf[cabled] = self.links.target[self.uplink[cabled]] - len(self.hosts)
        return np.maximum(leaf, -1)

    @cached_property
    def hosts_below(self) -> Mapping[int, NDArray[np.intp]]:
        """Hosts of each switch that has some, both ascending."""
        order = np.argsort(self.leaf, kind="stable")
        order = order[self.leaf[order] >= 0]
        leaves, first = np.unique(self.leaf[order], return_index=True)
        return dict(zip(leaves.tolist(), np.split(order, first)[1:], strict=True))

    @cached_property
    def level(self) -> Ints:
        """Level of each switch, shape (switches,); 1: leaves."""
        return np.array([switch.level for switch in self.switches], dtype=np.int32)

    @cached_property
    def switch_links(self) -> Bools:
        """True for each link between two switches, shape (links,)."""
        hosts = len(self.hosts)
        return (self.links.source >= hosts) & (self.links.target >= hosts)

    def host(self, name: str) -> int:
        """Index of a host; FabricError if the network has no such host."""
        if name not in self.index:
            listed = self.hosts if len(self.hosts) <= 4 else (self.hosts[0], f"{self.hosts[1]} ... {self.hosts[-1]}")
            what = f"the network has no host {name!r}: it has {len(self.hosts)}, {', '.join(listed)}"
            raise FabricError(what, "name one of them; weft fabric show FILE lists them")
        return self.index[name]

    def indices(self, names: tuple[str, ...] | list[str]) -> Ints:
        """Indices of several hosts, shape (names,)."""
        return np.array([self.host(name) for name in names], dtype=np.int32)

    def vertex_name(self, vertex: int) -> str:
        """Name of a host or switch by its vertex number."""
        hosts = len(self.hosts)
        return self.hosts[vertex] if vertex < hosts else self.switches[vertex - hosts].name

    def link_name(self, link: int) -> str:
        """Unique name of a directed link, ``leaf0:19->spine0:1`` (switch:port)."""
        links = self.links
        source, target = self.vertex_name(int(links.source[link])), self.vertex_name(int(links.target[link]))
        return f"{source}:{links.source_port[link]}->{target}:{links.target_port[link]}"

    def route(self, a: str | int, b: str | int) -> tuple[int, ...]:
        """Indices of the links from host ``a`` to ``b``, in order; FabricError without a route, or for a loop."""
        start = self.host(a) if isinstance(a, str) else a
        end = self.host(b) if isinstance(b, str) else b
        if start == end:
            return ()
        path = [int(self.uplink[start])]
        while len(path) <= len(self.switches) + 1 and path[-1] >= 0:
            vertex = int(self.links.target[path[-1]])
            if vertex == end:
                return tuple(path)
            path.append(int(self.forward[vertex - len(self.hosts), end]) if vertex >= len(self.hosts) else -1)
        raise self.no_route(start, end, circle=path[-1] >= 0)

    def no_route(self, start: int, end: int, *, circle: bool = False) -> FabricError:
        """The error for two hosts that cannot reach each other."""
        why = "the forwarding tables form a loop" if circle else "a link or a table entry is missing"
        what = f"no route from {self.hosts[start]} to {self.hosts[end]}: {why}"
        return FabricError(what, "weft fabric check FILE names what is not connected")

    def latency(self, a: str | int, b: str | int) -> float:
        """Sum of the latencies of the links on the route, in seconds."""
        return float(sum(self.links.latency[link] for link in self.route(a, b)))

    def with_tables(self, forward: Ints, routing: str) -> "Network":
        """The network with other forwarding tables, shape (switches, hosts); FabricError if they do not fit."""
        if forward.shape != self.forward.shape:
            raise FabricError(
                f"the forwarding tables are for {forward.shape[0]} switches and {forward.shape[1]} hosts, "
                f"this network has {self.forward.shape[0]} and {self.forward.shape[1]}",
                "take tables of the same fabric",
            )
        return replace(self, forward=forward.astype(np.int32, copy=False), routing=routing)


def directions(network: Network) -> NDArray[np.int8]:
    """Direction of each link (links,), no unit: 1 up to a higher level, -1 down, 0 else; hosts are level 0."""
    level = vertex_levels(network)
    return np.sign(level[network.links.target] - level[network.links.source]).astype(np.int8)


def vertex_levels(network: Network) -> Ints:
    """Level of each vertex, shape (hosts + switches,): 0 of hosts, 1 of leaves."""
    return np.concatenate([np.zeros(len(network.hosts), dtype=np.int32), network.level])


def islands(count: int, source: Ints, target: Ints) -> NDArray[np.intp]:
    """The smallest of the vertices that each of ``count`` is joined to, shape (count,), by links in both directions."""
    part = np.arange(count)
    while True:
        smaller = part.copy()
        np.minimum.at(smaller, target, part[source])
        if (smaller == part).all():
            return part
        part = smaller


@dataclass
class Cables:
    """Collects cables and turns them into `Links`; the two directions of a cable may have different rates."""

    rows: list[tuple[float, ...]] = field(default_factory=list[tuple[float, ...]])  # ends, ports, rates, latency
    _used: Counter[int] = field(default_factory=Counter[int])  # ports of each vertex, for generators

    def add(
        self, a: int, b: int, rate: float, latency: float = 0.0, *, back_rate: float | None = None,
        ports: tuple[int, int] | None = None,
    ) -> int:  # fmt: skip
        """Add a cable between two vertices, on ``ports`` or the next free ones; the index of the link ``a -> b``."""
        if ports is None:
            self._used.update((a, b))
            ports = (self._used[a], self._used[b])
        self.rows.append((a, b, *ports, rate, rate if back_rate is None else back_rate, latency))
        return 2 * len(self.rows) - 2

    def add_hosts(self, leaf_of: Ints, rate: float, latency: float) -> Ints:
        """Add a cable from each host to its switch, by its index, shape (hosts,); the links up, same shape."""
        up = [self.add(host, len(leaf_of) + leaf, rate, latency) for host, leaf in enumerate(leaf_of.tolist())]
        return np.array(up, dtype=np.int32)

    def links(self) -> Links:
        """The links of all cables added so far."""
        rows = np.array(self.rows, dtype=np.float64).reshape(-1, 7)
        ends, ports = rows[:, 0:2].astype(np.int32), rows[:, 2:4].astype(np.int32)
        both = (ends.ravel(), ends[:, ::-1].ravel(), ports.ravel(), ports[:, ::-1].ravel())
        return Links(*both, rows[:, 4:6].ravel(), np.repeat(rows[:, 6], 2))
