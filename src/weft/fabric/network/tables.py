# SPDX-License-Identifier: BSD-3-Clause
"""Conversion of a dump's forwarding tables, by LID and port, to those of a network, by host and link."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Addresses, Ints, Network
from weft.fabric.readers.tables import NO_PORT, SwitchTable, Tables

PORTS = NO_PORT + 1
LIDS = 1 << 16


@dataclass(frozen=True, eq=False)
class TableReport:
    """Differences between tables and a network. Indices are those of the network's switches and hosts."""

    without_table: list[int]  # switches
    foreign: list[str]  # headings of tables of switches that the network does not have
    repeated: list[str]  # headings of further tables of the same switch; the last one counts
    truncated: list[tuple[int, int]]  # (switch, missing entries): fewer than the last line or the heading states
    no_cable: list[tuple[int, int, int]]  # (switch, port, entries) where entries lead to a port without a cable
    without_lid: list[int]  # hosts whose LID the dump does not state
    unknown_lids: list[int]  # hosts without an entry in any table

    def refuse_foreign(self, network: Network) -> None:
        """FabricError if no table is of a switch of the network; names one of either."""
        if len(self.without_table) == len(network.switches):
            raise FabricError(
                f"none of the tables is for a switch of this network: they begin with "
                f"{self.foreign[0] if self.foreign else 'nothing'}, the network with {network.switches[0].name}",
                "give network and tables of one fabric, dumped at the same time",
            )


def forward_of(network: Network, tables: Tables) -> tuple[Ints, TableReport]:
    """Link that a switch takes to a host, shape (switches, hosts), -1 for none; FabricError without GUIDs and LIDs."""
    addresses = network.addresses
    if addresses is None or not (addresses.host_lids > 0).any():
        what = "this network states no LIDs, so forwarding tables cannot be matched to it"
        raise FabricError(what, "import the output of ibnetdiscover or an opensm-subnet.lst, which state them")
    owner, foreign, repeated = _owners(addresses, tables)
    forward = np.full((len(network.switches), len(network.hosts)), -1, dtype=np.int32)
    link_at = _links_by_port(network)
    known = np.zeros(len(network.hosts), dtype=bool)
    no_cable: list[tuple[int, int, int]] = []
    for switch, table in owner.items():
        port = np.full(LIDS, NO_PORT, dtype=np.uint8)
        port[table.lids] = table.ports
        port[0] = NO_PORT  # LID 0 is never assigned
        row = port[addresses.host_lids]
        forward[switch] = link_at[switch, row]
        stated = row != NO_PORT
        known |= stated
        lost = np.bincount(row[stated & (forward[switch] < 0)], minlength=1)
        no_cable += [(switch, int(p), int(lost[p])) for p in np.flatnonzero(lost)]
    has_lid = addresses.host_lids > 0
    without_table = [s for s in range(len(network.switches)) if s not in owner]
    truncated = [(s, missing) for s, table in owner.items() if (missing := _missing(table)) > 0]
    hosts = (np.flatnonzero(~has_lid).tolist(), np.flatnonzero(has_lid & ~known).tolist())
    return forward, TableReport(without_table, foreign, repeated, truncated, no_cable, *hosts)


def _owners(addresses: Addresses, tables: Tables) -> tuple[dict[int, SwitchTable], list[str], list[str]]:
    """The table of each switch, by GUID or else by LID; headings of tables of unknown switches and of repeated ones."""
    by_guid = {int(guid): s for s, guid in enumerate(addresses.switch_guids.tolist()) if guid}
    by_lid = {int(lid): s for s, lid in enumerate(addresses.switch_lids.tolist()) if lid}
    owner: dict[int, SwitchTable] = {}
    foreign, repeated = list[str](), list[str]()
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


def _links_by_port(network: Network) -> NDArray[np.int32]:
    """Index of the link out of each port of each switch, shape (switches, 256); -1 without a cable."""
    hosts, links = len(network.hosts), network.links
    found = np.full((len(network.switches), PORTS), -1, dtype=np.int32)
    out = np.flatnonzero((links.source >= hosts) & (links.source_port < NO_PORT))
    found[links.source[out] - hosts, links.source_port[out]] = out
    return found


def _missing(table: SwitchTable) -> int:
    """Number of missing entries: by the count in its last line if there is one, else by the last LID of its heading."""
    if table.promised >= 0:
        return max(0, table.promised - len(table.lids))
    return max(0, table.last - int(table.lids.max(initial=0)))
