# SPDX-License-Identifier: BSD-3-Clause
"""Routes of many pairs at once, from the forwarding tables."""

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Ints, Network

UNREACHABLE = -1


def walk(network: Network, sources: Ints, targets: Ints) -> Ints:
    """Routes of many pairs of hosts.

    `sources`, `targets`: host indices, shape (pairs,). Returns link indices, shape (pairs, longest route), padded
    with -1. The route of a host to itself is empty. Raises FabricError: a pair has no route.
    """
    hosts = len(network.hosts)
    link = np.where(sources == targets, -1, network.uplink[sources]).astype(np.int32)
    columns: list[Ints] = []
    going = np.flatnonzero(sources != targets)
    while going.size:
        step = link[going]
        vertex = np.where(step >= 0, network.links.target[step], -1)
        lost = (step < 0) | ((vertex < hosts) & (vertex != targets[going]))
        if lost.any() or len(columns) > len(network.switches) + 1:
            first = int(going[np.argmax(lost)])
            raise network.no_route(int(sources[first]), int(targets[first]), circle=not lost.any())
        column = np.full(len(sources), -1, dtype=np.int32)
        column[going] = step
        columns.append(column)
        on = vertex != targets[going]
        going, vertex = going[on], vertex[on]
        link[going] = network.forward[vertex - hosts, targets[going]]
    return np.stack(columns, axis=1) if columns else np.empty((len(sources), 0), dtype=np.int32)


def switch_steps(network: Network, rows: Ints, targets: Ints) -> NDArray[np.int16]:
    """Number of switch-to-switch links from given switches to given hosts.

    Raises FabricError: The tables contain a loop. `rows`: switch indices, shape (rows,). `targets`: host indices,
    shape (columns,). Returns hops, shape (rows, columns); `UNREACHABLE` where the tables do not lead to the host.
    """
    at, end = np.repeat(rows, len(targets)), np.tile(targets, len(rows))
    return steps_on(network, at, end).reshape(len(rows), len(targets))


def steps_on(network: Network, at: Ints, end: Ints) -> NDArray[np.int16]:
    """Hops from a switch to a host, shape (pairs,); `UNREACHABLE` without a route. FabricError for a loop."""
    hosts = len(network.hosts)
    steps = np.full(len(at), UNREACHABLE, dtype=np.int16)
    going = np.arange(len(steps))
    for count in range(len(network.switches) + 1):
        if not going.size:
            return steps
        link = network.forward[at, end]
        vertex = np.where(link >= 0, network.links.target[link], -1)
        steps[going[vertex == end]] = count
        on = vertex >= hosts
        going, at, end = going[on], vertex[on] - hosts, end[on]
    raise FabricError(
        f"the forwarding tables towards {network.hosts[int(end[0])]} form a loop",
        "take other tables, or leave them out to use Weft's own minimal routes",
    )
