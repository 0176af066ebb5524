# SPDX-License-Identifier: BSD-3-Clause
"""A fabric written as a file is read as the same fabric."""

from pathlib import Path

import pytest

from weft.fabric import Fabric, load_fabric
from weft.fabric.importing import as_toml
from weft.files.shipped import shipped

SHIPPED = sorted(path.stem for path in shipped("fabrics").glob("*.toml"))
ODD = """
name = "odd"
kind = "simulated"
title = "quotes \\" and \\\\, \\u007f and \\U0001F600"
[node]
names = "n[1-4]"
cores = 2
[network]
topology = "fat-tree"
adapter_rate = "1 GB/s"
[[network.segments]]
above = "64 KiB"
overhead = "2 us"
[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "1 GB/s"
[network.rates]
"leaf0 - spine0" = "2 GB/s"
"""


def again(fabric: Fabric, folder: Path) -> Fabric:
    (folder / "again.toml").write_text(as_toml(fabric))
    return load_fabric(folder / "again.toml")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_fabric_comes_back(name: str, tmp_path: Path) -> None:
    fabric = load_fabric(name)
    assert again(fabric, tmp_path).model_dump() == fabric.model_dump()


def test_odd_names_lists_and_letters_come_back(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(ODD)
    fabric = load_fabric(tmp_path / "odd.toml")
    assert again(fabric, tmp_path).model_dump() == fabric.model_dump()
