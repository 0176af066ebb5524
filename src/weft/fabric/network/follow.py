# SPDX-License-Identifier: BSD-3-Clause
"""Routes of many pairs at once, from the forwarding tables."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Ints, Network

UNREACHABLE = -1


def walk(network: Network, sources: Ints, targets: Ints) -> Ints:
    """Links from hosts to hosts, by indices (pairs,), none to itself: (pairs, longest), padded with -1.

    FabricError for a pair without a route.
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


def steps_on(network: Network, at: Ints, end: Ints) -> NDArray[np.int16]:
    """Links between switches from each to a host, (pairs,); `UNREACHABLE` without a way. FabricError for a loop."""
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
    what = f"the forwarding tables towards {network.hosts[int(end[0])]} form a loop"
    raise FabricError(what, "take other tables, or leave them out to use Weft's own minimal routes")


@dataclass(frozen=True, eq=False)
class LeavesAlike:
    """Leaf switches that forward traffic for other leaves' hosts to the same neighbours."""

    leaves: Ints
    # next vertex towards each host, shape (hosts,), -1 for none; for a host of these leaves that of the other leaves
    onward: Ints

    def steps(self, network: Network, targets: Ints) -> NDArray[np.int16]:
        """Hops between switches from each leaf to the target hosts (indices) that are not its own, shape (targets,)."""
        onward = self.onward[targets]
        found = np.where(onward == targets, 0, UNREACHABLE).astype(np.int16)
        going = np.flatnonzero(onward >= len(network.hosts))
        steps = steps_on(network, onward[going] - np.int32(len(network.hosts)), targets[going])
        found[going] = np.where(steps < 0, steps, steps + 1)
        return found


def leaves_alike(network: Network, wanted: Container[int] | None = None) -> Iterator[LeavesAlike]:
    """Leaf switches with a host, by equal tables; among those with the same neighbours compared with the first only."""
    hosts_of = network.hosts_below
    chosen = [leaf for leaf in hosts_of if wanted is None or leaf in wanted]
    for leaves in _joined_alike(network, np.array(chosen, dtype=np.int32)):
        onward = _onward(network, int(leaves[0]))
        if len(leaves) == 1:
            yield LeavesAlike(leaves, onward)
            continue
        own = hosts_of[int(leaves[0])]
        onward[own] = _onward(network, int(leaves[1]))[own]
        same: list[int] = []
        for leaf in leaves.tolist():
            mine, its_hosts = _onward(network, leaf), hosts_of[leaf]
            differs = mine != onward
            differs[its_hosts] = mine[its_hosts] != its_hosts
            if differs.any():
                yield LeavesAlike(np.array([leaf], np.int32), mine)
            else:
                same.append(leaf)
        if same:
            yield LeavesAlike(np.array(same, np.int32), onward)


def _onward(network: Network, switch: int) -> Ints:
    """Index of the next vertex from a switch towards each host, shape (hosts,); -1 for none."""
    link = network.forward[switch]
    return np.where(link >= 0, network.links.target[link], np.int32(-1))


def _joined_alike(network: Network, leaves: Ints) -> Iterator[Ints]:
    hosts, links = len(network.hosts), network.links
    between = network.switch_links & np.isin(links.source, leaves + hosts)
    ends = np.unique(np.stack([links.source[between], links.target[between]]), axis=1) - hosts
    groups: dict[bytes, list[int]] = {}
    for leaf in leaves.tolist():
        start, stop = np.searchsorted(ends[0], [leaf, leaf + 1])
        groups.setdefault(ends[1, start:stop].tobytes(), []).append(leaf)
    for members in groups.values():
        yield np.array(members, dtype=np.int32)
