# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's topology.conf and scontrol show topology."""

import pytest

from weft.errors import FabricError
from weft.fabric.hops import hop_classes
from weft.fabric.network.dumped import network_of
from weft.fabric.readers import Lines, detect
from weft.fabric.readers.slurm import read_slurm

CONF = """# a tree of three levels
SwitchName=leaf0 Nodes=n[1-2]
SwitchName=leaf1 Nodes=n[3-4] LinkSpeed=400   # a comment
switchname=leaf2 nodes=n5,n6
SwitchName=leaf3 \\
  Nodes=n[7-8]
SwitchName=pod0 Switches=leaf[0-1]
SwitchName=pod1 Switches=leaf2,leaf3
SwitchName=core Switches=pod[0-1]
"""
SCONTROL = """SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[3-4] Switches=(null)
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[5-6]
SwitchName=leaf3 Level=0 LinkSpeed=1 Nodes=n[7-8]
SwitchName=pod0 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[0-1]
SwitchName=pod1 Level=1 LinkSpeed=1 Nodes=n[5-8] Switches=leaf[2-3]
SwitchName=core Level=2 LinkSpeed=1 Nodes=n[1-8] Switches=pod[0-1]
"""
MANY = "".join(f"SwitchName=s{i} Nodes=n[1-{200_000 - i}]\n" for i in range(10_000))


def test_brackets_are_read_as_slurm_reads_them() -> None:
    dump = read_slurm(Lines.of("t", "SwitchName=a Nodes=n1[8-11]\n"))
    assert [name for name, box in dump.boxes.items() if box.kind == "host"] == ["n18", "n19", "n110", "n111"]


@pytest.mark.parametrize("text", [CONF, SCONTROL])
def test_both_forms_give_hop_classes_and_pods(text: str) -> None:
    assert detect(Lines.of("t", text)) == "slurm"
    network = network_of(read_slurm(Lines.of("t", text)))
    assert network.hosts == tuple(f"n{i}" for i in range(1, 9))
    assert network.coordinates["pod"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [(c.level, c.hops, c.pairs) for c in hop_classes(network)] == [
        ("leaf", 0, 8),
        ("pod", 2, 16),
        ("core", 4, 32),
    ]


def test_slurm_knows_no_cables_and_no_rates() -> None:
    dump = read_slurm(Lines.of("t", CONF))
    assert not dump.cables_known
    assert all(end.rate != end.rate for end in dump.ends)


def test_two_switches_that_name_each_other_are_joined_once() -> None:
    dump = read_slurm(Lines.of("t", "SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2 Switches=a\n"))
    assert len(dump.ends) == 3


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("SwitchName=a Nodes=n[1-\n", 1, "not a list of names"),
        ("SwitchName=a Nodes=n1\nSwitchName=b\n", 2, "a switch with nothing below it"),
        ("SwitchName=a Nodes=n1\nSwitch=b Nodes=n2\n", 2, "not a switch"),
        ("SwitchName=a Nodes=n1\nSwitchName=s Switches=a,b\n", 2, "the switch b has no line of its own"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=a\n", 2, "a is a switch in line 1 and a node here"),
        ("SwitchName=a Nodes=n1\n\nBlockName=b Nodes=n[1-4]\n", 3, "a block topology"),
        ("# nothing\n", 2, "no switch up to the end"),
        ("SwitchName=a Nodes=n[1-999999999]\n", 1, "more than 200,000 nodes"),
        ("SwitchName=a Nodes=n[1-3]4]\n", 1, "not a list of names"),
        pytest.param(MANY, 6, "more than 1,000,000 connections", marks=pytest.mark.long),
    ],
)
def test_a_faulty_line_is_named(text: str, line: int, what: str) -> None:
    with pytest.raises(FabricError) as caught:
        read_slurm(Lines.of("topology.conf", text))
    assert caught.value.what.startswith(f"topology.conf:{line}: ")
    assert what in caught.value.what
