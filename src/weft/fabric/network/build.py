# SPDX-License-Identifier: BSD-3-Clause
"""Building the network of a fabric file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weft.errors import FabricError
from weft.fabric.kinds import KINDS
from weft.fabric.network.direct import dragonfly, torus
from weft.fabric.network.dumped import network_of
from weft.fabric.network.graph import Cables, Network, Switch
from weft.fabric.network.minimal import has_several_ways
from weft.fabric.network.sections import DumpSection, NetworkSection
from weft.fabric.network.tree import fat_tree, fold_parallel, sideways
from weft.fabric.readers import Dump, read_dump, read_names, read_tables
from weft.latest import Latest

if TYPE_CHECKING:
    from weft.fabric.model import Fabric


def build_network(fabric: "Fabric", *, routed: bool = True) -> Network:
    """The network of a fabric; FabricError for numbers that describe none, or a dump that is bad or lacks a node.

    Each host link has half of ``network.latency``, so two nodes on one switch are ``latency`` apart. Rates that the
    file does not state are nan. Without ``routed`` a dump without tables gets no routes, which may take minutes.
    """
    if fabric.network is None:
        return star(fabric.hosts or ("localhost",), rate=float("nan"))
    return make_network(fabric.network, fabric.hosts, fabric.path.parent, routed=routed)


def build_followed(fabric: "Fabric") -> Network:
    """The network as its messages see it, the last one kept: its cables are unknown where a hash chooses among ways."""
    section = fabric.network
    if section is None or section.dump is not None:  # a dump may have changed
        return _followed(fabric)
    return _LAST.get((section, fabric.hosts, fabric.kind), lambda: _followed(fabric))


_LAST = Latest[Network]()


def _followed(fabric: "Fabric") -> Network:
    network = build_network(fabric)
    routing = fabric.network.routing if fabric.network else ""
    if routing == "ecmp":
        return replace(network, cables_known=False) if has_several_ways(network) else network
    folds = KINDS[fabric.kind].folds and routing != "tables" and sideways(network) is None
    return fold_parallel(network) if folds else network


def make_network(section: NetworkSection, hosts: Sequence[str], folder: Path, *, routed: bool = True) -> Network:
    """The network of a section, with ``hosts`` in this order; file names are relative to ``folder``."""
    rate = section.node_rate or float("nan")
    latency = (section.latency or 0.0) / 2
    if section.tree is not None:
        network = fat_tree(hosts, section.tree, rate=rate, latency=latency)
    elif section.dragonfly is not None:
        network = dragonfly(hosts, section.dragonfly, rate=rate, latency=latency)
    elif section.torus is not None:
        network = torus(hosts, section.torus, rate=rate, latency=latency)
    elif section.dump is not None:
        network = _from_dump(section, section.dump, hosts, folder, routed=routed)
    else:
        network = star(hosts, rate=rate, latency=latency)
    network = with_rates(network, section.rates)
    return replace(network, end_hops=2 if section.hop_count == "links" else 0)


def with_rates(network: Network, rates: Mapping[str, float]) -> Network:
    """The network with other rates (B/s) of links by their ends, ``a - b``, or ``a -> b`` one way; FabricError."""
    if not rates:
        return network
    links, vertices = network.links, range(len(network.hosts) + len(network.switches))
    index = {network.vertex_name(vertex): vertex for vertex in vertices}
    changed = links.rate.copy()
    for ends, rate in rates.items():
        one_way = " -> " in ends
        source, _, target = ends.partition(" -> " if one_way else " - ")
        a, b = index.get(source.strip(), -1), index.get(target.strip(), -1)
        found = (links.source == a) & (links.target == b)
        if not one_way:
            found |= (links.source == b) & (links.target == a)
        if not found.any():
            raise FabricError(
                f'network.rates names "{ends}", and no link joins the two',
                "write A - B for both directions, A -> B for one; with this line taken out, weft fabric show FILE "
                "lists the names",
            )
        changed[found] = rate
    return replace(network, links=replace(links, rate=changed))


def read_section_dump(section: DumpSection, folder: Path) -> Dump:
    """Read the dump that a section names, with its forwarding tables."""
    dump = read_dump(folder / section.file, section.format)
    return dump if section.tables is None else replace(dump, tables=read_tables(folder / section.tables))


def _from_dump(
    section: NetworkSection, dump: DumpSection, hosts: Sequence[str], folder: Path, *, routed: bool
) -> Network:
    read = read_section_dump(dump, folder)
    network = network_of(
        read,
        names=read_names(folder / dump.names) if dump.names else None,
        adapter_rate=section.adapter_rate,
        link_rate=dump.link_rate,
        latency=(section.latency or 0.0) / 2,
        link_latency=dump.link_latency,
        routed=routed or read.tables is not None,
    )
    if foreign := [name for name in hosts if name not in network.index]:
        raise FabricError(
            f"node.names has {len(foreign)} nodes that are not in {dump.file}, the first is {foreign[0]!r}",
            "weft fabric import DUMP writes the names that the dump has; or name its adapters with network.dump.names",
        )
    return network


def star(hosts: Sequence[str], *, rate: float, latency: float = 0.0) -> Network:
    """All hosts on one switch, each by a link of ``rate`` bytes/s each way and ``latency`` s: a message crosses two."""
    cables, leaf = Cables(), np.zeros(len(hosts), dtype=np.int32)
    forward = (cables.add_hosts(leaf, rate, latency) + 1)[np.newaxis, :]
    switches, routing = (Switch("switch", 1),), "one switch, one route"
    return Network("star", tuple(hosts), switches, cables.links(), forward, {"leaf": leaf}, routing)
