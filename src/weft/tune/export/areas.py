# SPDX-License-Identifier: BSD-3-Clause
"""A table's rules as areas of ranks and bytes: libraries know a communicator's size, and nothing of nodes.

A table is read as ``libweft.so`` reads it, by the first rule that matches: a grid of areas between all ranges' ends.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from weft.mpi.alltoall import PMPI
from weft.mpi.selection import Rule, SelectionTable

MOST = 2**62  # Open end of a range: no communicator and no block is larger


@dataclass(frozen=True)
class Sizes:
    """Blocks from ``low`` up to ``high`` bytes, both included, and the algorithm of the first rule that matches."""

    low: int
    high: int
    algorithm: str

    @property
    def words(self) -> str:
        """The range, for people."""
        return _words(self.low, self.high)


@dataclass(frozen=True)
class Ranks:
    """Communicators of ``low`` up to ``high`` ranks, both included: their sizes in ascending order, without a gap."""

    low: int
    high: int
    sizes: tuple[Sizes, ...]

    @property
    def words(self) -> str:
        """The range, for people."""
        return _words(self.low, self.high)


def ranks_of(rule: Rule) -> tuple[int, int]:
    """Numbers of ranks that a rule is for: its own range, narrowed to what its nodes can hold."""
    low, high = rule.p or (0, MOST)
    if rule.nodes and rule.ranks_per_node:
        low = max(low, rule.nodes[0] * rule.ranks_per_node[0])
        high = min(high, rule.nodes[1] * rule.ranks_per_node[1])
    return low, high


def areas(table: SelectionTable, op: str) -> list[Ranks]:
    """All numbers of ranks in ascending order, with the algorithm of ``alltoall`` or ``alltoallv`` at each size."""
    rules = [rule for rule in table.rules if rule.op in (op, "*")]
    found = [
        Ranks(low, high, tuple(_joined(_sizes([rule for rule in rules if _holds(ranks_of(rule), low)]))))
        for low, high in _parts(ranks_of(rule) for rule in rules)
    ]
    return [
        Ranks(same[0].low, same[-1].high, same[0].sizes)
        for same in (list(group) for _, group in groupby(found, key=lambda each: each.sizes))
    ]


def _sizes(rules: Sequence[Rule]) -> list[Sizes]:
    found: list[Sizes] = []
    for low, high in _parts(rule.bytes or (0, MOST) for rule in rules):
        matching = (rule.algorithm for rule in rules if _holds(rule.bytes or (0, MOST), low))
        found.append(Sizes(low, high, next(matching, PMPI)))
    return found


def _joined(sizes: Sequence[Sizes]) -> list[Sizes]:
    groups = (list(group) for _, group in groupby(sizes, key=lambda each: each.algorithm))
    return [Sizes(same[0].low, same[-1].high, same[0].algorithm) for same in groups]


def _parts(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The whole numbers from 0, cut where one of the ranges begins or has ended."""
    cuts = {0, MOST + 1}
    for low, high in ranges:
        cuts |= {low, high + 1}
    return [(low, high - 1) for low, high in pairwise(sorted(cut for cut in cuts if cut <= MOST + 1))]


def _holds(ends: tuple[int, int], value: int) -> bool:
    return ends[0] <= value <= ends[1]


def _words(low: int, high: int) -> str:
    if high >= MOST:
        return f"{low} or more" if low else "all"
    return str(low) if low == high else f"{low} to {high}"
