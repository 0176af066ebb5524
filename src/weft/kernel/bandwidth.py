# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``bandwidth``: many messages at a time, one way, between two ranks of each kind the fabric has."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.fabric.hops import LEVELS, host_hops, host_levels
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.placement import NoRoomError, place
from weft.kernel import Shape, Sizes, Sweep
from weft.kernel.bandwidth_study import BandwidthSeries, BandwidthStudy
from weft.kernel.collective import enough_time
from weft.kernel.exchange import ROW, SCRATCH, STAGING_BASE, STAGING_PEER
from weft.kernel.sizes import op_name
from weft.kernel.traffic import Traffic
from weft.study import Measure, Series, Study
from weft.teams import rank_at

OP = "send"


@dataclass(frozen=True)
class Stream:
    """A message of a stream from the first rank of two to the second: both on one node, or one on each of two.

    Others are under way beside it, so neither a latency nor a message's cost bounds it.
    """

    block_bytes: int
    rounds: int = 0
    messages: int = 0

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """It is copied once, where both are on one node."""
        return self.block_bytes if nodes == 1 else 0

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """It leaves the first node."""
        return self.block_bytes if nodes == 2 and len(group) == 1 else 0


class Bandwidth:
    """Pairs, sizes, memory and traffic of the windowed stream."""

    name = "bandwidth"
    main = ""  # a cell is known by its largest size
    batched = True
    study: type[Study] = BandwidthStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """A pair for each pattern that the fabric has; patterns it has none of are noted.

        Raises
        ------
        StudyError
            The limit of a cell is too short for its sizes.
        """
        assert isinstance(study, BandwidthStudy)
        assert isinstance(series, BandwidthSeries)
        section, order = study.bandwidth, study.placement.order
        common: dict[str, Any] = {"bytes": list(section.sizes), "refine": section.refine}
        common |= {"window": section.window, "window_bytes": section.window_bytes}
        found: list[tuple[Shape, dict[str, Any]]] = []
        notes: list[str] = []
        # Hosts are candidates here, so of several shapes the largest says it all.
        within = [shape for shape in shapes if not shape.oversubscribed]
        for shape in sorted(within, key=lambda shape: (shape.nodes, shape.ranks_per_node))[-1:]:
            hosts, classes = representatives(study, fabric, shape, notes)
            job = Shape(len(hosts) or shape.nodes, shape.ranks_per_node, hosts=hosts)
            for pattern in section.patterns:
                pairs = seats(pattern, fabric, job, classes)
                if not pairs:
                    notes.append(f"{pattern}: {nothing(pattern, fabric, job)}")
                for first, second, more in pairs:
                    members = [rank_at(*seat, job.nodes, job.ranks_per_node, order) for seat in (first, second)]
                    found.append((job, {"pattern": pattern, **more, "members": members} | common))
        enough_time(found, study.measure, str(study.path))
        return Sweep(tuple(found), tuple(dict.fromkeys(notes)))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory: messages under way, samples, and MPI's own, by estimate."""
        sizes, most = values["bytes"], values["window_bytes"]
        rows = 1 + max(measure.max_samples, 16)
        return {
            "messages under way": max(
                min(most, values["window"] * sizes[-1]),
                *(outstanding(size, values) * size for size in sizes),
            ),
            "samples": (len(sizes) + values["refine"]) * rows * ROW + rows * SCRATCH,
            "library staging": STAGING_BASE + STAGING_PEER * ranks,
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """The largest message, and a window of it."""
        largest = values["bytes"][-1]
        return Sizes(block=largest, local=largest * outstanding(largest, values))

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """One message of each size, ascending."""
        return {op_name(OP, size): Stream(size) for size in values["bytes"]}

    def flat(self, values: Mapping[str, Any]) -> list[str]:
        """Lines of the flat plan."""
        keys = ("pattern", "refine", "window", "window_bytes")
        return [f"bytes {' '.join(map(str, values['bytes']))}", *(f"{key} {values[key]}" for key in keys)]


def outstanding(size: int, values: Mapping[str, Any]) -> int:
    """Messages of a size that are under way together."""
    return max(1, min(values["window"], values["window_bytes"] // max(size, 1)))


Classes = list[tuple[int, str, int]]
Seat = tuple[int, int]


def representatives(
    study: BandwidthStudy, fabric: Fabric, shape: Shape, notes: list[str]
) -> tuple[tuple[str, ...], Classes]:
    """Hosts of the launch, and (index of a host, level, hops) for each class of hosts as seen from the first.

    Only a host of each class is taken: a launch over all nodes of a machine to speak between two of them is waste.
    """
    try:
        candidates = place(fabric, study.placement.nodes, shape.nodes)
    except NoRoomError:
        return (), []  # the plan makes it a row
    if len(candidates) == 1 or fabric.network is None:
        return candidates[:1], []
    network = build_network(fabric)
    places = network.indices(list(candidates))
    hops, levels = host_hops(network, places)[0], host_levels(network, places)[0]
    chosen: dict[tuple[str, int], int] = {}
    for host in range(1, len(candidates)):
        chosen.setdefault((LEVELS[int(levels[host])], int(hops[host])), host)
    nearest = sorted(chosen.items(), key=lambda item: (item[0][1], item[1]))
    if len(candidates) > 1 + len(nearest):
        notes.append(f"{1 + len(nearest)} of {len(candidates)} nodes are used: one for each hop class")
    hosts = (candidates[0], *(candidates[host] for _, host in nearest))
    return hosts, [(index, level, hops) for index, ((level, hops), _) in enumerate(nearest, start=1)]


def seats(pattern: str, fabric: Fabric, job: Shape, classes: Classes) -> list[tuple[Seat, Seat, dict[str, Any]]]:
    """Pairs of a pattern as (node, rank on it), with what tells them from others of the pattern."""
    if pattern == "inter-node":
        return [((0, 0), (host, 0), {"level": level, "hops": hops}) for host, level, hops in classes]
    socket = cores_of_a_socket(fabric, job)
    if pattern == "intra-socket":
        return [((0, 0), (0, 1), {})] if min(socket, job.ranks_per_node) > 1 else []
    return [((0, 0), (0, socket), {})] if socket < job.ranks_per_node else []


def cores_of_a_socket(fabric: Fabric, job: Shape) -> int:
    """Ranks of a node that one socket takes, at a rank a core in order; the kernel verifies what became of that."""
    cores = fabric.node.cores or job.ranks_per_node
    return max(1, cores // (fabric.node.sockets or 1))


def nothing(pattern: str, fabric: Fabric, job: Shape) -> str:
    """Why there is no pair of a pattern."""
    if pattern == "inter-node":
        return "there is one node"
    stated = fabric.node.sockets
    sockets = f"{stated} socket{'s' if stated != 1 else ''}" if stated else "unstated sockets, taken as one"
    return f"no such pair of ranks on a node of {sockets} with {job.ranks_per_node} ranks"
