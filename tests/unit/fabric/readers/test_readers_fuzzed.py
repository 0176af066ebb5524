# SPDX-License-Identifier: BSD-3-Clause
"""Hostile dumps: whatever stands in a file, a reader gives a dump or a FabricError, and a dump a network or one."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import FabricError
from weft.fabric.checks import check_dump, check_network
from weft.fabric.importing import read_hwloc
from weft.fabric.network.dumped import network_of
from weft.fabric.readers import Lines, detect, read_dump, read_tables
from weft.fabric.readers.edges import read_edges
from weft.fabric.readers.ibdiagnet import read_ibdiagnet, read_subnet_list
from weft.fabric.readers.ibnetdiscover import read_ibnetdiscover, read_ports_report
from weft.fabric.readers.slurm import read_slurm
from weft.fabric.readers.tables import tables_of

DATA = Path(__file__).parents[3] / "data" / "networks"
SLURM = "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=m[1-2] LinkSpeed=1\nSwitchName=s Switches=a,b\n"
DB_CSV = """START_NODES
NodeDesc,NumPorts,NodeType,NodeGUID,PortGUID
"sw, 1",4,2,0x1,0x1
"a",1,1,0x11,0x11
"b",1,1,0x12,0x12
END_NODES
START_PORTS
NodeGuid,PortNum,LID,LinkWidthActv,LinkSpeedActv,LMC,PortState
0x1,0,7,0,0,0,0
0x11,1,21,2,512,0,4
0x12,1,22,2,2,1,1
END_PORTS
START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x1,1,0x11,1
0x1,2,0x12,1
END_LINKS
START_PM_INFO
NodeGUID,PortNumber,PortXmitData,PortXmitWait
0x1,1,200,77
END_PM_INFO
"""
EDGES = "a,a_port,b,b_port,rate,b_kind\nl,1,n0,1,4xQDR,host\nl,2,n1,,5 GB/s,\ns,,l,,,\ns,,m,,,\nm,,n2,,,\nm,,n3,,,\n"
READERS = {
    "ibnetdiscover": read_ibnetdiscover,
    "ports": read_ports_report,
    "slurm": read_slurm,
    "subnet-list": read_subnet_list,
    "ibdiagnet": read_ibdiagnet,
    "edges": read_edges,
}
GOOD = {
    "ibnetdiscover": (DATA / "small-full.ibnetdiscover").read_text(),
    "ports": (DATA / "small-ports.ibnetdiscover").read_text(),
    "slurm": SLURM,
    "subnet-list": (DATA / "small-subnet.lst").read_text(),
    "ibdiagnet": DB_CSV,
    "edges": EDGES,
    "tables": (DATA / "small-lfts.dump").read_text(),
    "fdbs": (DATA / "small.fdbs").read_text(),
    "hwloc": (DATA / "two-sockets.xml").read_text(),
}
SMALL = read_subnet_list(Lines.of("small", GOOD["subnet-list"]))
PIECES = [
    "[1]",
    '"S-1"',
    "Switch",
    "-1",
    "0",
    "99999999999999999999",
    "\x00",
    "\\",
    "n[1-",
    "lid 3",
    "4xQDR",
    "<",
    ">",
    "é",
    '"',
    "#",
]


def use(form: str, text: str) -> None:
    """All that Weft does with a dump."""
    lines = Lines.of("fuzz", text)
    with contextlib.suppress(FabricError):
        if form == "hwloc":
            read_hwloc(lines)
            return
        if form in ("tables", "fdbs"):
            dump = replace(SMALL, tables=tables_of("fuzz", text.encode("utf-8", errors="surrogatepass")))
        else:
            dump = READERS[form](lines)
        check_dump(dump)
        check_network(network_of(dump))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.text(max_size=400))
def test_any_text_is_read_or_refused(form: str, text: str) -> None:
    use(form, text)


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_a_changed_dump_is_read_or_refused(form: str, data: st.DataObject) -> None:
    text = GOOD[form]
    for _ in range(data.draw(st.integers(1, 4))):
        at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 40))
        piece = data.draw(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)))
        text = text[:at] + piece + text[at + length :]
    use(form, text)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(set(GOOD) - {"hwloc"})), st.data())
def test_a_dump_with_lines_lost_doubled_and_shuffled_is_read_or_refused(form: str, data: st.DataObject) -> None:
    lines = GOOD[form].split("\n")
    kept = data.draw(st.lists(st.sampled_from(lines), max_size=2 * len(lines)))
    use(form, "\n".join(kept))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_of_a_file_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(content)
    with contextlib.suppress(FabricError):
        detect(Lines.read(path))
        read_dump(path)
    with contextlib.suppress(FabricError):
        read_tables(path)


@pytest.mark.parametrize("form", sorted(READERS))
def test_the_undamaged_ones_are_read(form: str) -> None:
    """Without this the tests above could pass by refusing everything."""
    network = network_of(READERS[form](Lines.of("good", GOOD[form])))
    assert len(network.hosts) >= (2 if form == "ibdiagnet" else 4)


@pytest.mark.parametrize("form", ["tables", "fdbs"])
def test_undamaged_tables_are_read(form: str) -> None:
    dump = replace(SMALL, tables=tables_of("good", GOOD[form].encode()))
    assert (network_of(dump).forward >= 0).all()
