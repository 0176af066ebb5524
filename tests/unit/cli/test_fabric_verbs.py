# SPDX-License-Identifier: BSD-3-Clause
"""weft fabric show, check, import."""

import json
from pathlib import Path

import pytest

from made.networks import hops_of
from weft.cli.app import main
from weft.fabric import load_fabric
from weft.fabric.importing import folded_names
from weft.fabric.network.build import build_network
from weft.fabric.nodeset import expand

DATA = Path(__file__).parents[2] / "data" / "networks"


def test_show_tells_what_a_fabric_implies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "show", "tara"]) == 0
    text = capsys.readouterr().out
    for part in ("36 hosts", "n[37-54]", "47.9 GB/s", "as fast as", "39,168", "41,472"):
        assert part in text


def test_show_counts_the_pairs_of_the_ranks_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "show", "tara", "--ranks", "1", "--format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["hop_classes"] == [
        {"level": "leaf", "hops": 0, "pairs": 2 * 18 * 17},
        {"level": "core", "hops": 2, "pairs": 2 * 18 * 18},
    ]
    assert tree["bisection"] == pytest.approx({"rate": 47.88e9, "full": 47.88e9})
    assert tree["all_to_all"]["relative"] == 1.0


def test_show_refuses_no_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "show", "tara", "--ranks", "0"]) == 2
    assert "give at least 1" in capsys.readouterr().err


def test_check_ends_with_1_when_a_fabric_contradicts_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "check", "tara"]) == 0
    assert "tara: nothing found" in capsys.readouterr().out
    dump = tmp_path / "broken.ibnetdiscover"
    text = (DATA / "small.ibnetdiscover").read_text()
    dump.write_text(text.replace('"node2" lid 6 4xSDR', '"node2" lid 6 4xDDR'))
    assert main(["fabric", "import", str(dump), "-o", str(tmp_path / "broken.toml")]) == 0
    capsys.readouterr()
    assert main(["fabric", "check", str(tmp_path / "broken.toml"), "--format", "json"]) == 1
    findings = json.loads(capsys.readouterr().out)
    assert findings[0]["severity"] == "error"
    assert set(findings[0]) == {"id", "severity", "what", "cause", "remedy"}


@pytest.mark.parametrize(
    "form", ["small.ibnetdiscover", "small-ports.ibnetdiscover", "small.net", "mixed.ibnetdiscover"]
)
def test_a_dump_becomes_a_fabric_file_that_can_be_read(form: str, tmp_path: Path) -> None:
    file = tmp_path / "new" / "fabric.toml"
    assert main(["fabric", "import", str(DATA / form), "-o", str(file)]) == 0
    fabric = load_fabric(file)
    network = build_network(fabric)
    assert set(fabric.hosts) == set(network.hosts)
    assert (file.parent / form).read_bytes() == (DATA / form).read_bytes()
    assert main(["fabric", "check", str(file)]) == 0


def test_names_and_a_nodes_shape_are_taken_in(tmp_path: Path) -> None:
    names = tmp_path / "map"
    names.write_text("".join(f"H-00000000001000{2 * i:02x} node{i}\n" for i in range(4)))
    file = tmp_path / "f" / "fabric.toml"
    words = ["--names", str(names), "--node", str(DATA / "two-sockets.xml")]
    assert main(["fabric", "import", str(DATA / "small.ibnetdiscover"), "-o", str(file), *words]) == 0
    fabric = load_fabric(file)
    assert fabric.node.names == "node[0-3]"
    assert (fabric.node.sockets, fabric.node.cores, fabric.node.memory) == (2, 8, 2**30)
    assert hops_of(build_network(fabric), "node0", "node3") == 2


def test_hosts_have_the_names_of_their_descriptions_where_these_are_unique(tmp_path: Path) -> None:
    """`place` printed GUIDs, which no scheduler knows."""
    file = tmp_path / "f" / "fabric.toml"
    assert main(["fabric", "import", str(DATA / "small.ibnetdiscover"), "-o", str(file)]) == 0
    assert load_fabric(file).node.names == "node[0-3]"
    assert (file.parent / "fabric.names").read_text().splitlines()[0] == "H-0000000000100006 node3"
    twice, dump = tmp_path / "twice", tmp_path / "dump"
    text = (DATA / "small.ibnetdiscover").read_text()
    dump.write_text(text.replace('# "node3"', '# "node2 mlx5_1"').replace('# "node0"', '# "MT25408 ConnectX"'))
    assert main(["fabric", "import", str(dump), "-o", str(twice / "fabric.toml")]) == 0
    hosts = set(load_fabric(twice / "fabric.toml").hosts)
    assert hosts == {"H-0000000000100006", "H-0000000000100004", "node1", "H-0000000000100000"}
    assert main(["fabric", "import", str(DATA / "mixed.ibnetdiscover"), "-o", str(tmp_path / "m" / "m.toml")]) == 0
    assert not (tmp_path / "m" / "m.names").exists()


def test_import_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text("mine")
    assert main(["fabric", "import", str(DATA / "small.net"), "-o", str(file)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert file.read_text() == "mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "small.net").write_text("another dump")
    assert main(["fabric", "import", str(DATA / "small.net"), "-o", str(other / "f.toml")]) == 2
    assert (other / "small.net").read_text() == "another dump"
    assert not (other / "f.toml").exists()


def test_a_faulty_dump_is_told_by_line_with_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "bad"
    dump.write_text('Switch 8 "S-1"\n[9] "H-1"[1]\n')
    assert main(["fabric", "import", str(dump), "-o", str(tmp_path / "f.toml")]) == 2
    error = capsys.readouterr().err
    assert f"{dump}:2: S-1 has 8 ports: '[9] \"H-1\"[1]'" in error
    assert "expected a port from 1 to 8" in error


def test_nodes_that_the_dump_does_not_have_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fabric.toml"
    assert main(["fabric", "import", str(DATA / "small.net"), "-o", str(file)]) == 0
    file.write_text(file.read_text().replace('"node[0-3]"', '"node[0-4]"'))
    assert main(["fabric", "show", str(file)]) == 2
    assert "1 nodes that are not in small.net, the first is 'node4'" in capsys.readouterr().err


def test_names_fold_only_where_every_name_comes_back() -> None:
    assert folded_names(["n1", "n2", "n3"]) == "n[1-3]"
    guids = ["H-003048c749cd0000", "H-003048c749bb0000"]
    assert set(expand(folded_names(guids))) == set(guids)


def test_slurm_topologies_show_hop_classes_and_no_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "topology.conf"
    conf.write_text("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=s Switches=a,b\n")
    file = tmp_path / "x" / "slurm.toml"
    assert main(["fabric", "import", str(conf), "-o", str(file)]) == 0
    capsys.readouterr()
    assert main(["fabric", "show", str(file), "--format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["all_to_all"] is None
    assert tree["bisection"]["rate"] is None
    assert [c["hops"] for c in tree["hop_classes"]] == [0, 2]


def test_presets_are_listed_with_their_numbers_and_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "presets"]) == 0
    text = capsys.readouterr().out
    for part in ("epyc-9654", "hdr-infiniband", "200 Gbit/s", "ethernet-400", "slingshot-11"):
        assert part in text
    assert main(["fabric", "presets", "--format", "json"]) == 0
    every = json.loads(capsys.readouterr().out)
    for preset in every:
        assert set(preset["sources"]) == {*preset["values"], *(f"usual.{key}" for key in preset["usual"])}
        assert set(preset["usual"]) <= set(preset["ranges"])
