# SPDX-License-Identifier: BSD-3-Clause
"""The study that ``weft tune`` measures: the library's all-to-alls and Weft's own, interleaved in the same launches."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import AUTO
from weft.tune.model import USUAL_STAGES, Machine

SIZES = ("8 B", "64 B", "512 B", "4 KiB", "16 KiB", "64 KiB")
LAUNCHES = 4
STAGES = (1, 4, 12, 28, 64)
CALLS = ("Alltoall", "Alltoallv")
PATTERN = "moe"  # whose rows are even, so that the mean of a table is that of all blocks
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
{start}
[collective]
collectives = {calls}
sizes = {sizes}
algorithm = {algorithms}
{more}
[placement]
oversubscribe = {oversubscribe}

[[series]]
name = "shapes"
scaling = "weak"
nodes = {nodes}
ranks_per_node = {ranks}
"""


def candidates(ranks_per_node: int) -> list[str]:
    """The algorithms that are worth measuring with so many ranks on a node.

    With one rank on a node those that know the nodes have nothing to gather. With several, one of them sends for all
    in 1 to 64 stages, which keeps messages in order, or all of them send, in one stage and in the usual number.
    """
    flat = ["flat.window{w=8}", "flat.pairwise", "sched.matrix", "bruck{r=2}", "bruck{r=8}"]
    if ranks_per_node == 1:
        return flat
    one = [f"node.multi{{nl=1,stages={count}}}" for count in STAGES]
    every = [f"node.multi{{nl={ranks_per_node},stages={count}}}" for count in (1, USUAL_STAGES)]
    return [*flat, *one, *every, "node.direct{w=64}", "node.bruck{r=2}"]


def predicted(fabric: Fabric, nodes: int, ranks_per_node: int, block_bytes: int) -> dict[str, float]:
    """Seconds of the candidates by the cost model, the winner first; none where the fabric lacks a number of it."""
    try:
        machine = Machine.of(fabric)
    except FabricError:
        return {}
    found = {each: machine.seconds(each, nodes, ranks_per_node, block_bytes) for each in candidates(ranks_per_node)}
    # what sched.matrix leaves to another one is as fast, after a comparison of counts
    return dict(sorted(found.items(), key=lambda each: (each[1], each[0] == "sched.matrix")))


def ordered(fabric: Fabric, nodes: int, ranks_per_node: int, block_bytes: int) -> list[str]:
    """The candidates, the predicted winner first; in their own order where the fabric lacks a number of the model."""
    return list(predicted(fabric, nodes, ranks_per_node, block_bytes)) or candidates(ranks_per_node)


@dataclass(frozen=True)
class What:
    """What to measure on a fabric."""

    nodes: tuple[int, ...]
    ranks_per_node: int
    sizes: tuple[str, ...]  # bytes of a block, such as "512 B"
    launches: int
    calls: tuple[str, ...] = CALLS  # ``Alltoall``, ``Alltoallv`` or both
    skew: tuple[float, ...] = ()  # of Alltoallv, beside even blocks: the busiest receiver over the mean
    oversubscribe: bool = False  # whether ranks may share cores


def tuning_study(fabric: Fabric, what: What) -> str:
    """The study of the library's choice and Weft's candidates, as the text of a study file."""
    return _written(fabric, "tune", f"All-to-alls on {fabric.name}", what, _algorithms(fabric, what))


def checking_study(fabric: Fabric, what: What, table: Path) -> str:
    """The same with every algorithm that the library lets one choose, and ``auto`` by a table."""
    title = f"All-to-alls by {table.name} beside all others on {fabric.name}"
    lines = f'table = {json.dumps(str(table.resolve()))}\nalgorithms = "each"\n'
    return _written(fabric, "check", title, what, [*_algorithms(fabric, what), AUTO], lines)


def _algorithms(fabric: Fabric, what: What) -> list[str]:
    return [DEFAULT, *ordered(fabric, max(what.nodes), what.ranks_per_node, 512)]


def _written(fabric: Fabric, kind: str, title: str, what: What, algorithms: Sequence[str], more: str = "") -> str:
    return STUDY.format(
        # A model's ranks can start at one time exactly. After a barrier they start as unevenly as what was simulated
        # before left them: one algorithm then differs from itself by 3 % at a few bytes.
        start='start = "window"\n' if fabric.is_model else "",
        name=json.dumps(f"{kind}-{fabric.name}"),
        title=json.dumps(title),
        launches=what.launches,
        calls=json.dumps(list(what.calls)),
        sizes=json.dumps(list(what.sizes)),
        algorithms=json.dumps(list(algorithms)),
        more=more + (f'patterns = ["equal", "{PATTERN}"]\nskew = {list(what.skew)}\n' if what.skew else ""),
        nodes=list(what.nodes),
        ranks=what.ranks_per_node,
        oversubscribe=json.dumps(what.oversubscribe),
    )
