# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``bandwidth``: a window of messages, one way, between two ranks of each class of the fabric."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.fabric.hops import LEVELS, groups_alike
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.placement import NoRoomError, place
from weft.format import exact_bytes
from weft.kernel import FlatValue, MeasuredKernel, Shape, Sizes, Sweep, counted
from weft.kernel.bandwidth.study import FEWEST_PLACES, BandwidthSection, BandwidthSeries, BandwidthStudy, Cache
from weft.kernel.budget import enough_time, sample_bytes, staging
from weft.kernel.sizes import CACHES, op_name
from weft.kernel.teams import rank_at
from weft.kernel.traffic import Traffic, barrier_messages
from weft.study import Measure, Series, Study

OP = "send"
WINDOW = 64  # messages in flight at a time, at most


@dataclass(frozen=True)
class Stream:
    """One message of a stream from the first of two ranks to the second, on one node or on two.

    Others are in flight at the same time, so latency does not bound it; its sender's overhead and the gap do.
    """

    block_bytes: int
    rounds: int = 0
    messages: int = 1

    @property
    def message_bytes(self) -> int | None:
        """All of it: a stream's messages are sent as they are."""
        return self.block_bytes

    def between(self, nodes: int, ranks_per_node: int) -> Sequence[Sequence[int]]:
        """The first node sends to the second."""
        return [[self.block_bytes * (nodes == 2 and (a, b) == (0, 1)) for b in range(nodes)] for a in range(nodes)]

    def converging(self, nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """One sender."""
        return 1, self.block_bytes

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Its bytes, copied once, if both ranks are on one node."""
        return self.block_bytes if nodes == 1 else 0

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """Its bytes, if it leaves the first node."""
        return self.block_bytes if nodes == 2 and len(group) == 1 else 0


class Bandwidth(MeasuredKernel):
    """Pairs, sizes, memory and traffic of the windowed stream."""

    name = "bandwidth"
    incidental = frozenset({"bytes", "refine"})
    study: type[Study] = BandwidthStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """A pair for each pattern that the fabric has, or a note; StudyError if a cell's limit is too short."""
        assert isinstance(study, BandwidthStudy)
        assert isinstance(series, BandwidthSeries)
        section, order = study.bandwidth, study.placement.order
        notes: list[str] = []
        sweeps = [swept(section, cache, notes) for cache in section.caches]
        found: list[tuple[Shape, dict[str, Any]]] = []
        # Hosts are only candidates here, so the largest of several shapes is enough.
        within = [shape for shape in shapes if not shape.oversubscribed]
        for shape in sorted(within, key=lambda shape: (shape.nodes, shape.ranks_per_node))[-1:]:
            hosts, classes = representatives(study, fabric, shape, notes)
            job = Shape(len(hosts) or shape.nodes, shape.ranks_per_node, hosts=hosts)
            for pattern in section.patterns:
                pairs = pairs_of(pattern, fabric, job, classes)
                if not pairs:
                    notes.append(f"{pattern}: {nothing(pattern, fabric, job)}")
                for first, second, more in pairs:
                    members = [rank_at(*end, job.nodes, job.ranks_per_node, order) for end in (first, second)]
                    place_values = {"pattern": pattern, **more, "members": members}
                    found += [(job, place_values | values) for values in sweeps if values["bytes"]]
        enough_time(found, study.measure, str(study.path))
        return Sweep(tuple(found), tuple(dict.fromkeys(notes)))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory: messages in flight, samples, and an estimate of MPI's own."""
        return {
            "messages under way": values.get("footprint", 0),  # which a stored cell does not name
            "samples": sample_bytes(len(values["bytes"]) + values["refine"], measure),
            **staging(ranks),
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """The largest message, and the footprint that all messages cycle through."""
        largest = values["bytes"][-1]
        return Sizes(block=largest, local=values.get("footprint", largest * outstanding(largest, values)))

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """One message of each size, ascending."""
        return {op_name(OP, size): Stream(size) for size in values["bytes"]}

    def words(self, values: Mapping[str, Any]) -> str:
        """The pattern, the level of the switch between the two, the cache or memory, and the number of sizes."""
        return counted(values, values["pattern"], values.get("level", ""), CACHES.get(values.get("cache", ""), ""))

    def cache(self, values: Mapping[str, Any]) -> str:
        """As the study chose; empty for runs from before Weft 0.2, whose footprint grew with the size."""
        return str(values.get("cache", ""))

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        """Keys of the flat plan."""
        keys = ("bytes", "pattern", "refine", "window", "window_bytes", "cache", "footprint")
        return {key: values[key] for key in keys}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """A full window per call, as if both ranks sent."""
        return len(values["bytes"]) * calls * (WINDOW * ranks + barrier_messages(ranks))


def outstanding(size: int, values: Mapping[str, Any]) -> int:
    """Number of messages of a size in flight together. Runs from before Weft 0.2 had no footprint."""
    most = min(values["window_bytes"], values.get("footprint", values["window_bytes"]))
    return max(1, min(values["window"], most // max(size, 1)))


def swept(section: BandwidthSection, cache: Cache, notes: list[str]) -> dict[str, Any]:
    """Values of a cell for its sizes and footprint; adds a note on sizes that do not fit into a cache."""
    sizes, footprint = section.sizes_of(cache), section.footprint(cache)
    if len(sizes) < len(section.sizes):
        most = exact_bytes(footprint // FEWEST_PLACES)
        notes.append(f"{cache}: sizes over {most} are left out, {FEWEST_PLACES} of them are more than its footprint")
    return {
        "bytes": list(sizes),
        "refine": section.refine,
        "window": section.window,
        "window_bytes": section.window_bytes,
        "cache": cache,
        "footprint": footprint,
    }


Classes = list[tuple[int, str, int]]
Place = tuple[int, int]


def representatives(
    study: BandwidthStudy, fabric: Fabric, shape: Shape, notes: list[str]
) -> tuple[tuple[str, ...], Classes]:
    """Hosts of the launch, and (index of a host, level, hops) for each class of hosts relative to the first.

    Only one host of each class is used: a launch over all nodes to measure between two of them would be waste.
    """
    try:
        candidates = place(fabric, study.placement.nodes, shape.nodes)
    except NoRoomError:
        return (), []  # the plan adds a row with the reason
    if len(candidates) == 1 or fabric.network is None:
        return candidates[:1], []
    network = build_network(fabric)
    places = network.indices(list(candidates))
    first = next(group for group in groups_alike(network, places) if 0 in group.members)
    hops, levels = first.hops, first.level
    chosen: dict[tuple[str, int], int] = {}
    for host in range(1, len(candidates)):
        chosen.setdefault((LEVELS[int(levels[host])], int(hops[host])), host)
    nearest = sorted(chosen.items(), key=lambda item: (item[0][1], item[1]))
    if len(candidates) > 1 + len(nearest):
        notes.append(f"{1 + len(nearest)} of {len(candidates)} nodes are used: one for each hop class")
    hosts = (candidates[0], *(candidates[host] for _, host in nearest))
    return hosts, [(index, level, hops) for index, ((level, hops), _) in enumerate(nearest, start=1)]


def pairs_of(pattern: str, fabric: Fabric, job: Shape, classes: Classes) -> list[tuple[Place, Place, dict[str, Any]]]:
    """Pairs of a pattern, each end as (node, rank on it), with the values that distinguish the pairs of a pattern."""
    if pattern == "inter-node":
        return [((0, 0), (host, 0), {"level": level, "hops": hops}) for host, level, hops in classes]
    socket = cores_of_a_socket(fabric, job)
    if pattern == "intra-socket":
        return [((0, 0), (0, 1), {})] if min(socket, job.ranks_per_node) > 1 else []
    return [((0, 0), (0, socket), {})] if socket < job.ranks_per_node else []


def cores_of_a_socket(fabric: Fabric, job: Shape) -> int:
    """Ranks of a node on one socket, with one rank per core in order; the kernel verifies the binding."""
    cores = fabric.node.cores or job.ranks_per_node
    return max(1, cores // (fabric.node.sockets or 1))


def nothing(pattern: str, fabric: Fabric, job: Shape) -> str:
    """The reason why there is no pair of a pattern."""
    if pattern == "inter-node":
        return "there is one node"
    stated = fabric.node.sockets
    sockets = f"{stated} socket{'s' if stated != 1 else ''}" if stated else "unstated sockets, taken as one"
    return f"no such pair of ranks on a node of {sockets} with {job.ranks_per_node} ranks"
