# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding tables of every form, and how they are put onto a network by GUID and LID."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weft.errors import FabricError
from weft.fabric.checks import check_dump
from weft.fabric.network.dumped import network_of
from weft.fabric.network.graph import Network
from weft.fabric.readers import Dump, Lines, read_dump, read_tables
from weft.fabric.readers.ibnetdiscover import read_ibnetdiscover
from weft.fabric.readers.tables import Tables, tables_of
from weft.route.subnet import tables_text

DATA = Path(__file__).parents[3] / "data" / "networks"
LFTS = (DATA / "small-lfts.dump").read_text()


def small(tables: str | bytes | None = None) -> Dump:
    """The fabric of two leaves as OpenSM lists it, with tables."""
    dump = read_dump(DATA / "small-subnet.lst")
    if tables is None:
        return dump
    text = tables.encode() if isinstance(tables, str) else tables
    return replace(dump, tables=tables_of("tables", text))


def ports(tables: Tables) -> list[tuple[int, list[tuple[int, int]]]]:
    return [(t.guid, list(zip(t.lids.tolist(), t.ports.tolist(), strict=True))) for t in tables.switches]


def as_ibroute(text: str) -> str:
    """OpenSM's dump as ibroute words it."""
    text = text.replace(" # ", " : (").replace("Unicast lids [0-7]", "Unicast lids [0x0-0x7]")
    text = text.replace("'\n", "')\n").replace("('leaf", "(leaf").replace("'):)", "):")
    return text.replace("guid 0x0000000000200000", "guid 0x200000").replace(" lids dumped", " valid lids dumped")


def as_direct_routed(text: str) -> str:
    return text.replace("switch Lid 2 guid", "switch DR path slid 0; dlid 0; 0,1,19,32 guid")


def told(dump: Dump) -> str:
    return "\n".join(f"{f.severity} {f.what}" for f in check_dump(dump))


def test_every_form_of_one_table_reads_the_same() -> None:
    want = ports(read_tables(DATA / "small-lfts.dump"))
    assert want[0] == (0x200000, [(1, 1), (2, 0), (3, 7), (4, 7), (5, 2), (6, 7), (7, 8)])
    assert ports(read_tables(DATA / "small.fdbs")) == want
    assert ports(tables_of("x", as_ibroute(LFTS).encode())) == want
    assert ports(tables_of("x", as_direct_routed(LFTS).encode())) == want
    decimal = LFTS.replace("0x000", "    ").replace("0x0000", "0x0000")
    assert [p for _, p in ports(tables_of("x", decimal.encode()))] == [p for _, p in want]
    assert ports(tables_of("x", LFTS.replace("\n", "\r\n").encode())) == want


@pytest.mark.parametrize("line", ["0x{:04x} {:03d} : (Switch)", "0x{:04X} {:03d}", "0x{:04x} : {:03d}  : 01   : yes"])
def test_every_lid_and_port_reads_back(line: str) -> None:
    lids = range(1, 1 << 16)
    text = "Unicast lids [0x0-0xffff] of switch Lid 2 guid 0x1:\n"
    text += "\n".join(line.format(lid, (7 * lid) % 256) for lid in lids)
    ((_, entries),) = ports(tables_of("x", text.encode()))
    assert entries == [(lid, (7 * lid) % 256) for lid in lids]


@pytest.mark.parametrize(
    "line", ["0x00g1 001", "0x0001 256 :", "0x0001 0a1", "0y0001 001", "0x0001-001", "0x\x100\x1001 001", "0x0001 0011"]
)
def test_what_is_no_entry_is_not_taken_for_one(line: str) -> None:
    text = f"Unicast lids [0x0-0xffff] of switch Lid 2 guid 0x1:\n{line}\n0x0003 004\n"
    read = tables_of("x", text.encode())
    entries = [entry for entry in ports(read)[0][1] if entry[1] != 255]
    assert entries == [(3, 4)]


