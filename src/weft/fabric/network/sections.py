# SPDX-License-Identifier: BSD-3-Clause
"""The ``[network]`` section of a fabric file and the sections of each topology below it."""

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from weft.fabric.readers import Format
from weft.files.reading import is_table
from weft.files.section import FilePath, Section
from weft.format import format_seconds
from weft.units import Bytes, Rate, parse_seconds, quoted


def below(most_s: float, why: str) -> tuple[Any, ...]:
    """Metadata of a pydantic type for times up to ``most_s`` seconds, written with their unit as all times are."""

    def read(text: object) -> float:
        seconds = parse_seconds(text)
        if seconds > most_s:
            raise ValueError(f"{format_seconds(seconds)} is not plausible (at most {format_seconds(most_s)}): {why}")
        return seconds

    return quoted(read, "s", "1.2 us")


Latency = Annotated[float, *below(10e-3, "Gigabit Ethernet takes 20 to 300 us, InfiniBand about 1 us")]
"""One-way, of an adapter, a link or a node's memory."""
Cost = Annotated[float, *below(100e-3, "a message costs its sender 0.1 to some hundred us")]
"""What one message costs besides its bytes: LogGP's o and g, and stalls."""
FirstContact = Annotated[float, *below(1.0, "two ranks connect in some us to some ten ms")]
"""What either end spends when two ranks first meet."""


class Segment(Section, frozen=True):
    """LogGP's parameters for messages above a size; what it leaves out is that of the network."""

    above: Bytes = Field(description='messages larger than this: "16 KiB"')
    overhead: Cost | None = Field(None, description='o: time one rank spends on each message it sends: "5 us"')
    message_gap: Cost | None = Field(None, description='g: shortest time between two messages of one adapter: "100 ns"')
    rate: Rate | None = Field(
        None,
        description='1/G of one rank alone: "10 GB/s"; where it is below adapter_rate, the sender is busy for the rest',
    )


class MessageCost(NamedTuple):
    """What a message costs besides the bytes at its adapter's rate."""

    overhead_s: float  # LogGP's o: the rank that sends is busy, with the stall of a rendezvous
    gap_s: float  # LogGP's g: no other message leaves the adapter before
    s_per_byte: float = 0.0  # the sender is busy because one rank alone does not reach the adapter's rate

    def busy_s(self, message_bytes: int) -> float:
        """Seconds that the sending rank is busy with one message."""
        return self.overhead_s + self.s_per_byte * message_bytes


