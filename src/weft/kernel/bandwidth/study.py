# SPDX-License-Identifier: BSD-3-Clause
"""Keys of a study of the kernel ``bandwidth``."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from weft.files.section import Section
from weft.kernel.sizes import ByteSizes, Refine, powers_of_two
from weft.study import NUMBER, Nodes, RanksPerNode, Series, SeriesOf, Study, as_written, whole_numbers
from weft.units import Bytes, written

#: One rank a node, or all ranks of one node: all others send to the first, or the first to all others.
FANS = ("incast", "outcast")
Pattern = Literal["intra-socket", "inter-socket", "inter-node", "incast", "outcast"]
Cache = Literal["hot", "cold", "shared"]
#: Least number of hot messages in flight together: with a single one the time would include waiting for each.
FEWEST_PLACES = 4


def parse_pairs(value: object) -> tuple[int, ...] | Literal["cores"]:
    """Counts of pairs; ValueError for anything but "cores" and a list of different whole numbers from 1."""
    if value == "cores":
        return "cores"
    wanted = 'a list of different whole numbers from 1, such as [1, 4], or "cores" (1, 2, 4 ...)'
    return tuple(sorted(whole_numbers(value, wanted)))


_COUNTS = {"anyOf": [{"type": "array", "items": NUMBER}, {"const": "cores"}]}
PairCounts = Annotated[tuple[int, ...] | Literal["cores"], *written(parse_pairs, as_written, _COUNTS)]


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

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The series to measure: hot, cold or both."""
        return ("hot", "cold") if self.cache == "both" else (self.cache,)

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