def test_a_file_longer_than_a_block_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import weft.fabric.readers.tables as module

    want = ports(read_tables(DATA / "small-lfts.dump"))
    for block in (1, 7, 64, 1000):
        monkeypatch.setattr(module, "BLOCK", block)
        assert ports(read_tables(DATA / "small-lfts.dump")) == want


def routes(network: Network) -> list[list[str]]:
    hosts = range(len(network.hosts))
    return [[network.link_name(link) for a in hosts for link in network.route(a, b)] for b in hosts]


def test_a_network_is_routed_by_its_tables() -> None:
    network = network_of(small(LFTS))
    assert network.routing == "the tables of tables"
    host = {lid: h for h, lid in enumerate(network.addresses.host_lids.tolist())}  # type: ignore[union-attr]
    towards = [network.link_name(network.route(host[1], host[lid])[1]) for lid in (6, 7)]
    assert [name.split(":")[1].split("->")[0] for name in towards] == ["7", "8"]
    turned = LFTS.replace("0x0006 007", "0x0006 008", 1)
    network = network_of(small(turned))
    assert ":8->" in network.link_name(network.route(host[1], host[6])[1])


def test_a_table_is_found_by_lid_where_its_heading_has_no_guid() -> None:
    text = LFTS.replace("guid 0x0000000000200001 ", "")
    assert routes(network_of(small(text))) == routes(network_of(small(LFTS)))


def test_boxes_with_one_description_keep_their_own_tables() -> None:
    text = LFTS.replace("leaf1", "leaf0").replace("spine0", "leaf0")
    dump = read_dump_text((DATA / "small-subnet.lst").read_text().replace("leaf1", "leaf0").replace("spine0", "leaf0"))
    assert routes(network_of(replace(dump, tables=tables_of("t", text.encode())))) == routes(network_of(small(LFTS)))


def read_dump_text(text: str) -> Dump:
    from weft.fabric.readers.ibdiagnet import read_subnet_list

    return read_subnet_list(Lines.of("dump", text))


def test_truncated_tables_are_reported_and_the_rest_is_used() -> None:
    lines = LFTS.splitlines(keepends=True)
    cut = "".join(lines[:12])  # in the middle of the second switch
    dump = small(cut)
    assert "1 switch without a table: S-0000000000200002" in told(dump)
    assert "1 table with entries missing: S-0000000000200001 lacks" in told(dump)
    network = network_of(dump)
    assert (network.forward >= 0).any()
    assert (network.forward < 0).any()


def test_an_entry_to_a_port_without_a_cable_is_an_error_and_no_link() -> None:
    dump = small(LFTS.replace("0x0006 007", "0x0006 005", 1))
    assert "error 1 port without a cable that routes lead to: S-0000000000200000 port 5 (1 entries)" in told(dump)
    assert (network_of(dump).forward < 0).sum() == 1


def test_lid_gaps_foreign_switches_and_odd_lines_are_reported() -> None:
    text = (
        LFTS.replace("0x0006 0", "0x0106 0") + "Unicast lids [0-7] of switch Lid 9 guid 0x9:\n0x0001 001 #\n nonsense\n"
    )
    said = told(small(text))
    assert "error 1 host that are in no table: H-0000000000100004" in said
    assert "1 table for switches not in the network: line 28: guid 0x0000000000000009" in said
    assert "1 line of the tables cannot be interpreted: line 30: nonsense" in said
    assert told(small(LFTS)) == ""


def test_tables_of_another_fabric_are_refused() -> None:
    with pytest.raises(FabricError, match="none of the tables is for a switch of this network"):
        network_of(small(LFTS.replace("guid 0x00000000002", "guid 0x00000000003")))


def test_a_network_without_lids_takes_no_tables() -> None:
    dump = replace(read_dump(DATA / "small.net"), tables=tables_of("t", LFTS.encode()))
    with pytest.raises(FabricError, match="states no LIDs"):
        network_of(dump)


