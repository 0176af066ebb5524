# SPDX-License-Identifier: BSD-3-Clause
"""Variants of a machine differ from today's in one thing, and what a machine does not have is said."""

from pathlib import Path

import pytest

from weft.errors import StudyError
from weft.fabric import Fabric, load_fabric
from weft.trace.replay import Asked
from weft.whatif.variants import Variant, variants

TREE = """
name = "tree"
kind = "simulated"
[node]
names = "n[0-7]"
cores = 4
memory = "4 GiB"
copy_rate = "5 GB/s"
[network]
topology = "fat-tree"
latency = "1 us"
adapter_rate = "2 GB/s"
[network.tree]
nodes_per_leaf = 4
uplinks = 2
link_rate = "2 GB/s"
[simulation]
collectives = "mpich"
"""


def machine(folder: Path, text: str = TREE) -> Fabric:
    (folder / "fabric.toml").write_text(text)
    return load_fabric(folder / "fabric.toml")


def by_name(found: list[Variant]) -> dict[str, Variant]:
    return {each.name: each for each in found}


def test_each_variant_differs_in_one_thing(tmp_path: Path) -> None:
    fabric = machine(tmp_path)
    found, left_out = variants(fabric, 16, 4, 1)
    named = by_name(found)
    assert list(named) == ["unchanged", "placement", "all-to-all", "uplinks", "adapter", "spread"]
    assert left_out == []
    assert (named["unchanged"].fabric, named["unchanged"].asked) == (fabric, Asked(4))
    for each in found[1:]:
        assert (each.fabric == fabric) != (each.asked == Asked(4)), each.name
    network, more, faster = fabric.network, named["uplinks"].fabric.network, named["adapter"].fabric.network
    assert network and more and faster and network.tree and more.tree and network.adapter_rate
    assert more.tree == network.tree.model_copy(update={"uplinks": 4})
    assert faster == network.model_copy(update={"adapter_rate": 2 * network.adapter_rate})
    assert named["spread"].asked == Asked(8)
    assert named["all-to-all"].asked == Asked(4, alltoall="node.multi{nl=4}")


def test_what_a_machine_does_not_have_is_said(tmp_path: Path) -> None:
    star = TREE.partition("[network.tree]")[0].replace("fat-tree", "star") + '[simulation]\ncollectives = "mpich"\n'
    found, left_out = variants(machine(tmp_path, star), 8, 8, 1)
    assert list(by_name(found)) == ["unchanged", "adapter"]
    assert [line.partition(":")[0] for line in left_out] == [
        "another placement", "a node-aware all-to-all", "twice the uplinks", "half the ranks on a node"
    ]  # fmt: skip


def test_on_one_node_no_network_helps(tmp_path: Path) -> None:
    """Uplinks, adapters and other nodes were simulated, each with the time of today."""
    found, left_out = variants(machine(tmp_path), 4, 1, 1)
    assert list(by_name(found)) == ["unchanged", "spread"]
    assert left_out[0].startswith("other nodes, links, adapters and tables: on one node")


def test_an_application_without_all_to_alls_gets_no_other_one(tmp_path: Path) -> None:
    """The line stood there with the time of today, simulated again."""
    found, left_out = variants(machine(tmp_path), 16, 4, 0)
    assert "all-to-all" not in by_name(found)
    assert left_out == ["a node-aware all-to-all: the trace has none that is replayed"]


def test_a_real_machine_cannot_be_changed() -> None:
    with pytest.raises(StudyError, match="its uplinks cannot be doubled"):
        variants(load_fabric("virtual-default"), 4, 4, 1)


def test_a_changed_machine_has_the_text_of_a_file_of_its_own(tmp_path: Path) -> None:
    """Runs of doubled uplinks kept the file of today's machine, and the page told to measure that again."""
    for each in variants(machine(tmp_path), 16, 4, 1)[0]:
        (tmp_path / "kept.toml").write_text(each.fabric.text)
        assert load_fabric(tmp_path / "kept.toml").model_dump() == each.fabric.model_dump(), each.name
