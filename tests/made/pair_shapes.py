# SPDX-License-Identifier: BSD-3-Clause
"""Made clusters under other networks than a tree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from made.pairs import Cluster

FABRIC = """
name = "made-{topology}"
kind = "simulated"
[node]
names = "n[{first}-{last}]"
cores = {cores}
[network]
topology = "{topology}"
adapter_rate = "10 GB/s"
{section}
"""


@dataclass(frozen=True)
class Shaped(Cluster):
    """A cluster of another topology, which its section of the fabric file describes."""

    topology: str = "star"
    section: str = ""

    @property
    def text(self) -> str:
        """Its fabric file."""
        last = self.nodes - 1
        return FABRIC.format(
            first="0" * len(str(last)), last=last, cores=self.per_node, topology=self.topology, section=self.section
        )


def torus(rows: int, columns: int, noise: float) -> Shaped:
    """A torus of two dimensions."""
    section = f'[network.torus]\ndimensions = [{rows}, {columns}]\nlink_rate = "10 GB/s"'
    return Shaped(rows * columns, 2, noise=scatter(noise), topology="torus", section=section)


def dragonfly(nodes: int, noise: float) -> Shaped:
    """A dragonfly with two nodes a router and two routers a group."""
    section = (
        "[network.dragonfly]\nnodes_per_router = 2\nrouters_per_group = 2\nglobal_links = 4\n"
        'local_rate = "10 GB/s"\nglobal_rate = "10 GB/s"'
    )
    return Shaped(nodes, 2, noise=scatter(noise), topology="dragonfly", section=section)


def star(nodes: int, noise: float) -> Shaped:
    """One switch."""
    return Shaped(nodes, 2, noise=scatter(noise))


def tree(nodes: int, noise: float) -> Cluster:
    """Leaves of eight nodes under four spines."""
    return Cluster(nodes, 2, per_leaf=8, uplinks=4, per_pod=2, pod_uplinks=4, noise=scatter(noise))


def scatter(noise: float) -> tuple[float, float, float]:
    """Of a pair, of a node, of a rank: nodes of one kind hardly differ."""
    return noise, noise / 4, noise / 4


#: Healthy networks by name; each is made with a relative scatter.
HEALTHY: Mapping[str, Callable[[float], Cluster]] = {
    **{f"star of {nodes}": partial(star, nodes) for nodes in (4, 12, 32)},
    **{f"tree of {nodes}": partial(tree, nodes) for nodes in (16, 32, 48)},
    **{f"torus of {rows} x {columns}": partial(torus, rows, columns) for rows, columns in ((3, 3), (4, 4), (4, 8))},
    **{f"dragonfly of {nodes}": partial(dragonfly, nodes) for nodes in (8, 16, 32)},
}
