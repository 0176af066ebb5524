# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks of a launch measure a cell, and on which nodes they are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from weft.errors import StudyError


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

    @property
    def even(self) -> bool:
        """Whether every node has the same number of ranks."""
        return len(set(self.counts)) == 1


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
