# SPDX-License-Identifier: BSD-3-Clause
"""Exchange of a network with a subnet manager: ibsim's input, OpenSM's dumps, and tables that OpenSM loads."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weft.errors import FabricError
from weft.fabric.network.dumped import forward_of
from weft.fabric.network.graph import Addresses, Ints, Network
from weft.fabric.network.minimal import EqualCost, ports_by_switch
from weft.fabric.readers import Dump, Tables

MOST_PORTS = 254
MOST_LIDS = 0xBFFF
#: Artificial GUIDs, spaced so that ibsim's port GUIDs (the node's plus the port) are unique.
HOST_GUIDS, SWITCH_GUIDS, SPACING = 0x0010_0000_0000_0000, 0x0020_0000_0000_0000, 0x100


def ibsim_text(network: Network) -> str:
    """The network as an ibsim ``.net`` file, with artificial GUIDs; FabricError if InfiniBand cannot address it."""
    links, vertices = network.links, len(network.hosts) + len(network.switches)
    if vertices > MOST_LIDS:
        raise FabricError(f"{vertices:,} hosts and switches", f"a subnet has at most {MOST_LIDS:,} LIDs")
    ends: list[list[str]] = [[] for _ in range(vertices)]
    most = np.zeros(vertices, dtype=int)
    np.maximum.at(most, links.source, links.source_port)
    if most.max(initial=0) > MOST_PORTS:
        worst = int(most.argmax())
        what = f"{network.vertex_name(worst)} has {most[worst]} ports, and an InfiniBand box at most {MOST_PORTS}"
        raise FabricError(what, "describe directors as the switches inside them, as fabrics/yellowstone.toml does")
    columns = (links.source, links.source_port, links.target, links.target_port)
    for source, port, target, far_port in zip(*(column.tolist() for column in columns), strict=True):
        ends[int(source)].append(f'[{port}]\t"{_identity(network, target)}"[{far_port}]')
    return "\n".join(_boxes(network, most, ends))


def _boxes(network: Network, most: np.ndarray, ends: list[list[str]]) -> Iterator[str]:
    hosts = len(network.hosts)
    for vertex in (*range(hosts, len(ends)), *range(hosts)):
        if not ends[vertex]:
            continue
        kind, word = ("Switch", "switchguid") if vertex >= hosts else ("Ca", "caguid")
        yield f"{word}=0x{_guid(network, vertex):x}"
        yield f'{kind} {max(int(most[vertex]), 1)} "{_identity(network, vertex)}"'
        yield from ends[vertex]
        yield ""


def _guid(network: Network, vertex: int) -> int:
    hosts = len(network.hosts)
    return HOST_GUIDS + SPACING * vertex if vertex < hosts else SWITCH_GUIDS + SPACING * (vertex - hosts)


def _identity(network: Network, vertex: int) -> str:
    return f"{'H' if vertex < len(network.hosts) else 'S'}-{_guid(network, vertex):016x}"


def first_host(network: Network) -> str:
    """The ibsim id of a host on which the subnet manager can run. Raises FabricError: no host has a cable."""
    cabled = np.flatnonzero(network.uplink >= 0)
    if not cabled.size:
        raise FabricError("no host of this network has a cable", "let fewer links fail")
    return _identity(network, int(cabled[0]))


def routed_by(network: Network, subnet: Dump, tables: Tables, routing: str) -> Network:
    """The network with the tables that a subnet manager dumped under ibsim."""
    hosts = len(network.hosts)
    keys = [(_identity(network, host), port) for host, port in enumerate(_ports(network).tolist())]
    boxes = [subnet.boxes.get(_identity(network, hosts + s)) for s in range(len(network.switches))]
    addresses = replace(
        simulated_addresses(network),
        host_lids=np.array([subnet.port_lids.get(key, 0) for key in keys], dtype=np.int32),
        switch_lids=np.array([box.lids[0] if box and box.lids else 0 for box in boxes], dtype=np.int32),
    )
    forward, _ = forward_of(replace(network, addresses=addresses), tables)
    own = network.addresses is not None and (network.addresses.host_lids > 0).any()
    return (network if own else replace(network, addresses=addresses)).with_tables(forward, routing)


def simulated_addresses(network: Network) -> Addresses:
    """GUIDs as in `ibsim_text`, and LIDs in some order; the GUID of a port in ibsim is the node's plus the port."""
    hosts, count = len(network.hosts), len(network.switches)
    guid = np.array([_guid(network, vertex) for vertex in range(hosts + count)], dtype=np.uint64)
    lid = np.arange(1, hosts + count + 1, dtype=np.int32)
    return Addresses(guid[hosts:], guid[:hosts] + _ports(network).astype(np.uint64), lid[:hosts], lid[hosts:])


