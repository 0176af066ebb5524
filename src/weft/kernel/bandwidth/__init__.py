# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``bandwidth``: a window of messages between two ranks of each class of the fabric, or of several flows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from weft.fabric.hops import LEVELS, groups_alike
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.files.section import Section
from weft.format import exact_bytes, plural
from weft.kernel import Kernel, Shape, Sizes, Sweep, counted, find_hosts
from weft.kernel.budget import enough_time, sample_bytes, staging
from weft.kernel.jobs import rank_at
from weft.kernel.sizes import CACHES, ByteSizes, Refine, flows_text, op_name, powers_of_two
from weft.kernel.traffic import Traffic, barrier_messages
from weft.study import NUMBERS, Measure, Nodes, RanksPerNode, Series, SeriesOf, Study, doubling, numbers_or
from weft.units import Bytes

FANS = ("incast", "outcast")  # one rank a node, or all of one node: all others send to the first, or it to them
Pattern = Literal["intra-socket", "inter-socket", "inter-node", "incast", "outcast"]
Cache = Literal["hot", "cold", "shared"]
FEWEST_PLACES = 4  # hot messages in flight together: with a single one the time would include waiting for each
OP = "send"
WINDOW = 64  # messages in flight at a time, at most
Classes = list[tuple[int, str, int]]
_PAIRS = 'a list of different whole numbers from 1, such as [1, 4], or "cores" (1, 2, 4 ...)'
PairCounts = Annotated[
    tuple[int, ...] | Literal["cores"], *numbers_or(_PAIRS, {"anyOf": [NUMBERS, {"const": "cores"}]}, "cores")
]