@pytest.mark.parametrize("text", ["", "\n\n", "0x0001 001 :\n", "hello\n"])
def test_a_file_without_tables_is_refused(text: str) -> None:
    with pytest.raises(FabricError, match=r"no forwarding table|before any heading"):
        tables_of("x", text.encode())


def test_a_host_on_two_cables_is_met_at_the_lid_of_the_one_its_routes_use() -> None:
    text = (
        'Switch 4 "S-00000000000000aa" # "sw" base port 0 lid 1 lmc 0\n'
        '[1] "H-00000000000000bb"[2] # "h" lid 12 4xQDR\n[2] "H-00000000000000bb"[1] # "h" lid 11 4xQDR\n'
        '[3] "H-00000000000000cc"[1] # "h" lid 13 4xQDR\n\n'
        'Ca 2 "H-00000000000000bb" # "h"\n'
        '[2](bd) "S-00000000000000aa"[1] # lid 12 lmc 2 "sw" lid 1 4xQDR\n'
        '[1](bc) "S-00000000000000aa"[2] # lid 11 lmc 2 "sw" lid 1 4xQDR\n\n'
        'Ca 1 "H-00000000000000cc" # "h"\n[1](cd) "S-00000000000000aa"[3] # lid 13 lmc 0 "sw" lid 1 4xQDR\n'
    )
    dump = read_ibnetdiscover(Lines.of("x", text))
    table = b"Unicast lids [0-13] of switch Lid 1:\n0x000b 002\n0x000c 001\n0x000d 003\n"
    dump = replace(dump, tables=tables_of("t", table))
    network = network_of(dump)
    assert np.sort(network.addresses.host_lids).tolist() == [11, 13]  # type: ignore[union-attr]
    assert len(network.route("H-00000000000000cc", "H-00000000000000bb")) == 2
    assert "1 device has several LIDs a port (LMC): H-00000000000000bb: LMC 2" in told(dump)


def test_tables_are_written_for_all_that_is_addressed() -> None:
    """Aggregation nodes, second cables and further LIDs (LMC) take part in no score, and must not lose their routes."""
    text = (
        'Switch 6 "S-00000000000000aa" # "s" base port 0 lid 1 lmc 0\n'
        '[1] "H-00000000000000bb"[1] # "h" lid 12 4xQDR\n[2] "H-00000000000000bb"[2] # "h" lid 20 4xQDR\n'
        '[3] "H-00000000000000cc"[1] # "h" lid 16 4xQDR\n[4] "H-00000000000000dd"[1] # "x" lid 30 4xQDR\n'
        '[5] "S-00000000000000ab"[1] # "s" lid 2 4xQDR\n\n'
        'Switch 6 "S-00000000000000ab" # "t" base port 0 lid 2 lmc 0\n[1] "S-00000000000000aa"[5] # "s" lid 1 4xQDR\n\n'
        'Ca 2 "H-00000000000000bb" # "h"\n[1](b1) "S-00000000000000aa"[1] # lid 12 lmc 1 "s" lid 1 4xQDR\n'
        '[2](b2) "S-00000000000000aa"[2] # lid 20 lmc 1 "s" lid 1 4xQDR\n\n'
        'Ca 1 "H-00000000000000cc" # "h"\n[1](c1) "S-00000000000000aa"[3] # lid 16 lmc 0 "s" lid 1 4xQDR\n\n'
        'Ca 1 "H-00000000000000dd" # "Mellanox Technologies Aggregation Node"\n'
        '[1](d1) "S-00000000000000aa"[4] # lid 30 lmc 0 "s" lid 1 4xQDR\n'
    )
    dump = read_ibnetdiscover(Lines.of("x", text))
    read = tables_of("x", tables_text(network_of(dump)).encode())
    assert [f.severity for f in check_dump(replace(dump, tables=read))] == ["note", "note"]  # LMC, aggregation
    here, there = (dict(entries) for _, entries in ports(read))
    assert here == {1: 0, 2: 5, 12: 1, 13: 1, 16: 3, 20: 2, 21: 2, 30: 4}
    assert there == {lid: 0 if lid == 2 else 1 for lid in here}
