# SPDX-License-Identifier: BSD-3-Clause
"""Hostile dumps: whatever stands in a file, a reader gives a dump or a FabricError, and a dump a network or one."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import FabricError
from weft.fabric.checks import check_network
from weft.fabric.dump_checks import check_dump
from weft.fabric.network import network_of
from weft.fabric.readers import Lines, detect, read_dump, read_hwloc
from weft.fabric.readers.ibnetdiscover import read_ibnetdiscover
from weft.fabric.readers.ports_report import read_ports_report
from weft.fabric.readers.slurm import read_slurm

DATA = Path(__file__).parents[1] / "data" / "networks"
SLURM = "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=m[1-2] LinkSpeed=1\nSwitchName=s Switches=a,b\n"
READERS = {"ibnetdiscover": read_ibnetdiscover, "ports": read_ports_report, "slurm": read_slurm}
GOOD = {
    "ibnetdiscover": (DATA / "small-full.ibnetdiscover").read_text(),
    "ports": (DATA / "small-ports.ibnetdiscover").read_text(),
    "slurm": SLURM,
    "hwloc": (DATA / "two-sockets.xml").read_text(),
}
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


@pytest.mark.parametrize("form", ["ibnetdiscover", "ports", "slurm"])
def test_the_undamaged_ones_are_read(form: str) -> None:
    """Without this the tests above could pass by refusing everything."""
    network = network_of(READERS[form](Lines.of("good", GOOD[form])))
    assert len(network.hosts) >= 4
