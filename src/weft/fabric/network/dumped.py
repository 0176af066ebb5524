# SPDX-License-Identifier: BSD-3-Clause
"""A network from a dump of a real fabric, with its forwarding tables, given by LID and port, by host and link."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from weft.errors import FabricError
from weft.fabric.network.graph import Addresses, Cables, Ints, Links, Network, Switch, islands, refuse_oversize
from weft.fabric.network.minimal import FAR, distances, minimal_tables, ports_by_switch
from weft.fabric.readers.dump import Box, Dump, End
from weft.fabric.readers.tables import NO_PORT, SwitchTable, Tables

MOST_LIDS = 0xC000  # end of the unicast LIDs
GUID = re.compile(r"[SH]-([0-9a-f]{1,16})", re.ASCII)
UNROUTED = "none"  # `Network.routing` of a network without routes


def network_of(
    dump: Dump, *, names: Mapping[str, str] | None = None, adapter_rate: float | None = None,
    link_rate: float | None = None, latency: float = 0.0, link_latency: float = 0.0, routed: bool = True,
) -> Network:  # fmt: skip
    """The network that a dump describes; if ``routed`` with its forwarding tables, or minimal routes if it has none.
    Adapters become hosts, in the order of leaves and ports. SHARP aggregation nodes and routers are omitted.
    FabricError for no host, two boxes of one name, or tables of another fabric. `adapter_rate`: bytes per second that
    an adapter reaches: limits the rate of its cable, or sets it if the dump has none. `link_rate`: the same of links
    between switches. `latency`, `link_latency`: seconds of each host link and of each link between switches.
    """
    cables, switches = cable_ends(dump), dump.of_kind("switch")
    hosts = _in_order(dump, cables, switches)
    refuse_oversize(len(hosts), len(switches), len(cables))
    title = {box.key: (names or {}).get(box.key, box.key) for box in (*hosts, *switches)}
    owner: dict[str, str] = {}
    for key, name in title.items():
        if owner.setdefault(name, key) != key:
            raise FabricError(f"{owner[name]} and {key} are both called {name!r}", "give each a name of its own")
    vertex = {key: i for i, key in enumerate(title)}
    made = Cables()
    for end, back in cables:
        if end.key in vertex and end.peer in vertex:
            ends, ports = (vertex[end.key], vertex[end.peer]), (end.port, end.peer_port)
            at_host = min(ends) < len(hosts)
            there, here = (_rate(e, at_host, adapter_rate, link_rate) for e in (end, back))
            made.add(*ends, there, latency if at_host else link_latency, back_rate=here, ports=ports)
    links = made.links()
    level = _levels(len(hosts), len(switches), links).tolist()
    named = tuple(Switch(title[box.key], number, box.label) for box, number in zip(switches, level, strict=True))
    none = np.broadcast_to(np.int32(-1), (len(switches), len(hosts)))  # no memory
    network = Network("dump", tuple(title[box.key] for box in hosts), named, links, none, routing=UNROUTED)
    network = replace(network, cables_known=dump.cables_known)
    network = replace(network, coordinates=_coordinates(network), addresses=_addresses(dump, network, hosts, switches))
    if not routed:
        return network
    if dump.tables is not None:
        forward, places = forward_of(network, dump.tables)
        refuse_foreign(network, places)
        return network.with_tables(forward, f"the tables of {Path(dump.tables.path).name}")
    forward = minimal_tables(len(network.hosts), len(network.switches), network.links)
    return network.with_tables(forward, "minimal, balanced by Weft; not the subnet manager's tables")


def _addresses(dump: Dump, network: Network, hosts: Sequence[Box], switches: Sequence[Box]) -> Addresses:
    """GUIDs, and the LIDs of the cables that the routes use; 0 if the dump does not contain them."""
    ports = np.append(network.links.source_port, 0)[network.uplink].tolist()  # -1: no cable
    ends = [(box.key, port) for box, port in zip(hosts, ports, strict=True)]
    lids = [dump.port_lids.get(end, box.lids[0] if box.lids else 0) for box, end in zip(hosts, ends, strict=True)]
    others = list(_others(dump, {box.key: i for i, box in enumerate(switches)}, set(ends)))
    guids = [int(found[1], 16) if (found := GUID.fullmatch(box.key)) else 0 for box in switches]
    return Addresses(
        switch_guids=np.array(guids, dtype=np.uint64),
        port_guids=np.array([dump.port_guids.get(end, 0) for end in ends], dtype=np.uint64),
        host_lids=np.array(lids, dtype=np.int32),
        switch_lids=np.array([box.lids[0] if box.lids else 0 for box in switches], dtype=np.int32),
        others=np.array([row for *row, _ in others], dtype=np.int32).reshape(-1, 3),
        other_guids=np.array([guid for *_, guid in others], dtype=np.uint64),
    )


def _others(dump: Dump, switch: Mapping[str, int], taken: set[tuple[str, int]]) -> Iterator[tuple[int, ...]]:
    """(LID, switch, port) and port GUID of all addresses other than those of hosts' own cables and switches."""
    for end in dump.ends:
        place, far = switch.get(end.key), (end.peer, end.peer_port)
        box = dump.boxes.get(end.peer)
        if place is None or box is None or end.peer in switch:
            continue
        lid = dump.port_lids.get(far, box.lids[0] if box.lids else 0)
        for more in range(1 if far in taken else 0, 1 << min(dump.lmc.get(end.peer, 0), 7)):
            if 0 < lid + more < MOST_LIDS:
                yield lid + more, place, end.port, dump.port_guids.get(far, 0) if more == 0 else 0


