# SPDX-License-Identifier: BSD-3-Clause
"""The lower bound of a call if the same ranks were spread over twice the nodes."""

from collections.abc import Mapping

from weft.bound.placed import terms_of
from weft.bound.terms import Placed, PlacedCell
from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.kernel.registry import kernel_named


def spread_terms(cell: Placed, call: str, fabric: Fabric) -> Mapping[str, float]:
    """Seconds of each term of a collective call with half as many ranks on each of twice the nodes.

    The cell's own nodes are kept, and the next ones of the fabric added.

    Returns
    -------
    Mapping
        Empty where the ranks cannot be spread so: they fill one node, or half a node is no whole number of ranks, or
        the fabric has too few nodes; also where its network is not at hand.
    """
    more = [host for host in fabric.hosts if host not in cell.hosts]
    even = cell.ranks_per_node % 2 == 0 and cell.ranks == cell.nodes * cell.ranks_per_node
    kernel = kernel_named(cell.kernel)
    if cell.nodes < 2 or not even or len(more) < cell.nodes or not kernel.collectives(cell.parameters):
        return {}
    hosts = (*cell.hosts, *more[: cell.nodes])
    wide = PlacedCell(cell.kernel, 2 * cell.nodes, cell.ranks_per_node // 2, cell.ranks, hosts, cell.parameters)
    traffic = kernel.traffic(cell.parameters, cell.ranks).get(call)
    try:
        return terms_of(traffic, wide, fabric) if traffic else {}
    except FabricError:  # a dump that stayed on another machine
        return {}