class BandwidthSection(Section, frozen=True):
    """``[bandwidth]``: which pairs, over which sizes, how many messages at a time."""

    patterns: Annotated[tuple[Pattern, ...], Field(min_length=1, max_length=5)] = Field(
        ("intra-socket", "inter-socket", "inter-node"),
        description="of intra-socket, inter-socket, inter-node (a pair for each hop class), incast (a rank of every "
        "node sends to the first node), outcast (the other way round)",
    )
    ways: Annotated[tuple[Literal["one", "both"], ...], Field(min_length=1, max_length=2)] = Field(
        ("one",), description="one: the first rank of a pair sends; both: the second sends as much at the same time"
    )
    pairs: PairCounts = Field(
        (1,), description='of inter-node: pairs of ranks at once between the two nodes: [1, 4], or "cores" (1, 2, 4 ..)'
    )
    transfers: Annotated[tuple[Literal["send", "put", "get"], ...], Field(min_length=1, max_length=3)] = Field(
        ("send",), description="send (MPI_Isend), put, get (one-sided, completed by MPI_Win_flush_all)"
    )
    sizes: ByteSizes = Field(
        powers_of_two(1, 64 * 2**20),
        description='bytes of a message: "1 B .. 64 MiB" (powers of two), or a list such as ["8 B", "1 KiB"]',
    )
    refine: Refine = 8
    window: Annotated[int, Field(strict=True, ge=1, le=100_000)] = Field(64, description="messages in flight, at most")
    window_bytes: Bytes = Field(
        64 * 2**20, description='bytes in flight, at most (one message always may be): "64 MiB"'
    )
    cache: Literal["hot", "cold", "both", "shared"] = Field(
        "both", description="hot, cold or both: a series of sizes for each; shared: all messages in one place, as OSU"
    )
    hot_footprint: Bytes = Field(
        2 * 2**20, description='buffer on either side through which hot messages of every size rotate: "2 MiB"'
    )
    cold_footprint: Bytes = Field(
        256 * 2**20, description='the same for cold ones; at least twice the last-level cache: "256 MiB"'
    )

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse a repeated pattern, and messages without bytes."""
        for name in ("patterns", "ways", "transfers"):
            if len(set(getattr(self, name))) != len(getattr(self, name)):
                raise ValueError(f"{name} lists one {name[:-1]} twice")
        if self.pairs != (1,) and "inter-node" not in self.patterns:
            raise ValueError('pairs are those of the pattern "inter-node", which is not among the patterns')
        if self.sizes[0] < 1:
            raise ValueError("sizes start at 1 B: a message of 0 B has no bandwidth")
        if self.cache in ("cold", "both") and self.cold_footprint < max(self.sizes[-1], 2 * self.hot_footprint):
            raise ValueError("cold_footprint must hold the largest message, and twice hot_footprint")
        if self.cache == "hot" and not self.sizes_of("hot"):
            raise ValueError(f"hot_footprint must hold {FEWEST_PLACES} of the smallest messages")
        return self

    def footprint(self, cache: Cache) -> int:
        """Bytes on either side that the messages of a series cycle through, for all sizes."""
        return {"hot": self.hot_footprint, "cold": self.cold_footprint, "shared": self.sizes[-1]}[cache]

    def sizes_of(self, cache: Cache, flows: int = 1) -> tuple[int, ...]:
        """Sizes of a series: one message of each flow fits into its footprint, of a hot one at least four messages."""
        places = {"hot": max(flows, FEWEST_PLACES), "cold": flows, "shared": 1}[cache]
        most = self.footprint(cache) // places
        line = 64 if flows > 1 else 1  # each flow has places of its own, which begin at a cache line
        return tuple(size for size in self.sizes if -(-size // line) * line <= most)


class BandwidthSeries(Series, frozen=True):
    """Where pairs are looked for: among the first nodes of the placement."""

    nodes: Nodes = Field("1..nodes", description='nodes among which pairs are chosen: a number, or "1..nodes" for all')
    ranks_per_node: RanksPerNode = Field("cores", description='ranks started on each node, "cores" for one a core')


class BandwidthStudy(Study, frozen=True):
    """A study of the kernel ``bandwidth``."""

    kernel: Literal["bandwidth"] = Field(description="bandwidth")
    bandwidth: BandwidthSection = Field(BandwidthSection(), description="[bandwidth]")  # pyright: ignore[reportCallIssue]
    series: SeriesOf[BandwidthSeries]


@dataclass(frozen=True)
class Stream:
    """One message among those of a window of every flow, where they run in turn: its share of what each flow moves.
    Others are in flight at the same time, so latency does not bound it; of a single sender overhead and gap do.
    """

    message_bytes: int  # sent as it is
    messages: int = 1  # 0 where several ranks send, or one-sided calls do
    both: bool = False  # ways
    fan: bool = False  # between the first node and all others; else from the first half of the ranks to the second
    rounds: int = 0

    def between(self, nodes: int, ranks_per_node: int) -> Sequence[Sequence[int]]:
        """The first node sends to the others: an incast is its mirror image."""
        share = self.message_bytes // max(nodes - 1, 1) // (2 if self.both else 1)
        return [[share * (a != b and (a == 0 or (self.both and b == 0))) for b in range(nodes)] for a in range(nodes)]

    def converging(self, nodes: int, ranks_per_node: int) -> tuple[int, int]:
        """One sender, or of a fan one of each other node."""
        return max(nodes - 1, 1) if self.fan else 1, self.message_bytes

    def staying(self, nodes: int, ranks_per_node: int) -> int:
        """Its bytes, copied once, if all ranks are on one node."""
        return self.message_bytes if nodes == 1 else 0

    def leaving(self, group: Collection[int], nodes: int, ranks_per_node: int) -> int:
        """The share of the nodes on the other side of the border than the first."""
        apart = nodes - len(group) if 0 in group else len(group)
        return self.message_bytes * apart // max(nodes - 1, 1) // (2 if self.both else 1)


class Bandwidth(Kernel):
    """Flows, sizes, memory and traffic of the windowed stream."""

    name = "bandwidth"
    incidental = frozenset({"bytes", "refine"})
    keys = ("bytes", "pattern", "way", "transfer", "refine", "window", "window_bytes", "cache", "footprint")
    study: type[Study] = BandwidthStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        assert isinstance(study, BandwidthStudy)
        assert isinstance(series, BandwidthSeries)
        section, order = study.bandwidth, study.placement.order
        notes: list[str] = []
        found: list[tuple[Shape, dict[str, Any]]] = []
        # Hosts are only candidates here, so the largest of several shapes is enough.
        within = [shape for shape in shapes if not shape.oversubscribed]
        for shape in sorted(within, key=lambda shape: (shape.nodes, shape.ranks_per_node))[-1:]:
            hosts, classes = representatives(study, fabric, shape, notes)
            job = Shape(len(hosts) or shape.nodes, shape.ranks_per_node, hosts=hosts)
            for pattern in section.patterns:
                where = shape if pattern in FANS else job
                teams = teams_of(pattern, section, fabric, where, classes)
                if not teams:
                    notes.append(f"{pattern}: {nothing(pattern, fabric, where)}")
                for (ends, more), way, call in product(teams, section.ways, section.transfers):
                    members = [rank_at(*end, where.nodes, where.ranks_per_node, order) for end in ends]
                    kind = ({"way": way} if way != "one" else {}) | ({"transfer": call} if call != OP else {})
                    place_values = {"pattern": pattern, **more, **kind, "members": members}
                    flows = len(members) - 1 if pattern in FANS else 1
                    caches: tuple[Cache, ...] = ("hot", "cold") if section.cache == "both" else (section.cache,)
                    sweeps = [swept(section, cache, flows, notes) for cache in caches]
                    found += [(where, place_values | values) for values in sweeps if values["bytes"]]
        enough_time(found, study.measure, str(study.path))
        return Sweep(tuple(found), tuple(dict.fromkeys(notes)))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        under_way = values.get("footprint", 0) * (2 if values.get("way") == "both" else 1)  # earlier cells name none
        samples = sample_bytes(len(values["bytes"]) + values["refine"], measure)
        return {"messages under way": under_way, "samples": samples, **staging(ranks)}

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        largest = values["bytes"][-1]
        flying = max(1, min(values["window"], values["window_bytes"] // max(largest, 1)))
        return Sizes(block=largest, local=values.get("footprint", largest * flying))  # none before Weft 0.2

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        call, fan, both = values.get("transfer", OP), values["pattern"] in FANS, values.get("way") == "both"
        one_sender = call == OP and not both and (ranks == 2 or values["pattern"] == "outcast")
        return {op_name(call, size): Stream(size, int(one_sender), both, fan) for size in values["bytes"]}

    def words(self, values: Mapping[str, Any]) -> str:
        both = "both ways" if values.get("way") == "both" else ""
        kind = flows_text(values), both, values.get("transfer", "")
        place = CACHES.get(values.get("cache", ""), "")
        return counted(values, values["pattern"], values.get("level", ""), *kind, place)

    def cache(self, values: Mapping[str, Any]) -> str:
        """As the study chose; empty for runs from before Weft 0.2, whose footprint grew with the size."""
        return str(values.get("cache", ""))

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """A full window per call, as if every rank sent."""
        return len(values["bytes"]) * calls * (WINDOW * ranks + barrier_messages(ranks))


def swept(section: BandwidthSection, cache: Cache, flows: int, notes: list[str]) -> dict[str, Any]:
    """Values of a cell for its sizes and footprint; adds a note on sizes of which too few fit into it."""
    sizes, footprint = section.sizes_of(cache, flows), section.footprint(cache)
    if len(sizes) < len(section.sizes):
        fewest = max(flows, FEWEST_PLACES) if cache == "hot" else flows
        most = exact_bytes(footprint // fewest)
        notes.append(f"{cache}: sizes over {most} are left out, {fewest} of them are more than its footprint")
    window = {"window": section.window, "window_bytes": section.window_bytes}
    return {"bytes": list(sizes), "refine": section.refine, **window, "cache": cache, "footprint": footprint}


def representatives(
    study: BandwidthStudy, fabric: Fabric, shape: Shape, notes: list[str]
) -> tuple[tuple[str, ...], Classes]:
    """Hosts of the launch, one for each class relative to the first, and (index, level, hops) of each class."""
    candidates, _ = find_hosts(study, fabric, shape)  # of none the plan adds a row with the reason
    if len(candidates) < 2 or fabric.network is None:
        return candidates[:1], []
    network = build_network(fabric)
    first = next(group for group in groups_alike(network, network.indices(list(candidates))) if 0 in group.members)
    chosen: dict[tuple[str, int], int] = {}
    for host in range(1, len(candidates)):
        chosen.setdefault((LEVELS[int(first.level[host])], int(first.hops[host])), host)
    nearest = sorted(chosen.items(), key=lambda item: (item[0][1], item[1]))
    if len(candidates) > 1 + len(nearest):
        notes.append(f"{1 + len(nearest)} of {len(candidates)} nodes are used: one for each hop class")
    hosts = (candidates[0], *(candidates[host] for _, host in nearest))
    return hosts, [(index, level, hops) for index, ((level, hops), _) in enumerate(nearest, start=1)]


def teams_of(
    pattern: str, section: BandwidthSection, fabric: Fabric, job: Shape, classes: Classes
) -> list[tuple[list[tuple[int, int]], dict[str, Any]]]:
    """Ranks of a pattern, senders of pairs first, as (node, rank on it), with the values that distinguish its teams."""
    each = job.ranks_per_node
    if pattern in FANS:
        ends = [(0, rank) for rank in range(each)] if job.nodes == 1 else [(node, 0) for node in range(job.nodes)]
        return [(ends, {})] if len(ends) > 2 else []
    if pattern == "inter-node":
        wanted = doubling(each) if section.pairs == "cores" else section.pairs
        counts = sorted(count for count in wanted if count <= each)
        return [
            ([(node, rank) for node in (0, host) for rank in range(count)], {"level": level, "hops": hops})
            for (host, level, hops), count in product(classes, counts)
        ]
    # ranks of a node on one socket, with one rank per core in order; the kernel verifies the binding
    socket = max(1, (fabric.node.cores or each) // (fabric.node.sockets or 1))
    if pattern == "intra-socket":
        return [([(0, 0), (0, 1)], {})] if min(socket, each) > 1 else []
    return [([(0, 0), (0, socket)], {})] if socket < each else []


def nothing(pattern: str, fabric: Fabric, job: Shape) -> str:
    """The reason why there is no pair of a pattern."""
    if pattern in FANS:
        return "fewer than three nodes, and not three ranks on one"
    if pattern == "inter-node":
        return "there is one node" if job.nodes == 1 else f"no such number of pairs of {job.ranks_per_node} ranks"
    sockets = plural(fabric.node.sockets, "socket") if fabric.node.sockets else "unstated sockets, taken as one"
    return f"no such pair of ranks on a node of {sockets} with {job.ranks_per_node} ranks"
