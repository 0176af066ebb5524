# SPDX-License-Identifier: BSD-3-Clause
"""Leaf switches with the same routes, as most leaves of a pod have: routes are then followed once per pod."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.follow import UNREACHABLE, steps_on
from weft.fabric.network.graph import Ints, Network


@dataclass(frozen=True, eq=False)
class LeavesAlike:
    """Leaf switches that forward traffic for other leaves' hosts to the same neighbours."""

    leaves: Ints  # their indices
    # index of the next vertex towards each host, shape (hosts,); -1 for none. For a host of one of these leaves it is
    # the vertex that the other leaves use.
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
    hosts_of = _hosts_of(network)
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


def _hosts_of(network: Network) -> dict[int, NDArray[np.intp]]:
    order = np.argsort(network.leaf, kind="stable")
    order = order[network.leaf[order] >= 0]
    leaves, first = np.unique(network.leaf[order], return_index=True)
    return dict(zip(leaves.tolist(), np.split(order, first[1:]), strict=True))


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
