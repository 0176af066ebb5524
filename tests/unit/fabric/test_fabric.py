# SPDX-License-Identifier: BSD-3-Clause
"""Reading fabric files, node sets, and what is said about mistakes in them."""

from pathlib import Path

import pytest

from weft.errors import FabricError
from weft.fabric import Fabric, load_fabric
from weft.fabric.nodeset import expand
from weft.files.shipped import shipped

GOOD = """
name = "two-leaves"
kind = "simulated"
[node]
names = "n[1-4]"
cores = 2
memory = "1 GiB"
copy_rate = "4 GB/s"
[network]
topology = "fat-tree"
latency = "1.2 us"
adapter_rate = "1 GB/s"
[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "0.5 GB/s"
[groups]
leaf = "n[1-2]"
[sources]
"node.memory" = "data sheet"
"groups.leaf" = "the cable plan"
"""


def read(tmp_path: Path, text: str) -> Fabric:
    path = tmp_path / "fabric.toml"
    path.write_text(text, encoding="utf-8")
    return load_fabric(path)


def test_a_fabric_is_read(tmp_path: Path) -> None:
    fabric = read(tmp_path, GOOD)
    assert fabric.hosts == ("n1", "n2", "n3", "n4")
    assert fabric.node.memory == 2**30
    assert fabric.network
    assert fabric.network.latency == pytest.approx(1.2e-6)
    assert fabric.text == GOOD


@pytest.mark.parametrize("path", sorted(shipped("fabrics").glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_fabric_is_read_by_its_name(path: Path) -> None:
    assert load_fabric(path.stem).name == path.stem


def test_tara_has_its_nodes_in_the_order_of_its_leaves() -> None:
    tara = load_fabric("tara")
    assert tara.hosts == tuple(f"n{number}" for number in range(37, 73))
    assert tara.node.cores == 8
    assert expand(tara.groups["leaf"]) == tara.hosts[:18]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cores = 2", "coers = 2", ['unknown key "node.coers" = 2', 'did you mean "cores"?']),
        ("cores = 2", "", ["needs node.cores"]),
        ('names = "n[1-4]"', "", ["needs node.names"]),
        ('names = "n[1-4]"', 'names = "n[1-"', ['"node.names" = "n[1-"']),
        ('names = "n[1-4]"', 'names = "@all"', ['"node.names" = "@all"', "not a node set"]),
        ('names = "n[1-4]"', 'names = "n[1-99999999999]"', ["more than 200,000 nodes"]),
        ('memory = "1 GiB"', 'memory = "1 GB"', ['"node.memory" = "1 GB"', '"1 GiB" for powers of 1024']),
        ('copy_rate = "4 GB/s"', 'copy_rate = "4 GiB"', ['"node.copy_rate" = "4 GiB"', "no unit of a rate"]),
        ('kind = "simulated"', 'kind = "cloud"', ['"kind" = "cloud"', "local, virtual, simulated, slurm"]),
        ('kind = "simulated"', 'kind = "local"', ["is this host alone"]),
        ('topology = "fat-tree"', 'topology = "star"', ['topology "star" does not use the section [network.tree]']),
        ('leaf = "n[1-2]"', 'leaf = "n[1-9]"', ['groups.leaf = "n[1-9]" holds n5']),
        ('"node.memory" = ', '"node.memroy" = ', ['sources has "node.memroy"']),
        ("uplinks = 1", "uplinks = 0", ['"network.tree.uplinks" = 0', "greater than or equal to 1"]),
        ("uplinks = 1", "", ['the key "network.tree.uplinks" is missing']),
    ],
)
def test_a_mistake_is_told_with_key_value_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, said: list[str]
) -> None:
    assert old in GOOD
    with pytest.raises(FabricError) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert caught.value.exit_code == 2
    assert caught.value.remedy
    for words in [str(tmp_path / "fabric.toml"), *said]:
        assert words in str(caught.value), str(caught.value)


def test_several_nodes_without_a_network_are_refused(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("[network]")]
    with pytest.raises(FabricError, match=r"4 nodes need a section \[network\]"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("n[09-11]", ("n09", "n10", "n11")),
        ("b2,a1", ("a1", "b2")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
    ],
)
def test_a_node_set_names_its_nodes_in_natural_order(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize("text", ["", "@g", "n[1-2", "n]1", "n[a-b]", "n[1-300000]", "r[1-999]n[1-999]", "$(id)", ","])
def test_what_is_no_node_set_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        expand(text)
