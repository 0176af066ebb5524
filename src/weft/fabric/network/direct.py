# SPDX-License-Identifier: BSD-3-Clause
"""Direct networks: a dragonfly, and a torus with dimension-order routing, the shorter way round.

A dragonfly has groups of fully connected routers, with global links between every two groups: Kim, Dally, Scott and
Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008. Routes are minimal, at most one local, one
global and one local link; several global links are shared by destination. Non-minimal routes (Valiant, adaptive) of
real machines are not modelled.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Cables, Ints, Network, Switch, refuse_oversize
from weft.fabric.network.sections import DragonflySection, TorusSection


def _groups(shape: DragonflySection, hosts: int) -> int:
    per_group = shape.nodes_per_router * shape.routers_per_group
    needed = max(1, -(-hosts // per_group))
    groups = needed if shape.groups is None else shape.groups
    if groups < needed:
        raise FabricError(
            f"[network.dragonfly]: groups = {groups} of {per_group} nodes hold {groups * per_group} nodes, "
            f"the fabric has {hosts}",
            f"set groups to {needed} or more, or leave it out",
        )
    most = shape.routers_per_group * shape.global_links + 1
    if groups > most:
        raise FabricError(
            f"[network.dragonfly]: {groups} groups cannot all be joined: {shape.routers_per_group} routers with "
            f"{shape.global_links} global links each reach {most - 1} other groups",
            f"raise global_links to {-(-(groups - 1) // shape.routers_per_group)}, or use at most {most} groups",
        )
    return groups


def dragonfly(hosts: Sequence[str], shape: DragonflySection, *, rate: float, latency: float = 0.0) -> Network:
    """Make a dragonfly, with rate and latency of a host's link; FabricError for too few global links."""
    groups, size = _groups(shape, len(hosts)), shape.routers_per_group
    refuse_oversize(len(hosts), groups * size, len(hosts) + groups * size * (size + shape.global_links) // 2)
    cables, first = Cables(), len(hosts)
    router_of = np.arange(first, dtype=np.int32) // shape.nodes_per_router
    down = cables.add_hosts(router_of, rate, latency) + 1
    local = np.full((groups * size, size), -1, dtype=np.int32)  # link from a router to the i-th router of its group
    for group in range(groups):
        for i, j in combinations(range(size), 2):
            a, b = group * size + i, group * size + j
            local[a, j] = cables.add(first + a, first + b, shape.local_rate, shape.local_latency)
            local[b, i] = local[a, j] + 1
    between = _global_links(cables, shape, groups, first)
    forward = _tables(router_of, down, local, between, groups)
    switches = tuple(Switch(f"group{g}-router{r}", 1) for g in range(groups) for r in range(size))
    coordinates = {"leaf": router_of, "pod": router_of // size}
    routing = "minimal: local, global, local"
    return Network("dragonfly", tuple(hosts), switches, cables.links(), forward, coordinates, routing)


def _global_links(
    cables: Cables, shape: DragonflySection, groups: int, first: int
) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Cables between groups: by (from, to), the routers with such a cable and the link of each."""
    between = defaultdict[tuple[int, int], list[tuple[int, int]]](list)
    size = shape.routers_per_group
    used = np.zeros(groups * size, dtype=int)
    for _ in range(size * shape.global_links // max(1, groups - 1)):
        for g, h in combinations(range(groups), 2):
            # The router with the most free ports: this spreads the global links evenly over a group.
            a = g * size + int(np.argmin(used[g * size : (g + 1) * size]))
            b = h * size + int(np.argmin(used[h * size : (h + 1) * size]))
            used[[a, b]] += 1
            link = cables.add(first + a, first + b, shape.global_rate, shape.global_latency)
            between[g, h].append((a, link))
            between[h, g].append((b, link + 1))
    return between


def _tables(
    router_of: Ints, down: Ints, local: Ints, between: dict[tuple[int, int], list[tuple[int, int]]], groups: int
) -> Ints:
    """Forwarding tables, shape (routers, hosts)."""
    routers, size = local.shape
    forward = np.full((routers, len(router_of)), -1, dtype=np.int32)
    group_of = router_of // size
    for group in range(groups):
        own = slice(group * size, (group + 1) * size)
        home = np.flatnonzero(group_of == group)
        forward[own, home] = local[own][:, router_of[home] % size]
        for other in (other for other in range(groups) if other != group):
            there = np.flatnonzero(group_of == other)
            ways = np.array(between[group, other], dtype=np.int32)
            owner, link = ways[there % len(ways)].T
            mine = np.arange(group * size, (group + 1) * size, dtype=np.int32)[:, np.newaxis] == owner
            forward[own, there] = np.where(np.asarray(mine), link, local[own][:, owner % size])
    forward[router_of, np.arange(len(router_of))] = down
    return forward


AXES = "xyzuvw"


def torus(hosts: Sequence[str], shape: TorusSection, *, rate: float, latency: float = 0.0) -> Network:
    """Make a torus, with rate and latency of a host's link; FabricError for too many hosts or dimensions.

    The last dimension varies fastest in the order of the hosts. Routes correct the first dimension first. Half way
    round an even dimension hosts with an even coordinate are reached upwards, others downwards.
    """
    switches = math.prod(shape.dimensions)
    if len(hosts) > switches * shape.nodes_per_switch or not 1 <= len(shape.dimensions) <= len(AXES):
        raise FabricError(
            f"[network.torus]: dimensions = {list(shape.dimensions)} with {shape.nodes_per_switch} nodes a switch hold "
            f"{switches * shape.nodes_per_switch} nodes, the fabric has {len(hosts)}",
            f"give one to {len(AXES)} dimensions, large enough for all nodes",
        )
    refuse_oversize(len(hosts), switches, len(hosts) + switches * len(shape.dimensions))
    cables, first = Cables(), len(hosts)
    leaf_of = np.arange(first, dtype=np.int32) // shape.nodes_per_switch
    up = cables.add_hosts(leaf_of, rate, latency)
    place = np.stack(np.unravel_index(np.arange(switches), shape.dimensions), axis=1)
    steps, forward = _wire(cables, shape, place, first), np.full((switches, first), -1, dtype=np.int32)
    for axis in reversed(range(len(shape.dimensions))):  # written last, so the first dimension takes precedence
        length = shape.dimensions[axis]
        here, there = place[:, axis][:, np.newaxis], place[leaf_of, axis][np.newaxis, :]
        ahead = (there - here) % length
        upwards = (2 * ahead < length) | ((2 * ahead == length) & (there % 2 == 0))
        step = np.where(upwards, steps[:, axis, 0][:, np.newaxis], steps[:, axis, 1][:, np.newaxis])
        forward = np.where(ahead == 0, forward, step).astype(np.int32)
    forward[leaf_of, np.arange(first)] = up + 1
    coordinates = {"leaf": leaf_of}
    coordinates |= {name: column.astype(np.int32) for name, column in zip(AXES, place[leaf_of].T, strict=False)}
    names = tuple(Switch("switch-" + "-".join(map(str, p)), 1) for p in place.tolist())
    return Network("torus", tuple(hosts), names, cables.links(), forward, coordinates, "dimension order")


def _wire(cables: Cables, shape: TorusSection, place: NDArray[np.int_], first: int) -> Ints:
    """Link indices, shape (switches, dimensions, 2): upwards, downwards; -1 if the dimension has one switch."""
    steps = np.full((len(place), len(shape.dimensions), 2), -1, dtype=np.int32)
    for switch, at in enumerate(place):
        for axis, length in enumerate(shape.dimensions):
            if length == 1 or (length == 2 and at[axis] == 1):
                continue  # in a dimension of 2 either neighbour is the other switch: one cable
            beside = at.copy()
            beside[axis] = (at[axis] + 1) % length
            other = int(np.ravel_multi_index(tuple(beside.tolist()), shape.dimensions))
            link = cables.add(first + switch, first + other, shape.link_rate, shape.link_latency)
            steps[switch, axis, 0], steps[other, axis, 1] = link, link + 1
            if length == 2:
                steps[switch, axis, 1], steps[other, axis, 0] = link, link + 1
    return steps
