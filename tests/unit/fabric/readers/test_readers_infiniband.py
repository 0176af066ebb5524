# SPDX-License-Identifier: BSD-3-Clause
"""ibnetdiscover in its three forms, ibsim's .net files, and what they say about rates."""

from pathlib import Path

import pytest

from made.networks import hops_of
from weft.errors import FabricError
from weft.fabric.network.dumped import network_of
from weft.fabric.network.graph import Network
from weft.fabric.readers import Dump, Lines, detect, read_dump, read_names
from weft.fabric.readers.dump import rate_of
from weft.fabric.readers.ibnetdiscover import read_ibnetdiscover, read_ports_report

DATA = Path(__file__).parents[3] / "data" / "networks"
FORMS = ["small.ibnetdiscover", "small-full.ibnetdiscover", "small-ports.ibnetdiscover", "small.net"]


def read(text: str) -> Dump:
    return read_ibnetdiscover(Lines.of("dump", text))


def cables(network: Network) -> set[tuple[int, int, int, int]]:
    """Cables by the leaf number of hosts and by ports, so that names do not matter."""
    links = network.links
    columns = (links.source, links.target, links.source_port, links.target_port)
    return {tuple(int(c[i]) for c in columns) for i in range(len(links))}  # type: ignore[misc]


@pytest.mark.parametrize("form", FORMS)
def test_one_fabric_in_four_formats_is_one_network(form: str) -> None:
    dump = read_dump(DATA / form)
    assert dump.counts == {"switch": 3, "host": 4, "aggregation": 0, "router": 0}
    network = network_of(dump, adapter_rate=1e9, link_rate=1e9)
    assert sorted(s.level for s in network.switches) == [1, 1, 2]
    assert len(network.links) // 2 == 8
    assert [hops_of(network, 0, b) for b in range(4)] == [0, 0, 2, 2]
    assert (network.links.rate == 1e9).all()


def test_ports_of_the_three_infiniband_forms_agree() -> None:
    seen = [
        {(dump.boxes[e.key].label, e.port, dump.boxes[e.peer].label, e.peer_port, e.speed) for e in dump.ends}
        for dump in map(read_dump, (DATA / form for form in FORMS[:3]))
    ]
    assert seen[0] == seen[1] == seen[2]
    assert ("leaf1", 7, "spine0", 3, "4xSDR") in seen[0]


def test_adapters_with_the_same_description_stay_apart() -> None:
    """The excerpt is of a real fabric whose adapters are all called "MT25408 ConnectX Mellanox Technologies"."""
    dump = read_dump(DATA / "mixed.ibnetdiscover")
    assert len({box.label for box in dump.of_kind("host")}) == 1
    network = network_of(dump)
    assert network.hosts == ("H-003048c749cd0000", "H-003048c749bb0000", "H-003048c74abf0000")


def test_rates_of_a_mixed_fabric_are_data_rates() -> None:
    network = network_of(read_dump(DATA / "mixed.ibnetdiscover"))
    assert set(network.links.rate[network.uplink].tolist()) == {2e9}  # 4xDDR
    assert set(network.links.rate[network.switch_links].tolist()) == {4e9}  # 4xQDR


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1xSDR", 0.25e9),
        ("4xSDR", 1e9),
        ("4xDDR", 2e9),
        ("4xQDR", 4e9),
        ("4xFDR10", 5e9),
        ("4xFDR", 6.818e9),
        ("4xEDR", 12.5e9),
        ("4xHDR", 25e9),
        ("4xNDR", 50e9),
        ("4xXDR", 100e9),
        ("12xQDR", 12e9),
    ],
)
def test_a_width_and_a_speed_make_a_data_rate(text: str, rate: float) -> None:
    assert rate_of(text) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize("text", ["", "4x???", "3xQDR", "4xGDR", "QDR", "99999999xQDR"])
def test_an_unknown_speed_has_no_rate(text: str) -> None:
    assert rate_of(text) != rate_of(text)  # nan


