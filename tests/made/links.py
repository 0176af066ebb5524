# SPDX-License-Identifier: BSD-3-Clause
"""A made run on a made virtual fabric whose links were counted: which one was full is the maker's choice."""

import json
from pathlib import Path

from made.run import STUDY, Made, make_run
from weft.store.links import LinkCount, links_file, write_links

FABRIC = """\
name = "made-virtual"
kind = "virtual"
title = "Four made hosts on two leaves"

[node]
names = "node[0-3]"
cores = 2
memory = "2 GiB"

[network]
topology = "fat-tree"
adapter_rate = "{adapter}"

[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "{uplink}"
"""
PARENT = {f"node{k}": f"leaf{k // 2}" for k in range(4)} | {"leaf0": "spine0", "leaf1": "spine0"}


def counts(nodes: int, size: int, adapter: float, uplink: float) -> list[LinkCount]:
    """What an all-to-all of one array leaves on the links: each direction of each cable, none dropped."""
    found: list[LinkCount] = []
    for lower, upper in PARENT.items():
        inside = [k for k in range(nodes) if lower in (f"node{k}", f"leaf{k // 2}")]
        moved = size * len(inside) * (nodes - len(inside)) // nodes**2
        rate = uplink if lower.startswith("leaf") else adapter
        ends = (lower, upper), (upper, lower)
        found += [LinkCount(f"{lower}-{upper}", *each, rate, moved, moved // 9000, 0) for each in ends]
    return found


def make_virtual_run(path: Path, adapter: float, uplink: float, reached: float = 0.8, launches: int = 3) -> Path:
    """A run on 1, 2 and 4 hosts whose exchange takes as long as its most loaded link at ``reached`` of its rate.

    Parameters
    ----------
    adapter, uplink
        Rates in bytes per second, whole megabytes.
    reached
        Share of its rate that the fullest link reaches; the rest of the time nobody can explain.
    """

    def seconds(nodes: int, ranks: int, local: float) -> float:
        array = local * ranks
        slowest = max((count.bytes / count.rate for count in counts(nodes, int(array), adapter, uplink)), default=0.0)
        return slowest / reached if nodes > 1 else array / 4e9

    study = STUDY.format(launches=launches, nodes=[1, 2, 4], ranks_per_node=1, n=19200, symbol="N")
    fabric = FABRIC.format(adapter=f"{adapter / 1e6:g} MB/s", uplink=f"{uplink / 1e6:g} MB/s")
    made = make_run(path, Made(study=study, fabric=fabric, seconds=seconds, noise=0.0, launch_noise=0.0))
    plan = json.loads((made / "plan.json").read_text())
    cells = {cell["id"]: cell for cell in plan["cells"]}
    for launch in plan["launches"]:
        cell = cells[launch["cells"][0]]
        calls = 25 + 30 + 1 + 1  # warm-up, samples, the cold call, and the proof: see made_run
        moved = counts(launch["nodes"], calls * cell["array_bytes"], adapter, uplink)
        write_links(links_file(made, launch["id"]), launch["id"], "tbf", moved)
    return made
