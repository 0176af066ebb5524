# SPDX-License-Identifier: BSD-3-Clause
"""A torus with dimension-order routing, the shorter way round."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Cables, Ints, Network, Switch, refuse_oversize
from weft.fabric.network.sections import TorusSection

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
    forward = _tables(shape, place, leaf_of, _wire(cables, shape, place, first))
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


def _tables(shape: TorusSection, place: NDArray[np.int_], leaf_of: Ints, steps: Ints) -> Ints:
    """Forwarding tables between switches, shape (switches, hosts)."""
    forward = np.full((len(place), len(leaf_of)), -1, dtype=np.int32)
    for axis in reversed(range(len(shape.dimensions))):  # written last, so the first dimension takes precedence
        length = shape.dimensions[axis]
        here, there = place[:, axis][:, np.newaxis], place[leaf_of, axis][np.newaxis, :]
        ahead = (there - here) % length
        upwards = (2 * ahead < length) | ((2 * ahead == length) & (there % 2 == 0))
        step = np.where(upwards, steps[:, axis, 0][:, np.newaxis], steps[:, axis, 1][:, np.newaxis])
        forward = np.where(ahead == 0, forward, step).astype(np.int32)
    return forward