def test_adapters_lids_are_their_own_not_those_of_their_switch() -> None:
    dump = read_dump(DATA / "small.ibnetdiscover")
    lids = {dump.boxes[key].label: box.lids for key, box in dump.boxes.items()}
    assert lids == {
        "leaf1": (3,), "spine0": (4,), "leaf0": (2,), "node3": (7,), "node2": (6,), "node1": (5,), "node0": (1,),
    }  # fmt: skip


def test_a_description_may_hold_anything_that_looks_like_something_else() -> None:
    header = 'Switch 2 "S-1"  # "x lid 99 # "quoted" 4xQDR" base port 0 lid 7 lmc 0'
    dump = read(header + '\n[1] "H-1"[1] # "a 4xSDR lid 3" lid 5 4xNDR\n')
    assert dump.boxes["S-1"].lids == (7,)
    assert dump.ends[0].speed == "4xNDR"


def test_sharp_nodes_are_recognised_and_left_out_of_the_network() -> None:
    text = (DATA / "small.ibnetdiscover").read_text()
    text = text.replace('"node3"', '"Mellanox Technologies Aggregation Node"')
    dump = read(text)
    assert dump.counts["aggregation"] == 1
    assert len(network_of(dump).hosts) == 3


def test_hosts_are_ordered_by_leaf_and_port() -> None:
    network = network_of(read_dump(DATA / "small.net"))
    assert network.hosts == ("node0", "node1", "node2", "node3")
    assert network.coordinates["leaf"].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('Switch 8 "S-1"\n[9] "H-1"[1]\n', 2, "S-1 has 8 ports"),
        ('Switch 8 "S-1"\n[1] H-1[1]\n', 2, "not a port"),
        ('Switch many "S-1"\n', 1, "not a box"),
        ('[1] "H-1"[1]\n', 1, "a port before any box"),
        ('Switch 8 "S-1"\n\nBridge 8 "S-2"\n', 3, "neither a box nor a port"),
        ("# nothing but a comment\n", 2, "no box up to the end"),
    ],
)
def test_a_faulty_line_is_named_with_its_text_and_what_was_expected(text: str, line: int, what: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(text)
    assert caught.value.what.startswith(f"dump:{line}: ")
    assert what in caught.value.what
    assert caught.value.remedy.startswith("expected ")


def test_a_faulty_line_of_a_ports_report_is_named() -> None:
    with pytest.raises(FabricError, match=r"ports:2: not a line of a ports report: 'SW nonsense'"):
        read_ports_report(Lines.of("ports", "SW 3 6 0x1 4x SDR 'leaf1'\nSW nonsense\n"))


def test_a_file_in_no_known_format_is_refused() -> None:
    with pytest.raises(FabricError, match="not in a format that Weft reads"):
        detect(Lines.of("x", "hello\nworld\n"))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="cannot read"):
        read_dump(tmp_path / "none")


def test_names_come_from_a_map_by_guid(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.write_text('# cluster\nH-003048c749cd0000 r422node2\n0x3048c749bb0000 "r422node8"\n')
    names = read_names(path)
    network = network_of(read_dump(DATA / "mixed.ibnetdiscover"), names=names)
    assert network.hosts == ("r422node2", "r422node8", "H-003048c74abf0000")


def test_a_name_given_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.write_text("H-1 a\nH-2 a\n")
    with pytest.raises(FabricError, match="names:2: the name a is in line 1 already"):
        read_names(path)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('Switch 8 "S-1"\n[1] "H-1"[1] # 4xQDR\nCa 1 "H-1"\n[1] "S-1', "remedy"),
        ('Switch 8 "S-1"\n[1] "H-1"[1] # 4xQDR\n[2] "H-2"[1] # 4xQDR\n', "what"),
    ],
)
def test_a_dump_that_is_cut_off_says_so(text: str, where: str) -> None:
    with pytest.raises(FabricError) as caught:
        network_of(read(text))
    assert "cut off" in getattr(caught.value, where)


def test_a_dump_without_hosts_makes_no_network() -> None:
    with pytest.raises(FabricError, match="has no host"):
        network_of(read('Switch 8 "S-1"\n'))
