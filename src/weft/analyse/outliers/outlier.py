# SPDX-License-Identifier: BSD-3-Clause
r"""A cause of slow pairs: what is slow, in which role and by how much; and whether disturbances made it (METHOD 20).

To make a median longer, steal has to fall on half of the values that it is of. An outlier's factor f is a median over
samples, launches and pairs. So in each of half of the launches, steal has to be at least a quarter of what its pairs
took too long: on half of the samples of half of the pairs. Of the time of a launch that excess is

.. math:: e = \frac{q (f/f_0 - 1)}{1 + q (f/f_0 - 1)}

where q is the share of its pairs among those measured, over the number of ways (sizes times modes), each of which has
the same time, and f_0 the least reported factor of its kind. So an outlier is valid if less than e / 4 was steal in
so many launches that the median over launches is theirs; or else if each of several launches shows it by itself
(`weft.analyse.pairs.make.found_in_every_launch`): whatever took the time would have had to choose the same pairs.

A single pair is in doubt, too, if one of its directions has fewer samples than a median may rest on (METHOD 8): its
first messages pay for windows that open.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from weft.analyse.checks import share_of_steal
from weft.analyse.outliers.rule import LEAST_FACTOR, LEAST_OWN_FACTOR
from weft.analyse.pairs.pair_times import PairTimes
from weft.analyse.tables.pairs import PAIR_FACTOR
from weft.format import format_bytes, format_factor, percent
from weft.store.rows import MeasuredRow

Kind = Literal["node", "memory", "link", "cable", "switch", "leaves", "route", "rank", "pair", "class"]
Role = Literal["sender", "receiver", "both", "unknown", ""]
ALL = 0.9  # from this share of slower pairs on, the sentence says that all partners are affected
#: Order in reports: a cause that slows many pairs comes before one that slows a single pair.
KINDS: tuple[Kind, ...] = ("node", "switch", "cable", "link", "leaves", "route", "memory", "rank", "class", "pair")
#: Kinds whose `Outlier.pairs` are pairs of nodes; those of the others are pairs of ranks.
NODE_KINDS: frozenset[Kind] = frozenset({"node", "switch", "cable", "link", "leaves"})
HALF_OF_HALF = 0.25
FEWEST = 10  # fewer samples than this, over all launches, are too few for a single pair
Way = tuple[int, int, int, str]  # source, target, bytes and mode of a pair


@dataclass(frozen=True)
class Sighting:
    """Effect of an outlier at one size and mode."""

    bytes: int
    mode: str
    factor: float  # half a round trip over the time expected without the outlier
    one_way: float | None = None  # the same for the slow direction alone; None if the clocks are not accurate enough
    share: float = 1.0  # share of its pairs that are slower
    low: float | None = None  # with high: 95 % interval of the factor
    high: float | None = None


@dataclass(frozen=True)
class Outlier:
    """A cause of slow pairs."""

    # ``node`` (with all other nodes), ``memory`` (pairs within a node), ``link`` (one direction of a cable), ``cable``,
    # ``switch``, ``leaves`` (between two leaves), ``route`` (between two nodes), ``rank``, ``pair``, or ``class``: the
    # pairs of a hop class split into two groups
    kind: Kind
    name: str
    role: Role  # of a node: how it is slow; empty for other kinds
    sightings: tuple[Sighting, ...]  # its effect at each size and mode where it stands out
    pairs: int  # number of pairs (of nodes; of ranks for ``pair`` and ``class``) that it affects
    # names of others that affect exactly the same pairs, so that no measurement of pairs can distinguish them
    also: tuple[str, ...] = ()
    detail: str = ""
    # node numbers of ``memory`` (one) and ``route`` (two), ranks of ``rank`` (one) and ``pair`` (two); ascending
    indices: tuple[int, ...] = ()
    cable: str = ""  # of a link: the name of its cable
    doubted: bool = False  # whether CPU steal, or too few samples, could have made it (`weft.analyse.outliers.outlier`)

    @property
    def factor(self) -> float:
        """The largest factor by which half a round trip is slower."""
        return max(seen.factor for seen in self.sightings)

    @property
    def title(self) -> str:
        """Kind, name and role: ``node n17 as receiver``."""
        roles = {"sender": "sender", "receiver": "receiver", "both": "sender and receiver"}
        words = {
            "node": f"node {self.name} as {roles.get(self.role, 'sender or receiver')}",
            "memory": f"node {self.name} within itself",
            "leaves": f"the way between {self.name}",
            "route": f"the way between {self.name}",
            "class": f"pairs at {self.name}",
        }
        return words.get(self.kind, f"{self.kind} {self.name}")

    @property
    def statement(self) -> str:
        """A sentence: which one, by how much, and with which partners."""
        worst = max(self.sightings, key=lambda seen: seen.factor)
        amount = f"{format_factor(worst.factor)} x"
        if worst.one_way is not None:
            amount = f"{format_factor(worst.one_way)} x one way ({amount} the half round trip)"
        largest = {seen.bytes: seen.factor for seen in sorted(self.sightings, key=lambda seen: seen.factor)}
        del largest[worst.bytes]
        if largest:
            rest = (f"{format_factor(factor)} x at {format_bytes(size)}" for size, factor in sorted(largest.items()))
            amount += f" at {format_bytes(worst.bytes)} ({', '.join(rest)})"
        parts = [f"{self.title}: {amount}"]
        if self.kind in ("node", "rank"):
            share = min(seen.share for seen in self.sightings)
            parts.append("all partners" if share >= ALL else f"{percent(share)} of its partners")
        if self.detail:
            parts.append(self.detail)
        if self.also:
            names = " and ".join(filter(None, (", ".join(self.also[:-1]), self.also[-1])))
            parts.append(f"indistinguishable from {names} (same pairs)")
        return ", ".join(parts)


def merge_outliers(found: Iterable[Outlier]) -> list[Outlier]:
    """Outliers, the strongest first, sightings of all sizes and modes merged; links of a slow cable join the cable."""
    known: dict[tuple[str, str], Outlier] = {}
    every = sorted(found, key=lambda outlier: outlier.kind == "link")
    cables = {outlier.name for outlier in every if outlier.kind == "cable"}
    for outlier in every:
        if outlier.cable in cables:
            cable = known["cable", outlier.cable]
            known["cable", outlier.cable] = replace(cable, sightings=(*cable.sightings, *outlier.sightings))
            continue
        key = (outlier.kind, outlier.name)
        if key not in known:
            known[key] = outlier
            continue
        both = (known[key], outlier)
        roles = {each.role for each in both if each.role not in ("", "unknown")}
        role = known[key].role if not roles else roles.pop() if len(roles) == 1 else "both"
        sure = [each for each in both if not each.doubted]
        sightings = tuple(seen for each in sure or both for seen in each.sightings)
        pairs, also = max(each.pairs for each in both), min((each.also for each in both), key=len)
        known[key] = replace(known[key], role=role, sightings=sightings, doubted=not sure, pairs=pairs, also=also)
    return sorted(known.values(), key=lambda outlier: (KINDS.index(outlier.kind), -outlier.factor))


def typical_steal(measured: Iterable[MeasuredRow], launches: Sequence[str]) -> float:
    """The share of its time that a launch lost to the hypervisor, in so many that a median over launches is theirs."""
    most = dict.fromkeys(launches, 0.0)
    for row in measured:
        if row["launch_id"] in most:
            most[row["launch_id"]] = max(most[row["launch_id"]], share_of_steal(row))
    shares = sorted(most.values(), reverse=True)
    return shares[(len(shares) + 1) // 2 - 1] if shares else 0.0


def doubt_by_steal(outlier: Outlier, share: float, node_pairs: int, pairs: int, ways: int) -> Outlier:
    """The outlier, marked as doubted if CPU steal could have made it; of so many measured pairs of nodes and ranks."""
    every = node_pairs if outlier.kind in NODE_KINDS else pairs
    least = LEAST_FACTOR if outlier.kind in NODE_KINDS else PAIR_FACTOR if outlier.kind == "pair" else LEAST_OWN_FACTOR
    longer = outlier.pairs / (every * ways) * max(0.0, outlier.factor / least - 1) if every else 0.0
    if share <= HALF_OF_HALF * longer / (1 + longer):
        return outlier
    return _in_doubt(outlier, f"since the hypervisor took {100 * share:.1f} % of the time")


def list_few_samples(ways: Iterable[PairTimes], outliers: Iterable[Outlier]) -> frozenset[Way]:
    """The ways of single pairs among the outliers that have fewer than `FEWEST` samples."""
    ranks = sorted({rank for each in outliers if each.kind == "pair" for rank in each.indices})
    found: set[Way] = set()
    for times in ways if ranks else ():
        ends, of = times.ends, np.zeros(times.ends.places.ranks, bool)
        of[ranks] = True
        samples = np.add.reduce(list(times.each("samples", np.int64)))
        few = np.flatnonzero(of[ends.source] & of[ends.target] & (samples < FEWEST))
        found |= {(int(ends.source[row]), int(ends.target[row]), *times.way) for row in few.tolist()}
    return frozenset(found)


def doubt_by_samples(outlier: Outlier, few: Set[Way]) -> Outlier:
    """A single pair, marked as doubted if it was seen in fewer than `FEWEST` samples."""
    if outlier.kind != "pair" or outlier.doubted:
        return outlier
    low, high = outlier.indices
    ends = ((low, high), (high, low))
    seen_in_few = any((*end, seen.bytes, seen.mode) in few for end in ends for seen in outlier.sightings)
    return _in_doubt(outlier, f"with fewer than {FEWEST} samples") if seen_in_few else outlier


def _in_doubt(outlier: Outlier, why: str) -> Outlier:
    detail = f"in doubt, {why}"
    return replace(outlier, doubted=True, detail=f"{outlier.detail}; {detail}" if outlier.detail else detail)