def _ports(network: Network) -> Ints:
    """The port number of each host's cable, shape (hosts,); 0 without a cable."""
    return np.append(network.links.source_port, np.int32(0))[network.uplink]


def require_addresses(network: Network) -> Addresses:
    """GUIDs and LIDs of a network. Raises FabricError: the network states none."""
    addresses = network.addresses
    if addresses is None or not (addresses.host_lids > 0).any() or not addresses.switch_guids.all():
        raise FabricError(
            "this network states no GUIDs and LIDs, so no subnet manager could load tables for it",
            "give a fabric imported from ibnetdiscover or opensm-subnet.lst, or add --engine to have OpenSM number it",
        )
    return addresses


def tables_text(network: Network) -> str:
    """The network's tables as ``opensm -R file -U FILE`` loads them, by port GUID if known, else by LID; FabricError if
    neither is. Routes to other addresses follow those to a host on the same switch, or are minimal if there is none.
    """
    addresses, towards = require_addresses(network), _towards_switches(network)
    ports = np.append(network.links.source_port, 0)
    lids = np.concatenate([addresses.host_lids, addresses.switch_lids, addresses.others[:, 0]])
    order, words = np.argsort(lids, kind="stable"), _destinations(addresses)
    other_switch, other_port = addresses.others[:, 1], addresses.others[:, 2]
    lines: list[str] = []
    for switch in range(len(network.switches)):
        link = np.concatenate([network.forward[switch], towards[switch], towards[switch][other_switch]])
        port = np.where(link >= 0, ports[link], -1)
        port[len(network.hosts) + switch] = 0
        port[len(network.hosts) + len(network.switches) :][other_switch == switch] = other_port[other_switch == switch]
        lid, guid = int(addresses.switch_lids[switch]), int(addresses.switch_guids[switch])
        lines.append(f"Unicast lids [0-{lids.max()}] of switch Lid {lid} guid 0x{guid:016x} ():")
        for at in order[(port >= 0)[order]]:
            if word := words[int(at)]:
                lines.append(f"{word[0]} {port[at]:03d} {word[1]}")
    return "\n".join(lines) + "\n"


def _destinations(addresses: Addresses) -> list[tuple[str, str] | None]:
    """LID and comment of each host, switch and other address; None without a LID."""
    found: list[tuple[str, str] | None] = []
    for kind, lids, guids in (
        ("Channel Adapter", addresses.host_lids, addresses.port_guids),
        ("Switch", addresses.switch_lids, addresses.switch_guids),
        ("Other", addresses.others[:, 0], addresses.other_guids),
    ):
        for lid, guid in zip(lids.tolist(), guids.tolist(), strict=True):
            known = f"# {kind} portguid 0x{guid:016x}: ''" if guid else "#"
            found.append((f"0x{lid:04x}", known) if lid else None)
    return found


def _towards_switches(network: Network) -> Ints:
    """Index of the link from each switch towards each other, shape (switches, switches); -1 without a path."""
    hosts, count = len(network.hosts), len(network.switches)
    found = np.full((count, count), -1, dtype=np.int32)
    out, peer = ports_by_switch(hosts, count, network.links)
    for end in range(count):
        if end in network.hosts_below:
            found[:, end] = network.forward[:, network.hosts_below[end][0]]
            found[end, end] = -1
            continue
        nearer = EqualCost(end, out, peer).nearer
        reached = nearer.any(axis=1)
        found[reached, end] = out[reached, nearer[reached].argmax(axis=1)]
    return found
