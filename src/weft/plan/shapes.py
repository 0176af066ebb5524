# SPDX-License-Identifier: BSD-3-Clause
"""The shapes of a series: how many nodes, how many ranks on each."""

from weft.errors import FabricError, StudyError
from weft.fabric.model import Fabric
from weft.kernel import Shape
from weft.study import DOUBLING, MOST_CELLS, MOST_RANKS, Series, doubling


def shapes(series: Series, fabric: Fabric) -> list[Shape]:
    """Shapes of a series on a fabric, in the order of the study.

    ``fill`` keeps one rank per core: all cores of each node if the series has several nodes. On one node it adds ranks
    instead: 1, 2, 4 .. cores, and twice the cores, marked as oversubscribed.

    Raises
    ------
    FabricError
        A fabric that does not say what the series asks for.
    StudyError
        More than a thousand shapes, or ten million ranks.
    """
    found = _shapes(series, fabric)
    most = max(found, key=lambda shape: shape.ranks)
    if most.ranks > MOST_RANKS:
        raise StudyError(
            f'series "{series.name}": {most.nodes:,} nodes of {most.ranks_per_node:,} ranks are {most.ranks:,} ranks',
            f"at most {MOST_RANKS:,} ranks can be planned",
        )
    return found


def _shapes(series: Series, fabric: Fabric) -> list[Shape]:
    nodes = doubling(len(fabric.hosts)) if series.nodes == DOUBLING else series.nodes
    assert not isinstance(nodes, str)
    if not isinstance(series.ranks_per_node, str):
        if (count := len(nodes) * len(series.ranks_per_node)) > MOST_CELLS:
            raise StudyError(
                f'series "{series.name}": {count:,} pairs of nodes and ranks_per_node',
                f"split the study: at most {MOST_CELLS:,} cells keep a run readable",
            )
        return [Shape(count, ranks) for count in nodes for ranks in series.ranks_per_node]
    cores = fabric.node.cores
    if cores is None:
        raise FabricError(
            f'{fabric.path}: node.cores is missing, and series "{series.name}" asks for {series.ranks_per_node!r}',
            "add cores to [node]",
        )
    if series.ranks_per_node == "cores" or max(nodes) > 1:
        return [Shape(count, cores) for count in nodes]
    within = sorted({*doubling(cores), cores})
    return [*(Shape(1, ranks) for ranks in within), Shape(1, 2 * cores, oversubscribed=True)]