Penalty = Annotated[float, Field(strict=True, ge=1, le=100, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
Topology = Literal["star", "fat-tree", "dragonfly", "torus", "dump"]


class TreeSection(Section, frozen=True):
    """A fat tree: leaves with hosts, spines above them, and cores above the spines when there are pods."""

    nodes_per_leaf: Count = Field(description="hosts on one leaf switch, in the order of node.names")
    uplinks: Count = Field(description="links from one leaf up")
    link_rate: Rate = Field(description='rate of one such link, each way: "4 GB/s"')
    link_latency: Latency = Field(0.0, description='time such a link adds to a message: "100 ns"')
    spines: Count | None = Field(
        None, description="spines a leaf's uplinks spread over (in its pod); default: as many as uplinks"
    )
    leaves: Count | None = Field(
        None, description="leaf switches, some perhaps without nodes; default: as many as the nodes need"
    )
    leaves_per_pod: Count | None = Field(None, description="leaves under one pod: makes a third level of switches")
    pod_uplinks: Count | None = Field(None, description="links from one pod up to the cores, over all its spines")
    pod_link_rate: Rate | None = Field(None, description="rate of one such link, each way; default: link_rate")
    pod_link_latency: Latency | None = Field(None, description="time such a link adds; default: link_latency")
    cores: Count | None = Field(None, description="core switches; default: one for each of a pod's uplinks")


class DragonflySection(Section, frozen=True):
    """A dragonfly: groups of routers, all joined inside a group, every two groups joined by global links."""

    nodes_per_router: Count = Field(description="hosts on one router, in the order of node.names")
    routers_per_group: Count = Field(description="routers in a group, each joined to all others of the group")
    global_links: Count = Field(description="links of one router to other groups")
    groups: Count | None = Field(None, description="groups; default: as many as the nodes need")
    local_rate: Rate = Field(description='rate of a link inside a group, each way: "25 GB/s"')
    global_rate: Rate = Field(description='rate of a link between groups, each way: "25 GB/s"')
    local_latency: Latency = Field(0.0, description='time a link inside a group adds: "100 ns"')
    global_latency: Latency = Field(0.0, description='time a link between groups adds: "300 ns"')


class TorusSection(Section, frozen=True):
    """A torus: a grid of switches that closes on itself in each dimension."""

    dimensions: tuple[Count, ...] = Field(description="switches along each dimension, one to six of them: [8, 8, 4]")
    nodes_per_switch: Count = Field(1, description="hosts on one switch, in the order of node.names")
    link_rate: Rate = Field(description='rate of a link between switches, each way: "5 GB/s"')
    link_latency: Latency = Field(0.0, description='time such a link adds to a message: "100 ns"')


class DumpSection(Section, frozen=True):
    """A dump of a real fabric, beside the fabric file."""

    file: FilePath = Field(
        min_length=1, max_length=4096, description='the dump, relative to the fabric file: "x5.ibnetdiscover"'
    )
    format: Format | None = Field(
        None,
        description='"ibnetdiscover" (or --full), "ports" (ibnetdiscover -p), "subnet-list" (opensm-subnet.lst), '
        '"ibdiagnet" (db_csv), "edges" (CSV), "lldp", "slurm" or "ibsim"; default: detected',
    )
    tables: FilePath | None = Field(
        None,
        min_length=1,
        max_length=4096,
        description="forwarding tables of the same fabric (dump_fts, ibroute, opensm-lfts.dump, opensm.fdbs); "
        "default: minimal routes that Weft works out",
    )
    names: FilePath | None = Field(
        None, max_length=4096, description='a file of names by key, lines "H-0002c90300080e84 node7"'
    )
    link_rate: Rate | None = Field(
        None,
        description="what a link between switches carries at most; its rate where the dump has none (Slurm, ibsim)",
    )
    link_latency: Latency = Field(0.0, description='time a link between switches adds to a message: "100 ns"')


RENAMED = {"message_cost": "overhead", "rendezvous_latency": "rendezvous_stall"}


class NetworkSection(Section, frozen=True):
    """What joins the nodes.

    The parameters of a message are LogGP's (Alexandrov et al., 1995): latency is L, overhead o, message_gap g, and
    1 / adapter_rate G; segments give o, g and G by size. A message of b bytes keeps its sender busy for overhead, and
    for rendezvous_stall too if b exceeds eager_limit; then it takes latency (half on either host link), link_latency
    for each link between switches, and b over the share of rate that it gets.
    """

    preset: str | None = Field(
        None, description='numbers of an adapter and its switches, by name (weft fabric presets): "hdr-infiniband"'
    )
    topology: Topology = Field("star", description='"star" (one switch), "fat-tree", "dragonfly", "torus" or "dump"')
    latency: Latency | None = Field(None, description='one-way latency between two nodes on one switch: "1.2 us"')
    adapter_rate: Rate | None = Field(None, description='what one adapter can inject, each way: "3.5 GB/s"')
    rails: Annotated[int, Field(strict=True, ge=1, le=64)] = Field(
        1, description="adapters of a node, with adapter_rate each; rank i of a node uses adapter i modulo rails"
    )
    overhead: Cost = Field(0.0, description='o: time one rank spends on each message it sends, of any size: "0 us"')
    message_gap: Cost | None = Field(None, description='g: shortest time between two messages of one adapter: "100 ns"')
    segments: tuple[Segment, ...] = Field((), description="[[network.segments]]: o, g and G of messages above a size")
    eager_limit: Bytes | None = Field(
        None, description='largest message sent without asking the receiver first: "12 KiB"'
    )
    eager_overhead: Cost | None = Field(
        None, description='o of messages up to eager_limit, where a source states it; default: overhead: "1 us"'
    )
    overhead_of: Literal["messages", "calls"] = Field(
        "messages",
        description='what costs overhead, eager_overhead, rendezvous_stall: all "messages", or those of "calls" only, '
        "because they were fitted to calls: a pair of ranks then costs none",
    )
    rendezvous_stall: Cost | None = Field(
        None,
        description='how long a message above eager_limit stalls the rank that sends, besides its overhead: "3 us"',
    )
    routing: Literal["minimal", "adaptive", "valiant", "ecmp", "tables"] = Field(
        "minimal",
        description='of a dragonfly or torus: "minimal", "adaptive" or "valiant"; minimal routes are simulated, '
        'and times have the range of the others. Of a virtual fabric: "ecmp" or "tables" for switches that route, by a '
        "hash over the shortest ways or by forwarding tables; by default parallel switches are merged into one bridge",
    )
    hash_seed: Annotated[int, Field(strict=True, ge=0, lt=2**32)] = Field(
        1, description='of routing = "ecmp": seed of the switches\' hashes; 0: a new one at each start'
    )
    flow_penalty: Penalty | None = Field(
        None,
        description="largest factor by which flows that share an adapter slow each other, beyond adapter_rate: 1.35; "
        "times get that range",
    )
    transport: Literal["lossless", "tcp"] = Field(
        "lossless", description='"lossless" (InfiniBand, RDMA), or "tcp": where many send to one, packets may be lost'
    )
    hop_count: Literal["switch-links", "links"] = Field(
        "switch-links",
        description='what a hop is: "switch-links" (0 on one switch) or "links" (host links too: 2 on one switch)',
    )
    rates: dict[str, Rate] = Field(
        {}, description='links that differ, by their two ends: "leaf1 - spine0" = "10 MB/s" each way, "a -> b" one way'
    )
    tree: TreeSection | None = Field(
        None, description="only for topology fat-tree: nodes_per_leaf, uplinks, link_rate ..."
    )
    dragonfly: DragonflySection | None = Field(None, description="only for topology dragonfly")
    torus: TorusSection | None = Field(None, description="only for topology torus: dimensions, link_rate")
    dump: DumpSection | None = Field(None, description="only for topology dump: file")

    @model_validator(mode="before")
    @classmethod
    def old_names(cls, given: Any) -> Any:
        """Refuse a key by its name of before Weft 0.2, and tell its name of today."""
        for old, new in RENAMED.items():
            if is_table(given) and old in given:
                raise ValueError(f'network.{old} is now called network.{new}: write {new} = "..." in its place')
        return given

    @property
    def is_read(self) -> bool:
        """Whether it is read from files beside the fabric file, which are no part of a run folder."""
        return self.dump is not None

    @property
    def has_tables(self) -> bool:
        """Whether the forwarding tables of the real fabric are given."""
        return self.dump is not None and self.dump.tables is not None

    @property
    def node_rate(self) -> float | None:
        """What all adapters of a node inject, in bytes per second each way; None if not known."""
        return self.adapter_rate * self.rails if self.adapter_rate else None

    def cost(self, message_bytes: int) -> MessageCost:
        """What one message to another node costs besides its bytes at the adapter's rate."""
        overhead, gap, rate = getattr(self, self._overhead_key(message_bytes)), self.message_gap or 0.0, None
        if last := self._segment(message_bytes):
            overhead = overhead if last.overhead is None else last.overhead
            gap, rate = gap if last.message_gap is None else last.message_gap, last.rate
        slower = max(0.0, 1 / rate - 1 / self.adapter_rate) if rate and self.adapter_rate else 0.0
        stall = (self.rendezvous_stall or 0.0) if self._stalls(message_bytes) else 0.0
        return MessageCost(overhead + stall, gap, slower)

    def stated_costs(self, message_bytes: int) -> dict[str, float]:
        """The same in seconds by the keys that state it, with its latency: ``network.overhead``; none that is 0."""
        own = self._overhead_key(message_bytes)
        found = {own: getattr(self, own), "message_gap": self.message_gap, "latency": self.latency}
        if self._stalls(message_bytes):
            found["rendezvous_stall"] = self.rendezvous_stall
        if last := self._segment(message_bytes):
            at = self.segments.index(last)
            if last.overhead is not None:
                found |= {own: None, f"segments.{at}.overhead": last.overhead}
            if last.message_gap is not None:
                found |= {"message_gap": None, f"segments.{at}.message_gap": last.message_gap}
            if last.rate:
                found[f"segments.{at}.rate"] = self.cost(message_bytes).s_per_byte * message_bytes
        return {f"network.{key}": seconds for key, seconds in found.items() if seconds}

    def _segment(self, message_bytes: int) -> Segment | None:
        return next((each for each in reversed(self.segments) if message_bytes > each.above), None)

    def _overhead_key(self, message_bytes: int) -> str:
        return "overhead" if self._stalls(message_bytes) or self.eager_overhead is None else "eager_overhead"

    def _stalls(self, message_bytes: int) -> bool:
        return self.eager_limit is not None and message_bytes > self.eager_limit

    @property
    def of_pairs(self) -> Self:
        """The network that a pair of ranks meets: without what only calls cost."""
        if self.overhead_of == "messages":
            return self
        return self.model_copy(update={"overhead": 0.0, "eager_overhead": None, "rendezvous_stall": None})

    @property
    def limits(self) -> tuple[int, ...]:
        """Bytes up to which, each time, messages cost alike; ascending, without the last, endless range."""
        eager = () if self.eager_limit is None else (self.eager_limit,)
        return tuple(sorted({*eager, *(segment.above for segment in self.segments)}))

    @property
    def stated_limits(self) -> dict[str, str]:
        """The same limits in bytes by their keys: ``network.eager_limit``, ``network.segments.0.above``."""
        eager = {} if self.eager_limit is None else {"network.eager_limit": str(self.eager_limit)}
        return eager | {f"network.segments.{at}.above": str(each.above) for at, each in enumerate(self.segments)}

    @property
    def least_cost(self) -> MessageCost:
        """The least of each cost, over all sizes of a message."""
        every = [self.cost(0), *(self.cost(limit + 1) for limit in self.limits)]
        return MessageCost(*(min(values) for values in zip(*every, strict=True)))

    @model_validator(mode="after")
    def parts_fit_together(self) -> Self:
        """Refuse segments of which one hides another, and what the topology has not: rails, a routing, a section."""
        limits = [segment.above for segment in self.segments]
        if limits != sorted(set(limits)):
            raise ValueError("[[network.segments]] must be in ascending order of their sizes")
        if self.rails > 1 and self.topology == "dump":
            raise ValueError("a dump has its hosts' cables in it: leave out rails")
        if self.routing in ("adaptive", "valiant") and self.topology not in ("dragonfly", "torus"):
            raise ValueError(f'routing = "{self.routing}" is for a dragonfly or a torus, not for "{self.topology}"')
        for name in ("tree", "dragonfly", "torus", "dump"):
            needed = name == ("tree" if self.topology == "fat-tree" else self.topology)
            if needed != (getattr(self, name) is not None):
                verb = "needs a section" if needed else "does not use the section"
                raise ValueError(f'topology "{self.topology}" {verb} [network.{name}]')
        return self