def cable_ends(dump: Dump) -> list[tuple[End, End]]:
    """Each cable once, as a pair of ends, in the order of the file; an end that no line reports is added. Left out, and
    reported by `weft.fabric.checks`: cables to their own port, to a box not described, or on a port that has a cable.
    """
    at: dict[tuple[str, int], End] = {}
    for end in dump.ends:
        at.setdefault((end.key, end.port), end)
    cables, taken = list[tuple[End, End]](), set[tuple[str, int]]()
    for here, end in at.items():
        there = (end.peer, end.peer_port)
        if here in taken or there in taken or here == there or end.peer not in dump.boxes:
            continue
        back = at.get(there)
        if back is not None and (back.peer, back.peer_port) != here:
            continue  # the far end reports another box on that port
        taken |= {here, there}
        cables.append((end, back or End(end.peer, end.peer_port, end.key, end.port, end.speed, end.rate, end.line)))
    return cables


def _rate(end: End, at_host: bool, adapter_rate: float | None, link_rate: float | None) -> float:
    assumed = adapter_rate if at_host else link_rate
    return end.rate if assumed is None else float(np.fmin(end.rate, assumed))


def _in_order(dump: Dump, cables: Iterable[tuple[End, End]], switches: Sequence[Box]) -> list[Box]:
    """Hosts sorted by their switch (in the order of the file) and its port, those without a cable last."""
    order = {box.key: i for i, box in enumerate(switches)}
    place: dict[str, tuple[int, int]] = {}
    for cable in cables:
        for end in cable:
            if end.key in order and dump.boxes[end.peer].kind == "host":
                here = (order[end.key], end.port)
                place[end.peer] = min(place.get(end.peer, here), here)
    hosts = dump.of_kind("host")
    if not hosts:
        beyond = len({end.peer for end in dump.ends} - set(dump.boxes))
        cut = f", and cables to {beyond} that it does not list: it is cut off" if beyond else ""
        what = f"{dump.path} has no host, only {len(switches)} switches{cut}"
        raise FabricError(what, "give a dump of a whole fabric")
    return sorted(hosts, key=lambda box: place.get(box.key, (len(order), 0)))


def _levels(hosts: int, switches: int, links: Links) -> Ints:
    """Level of each switch, shape (switches,): 1 with hosts on it, else 1 + its distance to such a switch in links."""
    bearing = np.unique(links.source[(links.source >= hosts) & (links.target < hosts)] - hosts)
    distance = distances(bearing, *ports_by_switch(hosts, switches, links))
    return np.where(distance < FAR, distance + 1, 1).astype(np.int32)


def _coordinates(network: Network) -> Mapping[str, Ints]:
    """Leaf of each host, and its pod if a third level of switches connects several pods."""
    count, level, found = len(network.switches), network.level, {"leaf": network.leaf}
    if level.max(initial=1) < 3:
        return found
    first, inside = len(network.hosts), network.switch_links
    a, b = network.links.source[inside] - first, network.links.target[inside] - first
    low = (level[a] < 3) & (level[b] < 3)
    part = islands(count, a[low], b[low])
    leaves = list(network.hosts_below)
    pods = np.unique(part[leaves])
    if 1 < len(pods) < len(leaves):
        number = np.full(count, -1)
        number[leaves] = np.searchsorted(pods, part[leaves])
        found["pod"] = np.where(network.leaf >= 0, number[network.leaf], -1).astype(np.int32)
    return found


