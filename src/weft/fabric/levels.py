# SPDX-License-Identifier: BSD-3-Clause
"""Oversubscription: rates below and above each level of switches."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.graph import Network, directions


@dataclass(frozen=True)
class Level:
    """The switches of one level.

    Attributes
    ----------
    level
        1 = leaves.
    switches, without_hosts
        Number of switches, and of those without a host on their own ports.
    down, up
        Number of cables to lower levels and hosts, and to higher levels, over the whole level.
    least, typical, most
        Oversubscription of its switches: rate of the cables down over that of the cables up; smallest, median, largest.
        1 = full bandwidth; inf = no uplink; nan if rates are unknown or the level is the top.
    worst
        Name of the switch with the largest oversubscription.
    """

    level: int
    switches: int
    without_hosts: int
    down: int
    up: int
    least: float
    typical: float
    most: float
    worst: str


def levels(network: Network) -> tuple[Level, ...]:
    """All levels of a network, leaves first. Switches without anything below them do not count as oversubscribed."""
    hosts, count = len(network.hosts), len(network.switches)
    way, links = directions(network), network.links
    at_switch = links.source >= hosts
    source = links.source - hosts
    level = np.array([s.level for s in network.switches], dtype=int)

    def per_switch(chosen: NDArray[np.bool_], values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        weights = None if values is None else values[chosen]
        return np.bincount(source[chosen], weights=weights, minlength=count).astype(float)

    # Up is what a switch sends up; down is what arrives from below, so use the rate of the cable's other direction.
    up, down = at_switch & (way > 0), at_switch & (way < 0)
    arriving = links.rate[np.arange(len(links)) ^ 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = per_switch(down, arriving) / per_switch(up, links.rate)
    own_hosts = per_switch(at_switch & (links.target < hosts))
    top = int(level.max(initial=0))
    found: list[Level] = []
    for number in range(1, top + 1):
        members = np.flatnonzero(level == number)
        used = members[per_switch(down)[members] > 0]
        ratios = ratio[used] if number < top else np.full(len(used), np.nan)
        known = ratios[~np.isnan(ratios)]
        worst = network.switches[int(used[np.nanargmax(ratios)])].name if known.size else ""
        least, typical, most = np.quantile(known, [0, 0.5, 1], method="nearest") if known.size else [np.nan] * 3
        found.append(
            Level(
                number,
                len(members),
                int((own_hosts[members] == 0).sum()),
                int(per_switch(down)[members].sum()),
                int(per_switch(up)[members].sum()),
                float(least),
                float(typical),
                float(most),
                worst,
            )
        )
    return tuple(found)
