# SPDX-License-Identifier: BSD-3-Clause
"""What `weft fabric check` calls an error is what a simulation refuses, and nothing else: a generated set of files."""

from itertools import product
from pathlib import Path

import pytest

from weft.errors import FabricError
from weft.fabric import load_fabric
from weft.fabric.checks import check_fabric
from weft.launch.simulated.machine import describe_machine

FILE = """
name = "made"
kind = "simulated"
[node]
names = "{names}"
{node}
{copies}
[network]
topology = "{topology}"
{rate}
{latency}
{shape}
"""
NAMES = ("n[1-4]", "n1")
NODES = ("cores = 4", "sockets = 2\ncores = 3", 'cores = 4\nmemory = "8 MiB"')
COPIES = ("", 'copy_rate = "1 GB/s"')
RATES = ("", 'adapter_rate = "4 GB/s"')
LATENCIES = ("", 'latency = "1 us"')
TREE = "[network.tree]\nnodes_per_leaf = 2\n"
DRAGONFLY = "[network.dragonfly]\nnodes_per_router = 1\nrouters_per_group = 2\n"
BOTH = 'local_rate = "4 GB/s"\nglobal_rate = "4 GB/s"'
LINK = 'link_rate = "4 GB/s"'
SHAPES = {
    "star": ("",),
    "fat-tree": (
        "",
        f"{TREE}uplinks = 2",
        f"{TREE}uplinks = 2\n{LINK}",
        f"{TREE}uplinks = 3\nspines = 2\n{LINK}",
        f"{TREE}uplinks = 2\nleaves = 1\n{LINK}",
    ),
    "torus": tuple(
        f"[network.torus]\ndimensions = {size}\n{rate}" for size in ("[2, 2]", "[1, 2]") for rate in ("", LINK)
    ),
    "dragonfly": tuple(f"{DRAGONFLY}global_links = {links}\n{rate}" for links in (0, 1) for rate in ("", BOTH)),
}


@pytest.mark.parametrize("topology", sorted(SHAPES))
def test_check_finds_an_error_exactly_where_a_simulation_refuses(tmp_path: Path, topology: str) -> None:
    # cores that sockets do not divide were an error of the check, and ran
    path, refused, taken = tmp_path / "made.toml", 0, 0
    for names, node, copies, rate, latency, shape in product(NAMES, NODES, COPIES, RATES, LATENCIES, SHAPES[topology]):
        # a network that only one node is on needs no rate: the check called that an error
        told = {"names": names, "node": node, "copies": copies, "rate": rate, "latency": latency, "shape": shape}
        text = FILE.format(topology=topology, **told)
        path.write_text(text)
        try:
            fabric = load_fabric(path)
        except FabricError:
            continue  # by whatever reads it, check and run alike
        found = [finding.what for finding in check_fabric(fabric) if finding.severity == "error"]
        try:
            describe_machine(fabric, fabric.hosts, 1)
        except FabricError as error:
            assert found, (text, error.what)
            refused += 1
        else:
            assert not found, (text, found)
            taken += 1
    assert refused
    assert taken
