# SPDX-License-Identifier: BSD-3-Clause
"""What the failure of each cable between switches does to an all-to-all: native/route/failures.cpp."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Network, islands, vertex_levels
from weft.route.library import Ints
from weft.route.patterns import all_to_all
from weft.route.routes import Routes


@dataclass(frozen=True)
class Failure:
    """The failure of one cable, after the routes over it have moved to the shortest remaining ways."""

    cable: int  # the even index of its two links
    name: str  # one of them, as --fail takes it
    levels: tuple[int, int]  # levels of the switches that it connects, the lower first
    time: float  # relative time of the all-to-all then
    slowest: str  # the link that is then the slowest
    lost: int  # pairs of hosts that lose their route
    moved: int  # pairs whose route led over it
    changes: int  # changed table entries
    cut: tuple[str, ...]  # hosts that are cut off from most others


@dataclass(frozen=True, eq=False)
class Failures:
    """All single failures, the worst first: by lost pairs, then by the time of an all-to-all."""

    present: float  # relative time of the all-to-all with all cables
    each: tuple[Failure, ...]
    lost: int  # pairs without a route before any failure
    loose: int  # hosts without a cable, which are left out
    single: int  # hosts with one cable, whose failure cuts off that host alone

    def factor(self, failure: Failure) -> float:
        """Time of the all-to-all after a failure over that before."""
        return failure.time / self.present if self.present else 1.0


def fail_each(routes: Routes, forward: Ints | None = None, cables: Ints | None = None) -> Failures:
    """What the failure of each cable (even link indices; all if None) between switches does; FabricError for none.

    `forward`: tables that are repaired for a single cable, shape (switches, hosts).
    """
    network, links = routes.network, routes.network.links
    chosen = np.flatnonzero(network.switch_links & (links.source != links.target)) if cables is None else cables
    chosen = np.unique(chosen & ~1).astype(np.int32)
    if not len(chosen):
        raise FabricError("the network has no cable between switches", "name a fabric of two switches or more")
    scattered, count = all_to_all(routes), len(chosen)
    load = scattered.load
    time, slowest = np.zeros(count), np.zeros(count, dtype=np.int32)
    lost, changes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    arguments = (routes.shared_slowness, load, chosen, count, time, slowest, lost, changes, forward)
    routes.library.call("failures", routes.graph, *arguments)
    level = vertex_levels(network)
    ends = np.sort(np.stack([level[links.source[chosen]], level[links.target[chosen]]]), axis=0)
    others = max(1, int((network.uplink >= 0).sum()) - 1)
    whole = _main_part(network)
    found = [
        Failure(
            cable, network.link_name(cable), (int(ends[0, at]), int(ends[1, at])), float(time[at]) / others,
            network.link_name(int(slowest[at])), int(lost[at]), int(load[cable] + load[cable + 1]), int(changes[at]),
            tuple(network.hosts[host] for host in np.flatnonzero(whole & ~_main_part(network, cable, cable + 1)))
            if lost[at]
            else (),
        )
        for at, cable in enumerate(chosen.tolist())
    ]  # fmt: skip
    found.sort(key=lambda each: (-each.lost, -round(each.time, 9), each.cable))
    present = float((load * routes.shared_slowness).max(initial=0)) / others
    single = int((np.bincount(links.source[links.source < len(network.hosts)]) == 1).sum())
    return Failures(present, tuple(found), scattered.lost, int((network.uplink < 0).sum()), single)


def _main_part(network: Network, *gone: int) -> NDArray[np.bool_]:
    """Whether each host belongs to the largest connected part without some links, shape (hosts,)."""
    hosts, ends = len(network.hosts), (np.delete(end, gone) for end in (network.links.source, network.links.target))
    part = islands(hosts + len(network.switches), *ends)[:hosts]
    return part == np.bincount(part).argmax()
