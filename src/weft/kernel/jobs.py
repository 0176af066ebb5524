# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of a launch: the team that measures a cell, and two jobs, one of which measures beside the other's traffic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from weft.errors import StudyError
from weft.kernel.sizes import op_name

BURSTS = 2  # of traffic at full strength, under way at a time
BESIDE = "+"  # between a call and the traffic beside it, in the names of operations


@dataclass(frozen=True)
class Team:
    """Ranks of a launch that measure together, and their distribution over its nodes."""

    members: Sequence[int]  # ranks in the launch, in the order of the team's own ranks
    counts: tuple[int, ...]  # of its ranks on each node that has any, in the order of the nodes' first ranks
    places: tuple[int, ...]  # index of each of these nodes among the launch's hosts

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.members)

    def is_whole(self, ranks: int) -> bool:
        """Whether the team is all ranks of a launch of ``ranks`` ranks, in order."""
        own, whole = self.members, range(ranks)
        return own == whole or (len(own) == ranks and tuple(own) == tuple(whole))


def node_of(rank: int, nodes: int, ranks_per_node: int, order: Literal["block", "cyclic"]) -> int:
    """Index of the host on which a rank of a launch runs."""
    return rank // ranks_per_node if order == "block" else rank % nodes


def rank_at(node: int, local: int, nodes: int, ranks_per_node: int, order: Literal["block", "cyclic"]) -> int:
    """Rank number ``local`` of a node: the inverse of :func:`node_of`."""
    return node * ranks_per_node + local if order == "block" else local * nodes + node


def team_of(values: Mapping[str, Any], nodes: int, ranks_per_node: int, order: Literal["block", "cyclic"]) -> Team:
    """The team of a kernel's values: ``members``, the first ``ranks``, or all; StudyError if the launch has fewer."""
    whole = nodes * ranks_per_node
    members: Sequence[int] = values.get("members") or range(values.get("ranks", whole))
    if not members or (members[-1] if isinstance(members, range) else max(members)) >= whole:
        what = f"{len(members)} ranks, up to number {max(members, default=0)}, of a launch of {whole}"
        raise StudyError(what, "ask for fewer, or for more nodes or ranks a node")
    if not isinstance(members, range):
        found = Counter(node_of(rank, nodes, ranks_per_node, order) for rank in members)
        return Team(tuple(members), tuple(found.values()), tuple(found))
    # the first ranks of a launch, in closed form: there may be ten million
    each, more = divmod(len(members), ranks_per_node if order == "block" else nodes)
    if order == "block":
        counts = (ranks_per_node,) * each + ((more,) if more else ())
    else:
        counts = (each + 1,) * more + ((each,) * (nodes - more) if each else ())
    return Team(members, counts, tuple(range(len(counts))))


def team_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the flat plan that name a cell's team; none if all ranks of the launch take part."""
    key = "members" if "members" in values else "ranks"
    return {key: values[key]} if key in values else {}


def pairs_of(pattern: str, ranks: int) -> list[tuple[int, int]]:
    """Sender and receiver of each message of a pattern (``native/measure/interference/traffic.hpp``)."""
    half = ranks // 2
    if pattern in ("alltoall", "allreduce", "exchange"):
        return [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    if pattern == "incast":
        return [(other, 0) for other in range(1, ranks)]
    if pattern == "bcast":
        return [(0, other) for other in range(1, ranks)]
    if pattern == "shift":
        return [(a, (a + half) % ranks) for a in range(ranks)] if half else []
    return [(a, a + half) for a in range(half)]


def count_pairs(pattern: str, ranks: int) -> int:
    """How many messages `pairs_of` lists, without listing them."""
    return ranks * (ranks - 1) if pattern in ("alltoall", "allreduce", "exchange") else ranks


def word_of(aggressor: str, percent: int) -> str:
    """Traffic with its strength, as operations have it: ``incast``, ``incast.25``."""
    return aggressor if percent == 100 else f"{aggressor}.{percent}"


def read_word(word: str) -> tuple[str, int]:
    """The inverse of `word_of`."""
    aggressor, _, percent = word.partition(".")
    return aggressor, int(percent or 100)


@dataclass(frozen=True)
class Jobs:
    """The two jobs of a cell, with ranks of the launch: the call of one is measured beside the other's traffic."""

    victim: str
    place: str
    size: int
    measuring: Sequence[int]
    beside: Sequence[int]
    words: Sequence[str]  # kinds of traffic
    at_once: bool  # whether bytes decide the time of the call, and all of its messages begin at once
    depth: int = 1  # messages of the call under way between two ranks
    burst: int = 1  # messages of traffic from a rank to each of its peers

    def depths(self, word: str) -> tuple[int, int]:
        """Messages under way between two ranks: of the call, and of a kind of traffic."""
        return self.depth, self.burst * (BURSTS if read_word(word)[1] == 100 else 1)

    @property
    def alone(self) -> str:
        """The operation of the call alone."""
        return op_name(self.victim, self.size)

    @property
    def beside_calls(self) -> dict[str, str]:
        """The operation beside each kind of traffic, by its word."""
        return {word: op_name(self.victim + BESIDE + word, self.size) for word in self.words}

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Sender and receiver of the call's messages; a ping-pong's come back."""
        found = pairs_of(self.victim, len(self.measuring))
        both = found + [(b, a) for a, b in found] if self.victim == "pingpong" else found
        return [(self.measuring[a], self.measuring[b]) for a, b in both]

    def pairs_beside(self, word: str) -> list[tuple[int, int]]:
        """Sender and receiver of the messages of a kind of traffic."""
        return [(self.beside[a], self.beside[b]) for a, b in pairs_of(read_word(word)[0], len(self.beside))]