PORTS = NO_PORT + 1
LIDS = 1 << 16
Places = Mapping[str, Sequence[str]]  # differences between tables and a network, by the finding that names them


def refuse_foreign(network: Network, places: Places) -> None:
    """FabricError if no table is of a switch of the network, by what `forward_of` found; names one of either."""
    if len(places["switch-without-table"]) == len(network.switches):
        raise FabricError(
            f"none of the tables is for a switch of this network: they begin with "
            f"{next(iter(places['table-of-other-switch']), 'nothing')}, the network with {network.switches[0].name}",
            "give network and tables of one fabric, dumped at the same time",
        )


def forward_of(network: Network, tables: Tables) -> tuple[Ints, Places]:
    """Link that a switch takes to a host, shape (switches, hosts), -1 for none; FabricError without GUIDs and LIDs."""
    addresses = network.addresses
    if addresses is None or not (addresses.host_lids > 0).any():
        what = "this network states no LIDs, so forwarding tables cannot be matched to it"
        raise FabricError(what, "import the output of ibnetdiscover or an opensm-subnet.lst, which state them")
    owner, foreign, repeated = _owners(addresses, tables)
    hosts, links, title = len(network.hosts), network.links, [switch.name for switch in network.switches]
    link_at = np.full((len(title), PORTS), -1, dtype=np.int32)  # out of each port of each switch
    out = np.flatnonzero((links.source >= hosts) & (links.source_port < NO_PORT))
    link_at[links.source[out] - hosts, links.source_port[out]] = out
    forward, known = np.full((len(title), hosts), -1, dtype=np.int32), np.zeros(hosts, dtype=bool)
    truncated, no_cable = list[str](), list[str]()
    for switch, table in owner.items():
        port = np.full(LIDS, NO_PORT, dtype=np.uint8)
        port[table.lids] = table.ports
        port[0] = NO_PORT  # LID 0 is never assigned
        row = port[addresses.host_lids]
        forward[switch] = link_at[switch, row]
        stated = row != NO_PORT
        known |= stated
        lost = np.bincount(row[stated & (forward[switch] < 0)], minlength=1)
        no_cable += [f"{title[switch]} port {at} ({lost[at]} entries)" for at in np.flatnonzero(lost)]
        # by the count in its last line if there is one, else by the last LID of its heading
        whole = table.promised >= 0
        missing = table.promised - len(table.lids) if whole else table.last - int(table.lids.max(initial=0))
        truncated += [f"{title[switch]} lacks {missing}"] if missing > 0 else []
    has_lid = addresses.host_lids > 0
    return forward, {
        "switch-without-table": [name for switch, name in enumerate(title) if switch not in owner],
        "table-of-other-switch": foreign,
        "table-twice": repeated,
        "entries-missing": truncated,
        "port-without-cable": no_cable,
        "host-without-lid": [network.hosts[host] for host in np.flatnonzero(~has_lid)],
        "host-in-no-table": [network.hosts[host] for host in np.flatnonzero(has_lid & ~known)],
    }


def _owners(addresses: Addresses, tables: Tables) -> tuple[dict[int, SwitchTable], list[str], list[str]]:
    """The table of each switch, by GUID or else by LID; headings of tables of unknown switches and of repeated ones."""
    by_guid = {int(guid): s for s, guid in enumerate(addresses.switch_guids.tolist()) if guid}
    by_lid = {int(lid): s for s, lid in enumerate(addresses.switch_lids.tolist()) if lid}
    owner, foreign, repeated = dict[int, SwitchTable](), list[str](), list[str]()
    for table in tables.switches:
        switch = by_guid.get(table.guid) if table.guid else by_lid.get(table.lid)
        title = f"line {table.line}: " + (f"guid 0x{table.guid:016x}" if table.guid else f"lid {table.lid}")
        if switch is None:
            foreign.append(title)
            continue
        if switch in owner:
            repeated.append(title)
        owner[switch] = table
    return owner, foreign, repeated
