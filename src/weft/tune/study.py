# SPDX-License-Identifier: BSD-3-Clause
"""The study that ``weft tune`` measures: the library's all-to-alls and Weft's own, interleaved in the same launches."""

import json
from collections.abc import Sequence

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.mpi.algorithms import DEFAULT
from weft.tune.model import Machine

SIZES = ("8 B", "64 B", "512 B", "4 KiB", "16 KiB", "64 KiB")
LAUNCHES = 4
STUDY = """\
# Written by `weft tune`: the library's own all-to-alls and Weft's, interleaved; the predicted winner first.
name = {name}
title = {title}
kernel = "collective"
explain = false

[measure]
launches = {launches}
budget = "0.5 s"
max_samples = 200
seed = 1

[collective]
collectives = ["Alltoall", "Alltoallv"]
sizes = {sizes}
algorithm = {algorithms}

[[series]]
name = "shapes"
scaling = "weak"
nodes = {nodes}
ranks_per_node = {ranks}
"""


def candidates(ranks_per_node: int) -> list[str]:
    """The algorithms that are worth measuring with so many ranks on a node.

    With one rank on a node those that know the nodes have nothing to gather; with several, ``nl`` is 1 and all.
    """
    flat = ["flat.window{w=8}", "flat.pairwise", "bruck{r=2}", "bruck{r=8}"]
    if ranks_per_node == 1:
        return flat
    leaders = [f"node.multi{{nl={count}}}" for count in sorted({1, ranks_per_node})]
    return [*flat, *leaders, "node.direct{w=64}", "node.bruck{r=2}"]


def ordered(fabric: Fabric, nodes: int, ranks_per_node: int, block_bytes: int) -> list[str]:
    """The candidates, the predicted winner first; in their own order where the fabric lacks a number of the model."""
    found = candidates(ranks_per_node)
    try:
        machine = Machine.of(fabric)
    except FabricError:
        return found
    return sorted(found, key=lambda each: machine.seconds(each, nodes, ranks_per_node, block_bytes))


def tuning_study(fabric: Fabric, nodes: Sequence[int], ranks_per_node: int, sizes: Sequence[str], launches: int) -> str:
    """The study of ``MPI_Alltoall`` and ``MPI_Alltoallv`` on a fabric, as the text of a study file.

    Parameters
    ----------
    fabric
        The fabric to tune for.
    nodes, ranks_per_node
        Numbers of nodes, and ranks on each.
    sizes
        Bytes of a block, such as "512 B".
    launches
        Number of launches.
    """
    algorithms = [DEFAULT, *ordered(fabric, max(nodes), ranks_per_node, 512)]
    return STUDY.format(
        name=json.dumps(f"tune-{fabric.name}"),
        title=json.dumps(f"All-to-alls on {fabric.name}"),
        launches=launches,
        sizes=json.dumps(list(sizes)),
        algorithms=json.dumps(algorithms),
        nodes=list(nodes),
        ranks=ranks_per_node,
    )
