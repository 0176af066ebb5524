# SPDX-License-Identifier: BSD-3-Clause
"""A cause of slow pairs: what is slow, in which role and by how much, also as a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from weft.format import format_bytes, format_factor, percent

Kind = Literal["node", "memory", "link", "cable", "switch", "leaves", "route", "rank", "pair", "class"]
Role = Literal["sender", "receiver", "both", "unknown", ""]

#: From this share of slower pairs on, the sentence says that all partners are affected.
ALL = 0.9
#: Order in reports: a cause that slows many pairs comes before one that slows a single pair.
KINDS: tuple[Kind, ...] = ("node", "switch", "cable", "link", "leaves", "route", "memory", "rank", "class", "pair")


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
    # node numbers of ``memory`` (one) and ``route`` (two, ascending); ranks of ``rank`` (one) and ``pair`` (two,
    # ascending). Empty for other kinds.
    indices: tuple[int, ...] = ()
    cable: str = ""  # of a link: the name of its cable
    doubted: bool = False  # whether CPU steal, or too few samples, could have made it (`weft.analyse.outliers.doubts`)

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
    """Outliers with their sightings at all sizes and modes merged, the strongest first.

    A cable that is slow in both directions at one size, and in one of them at another, is one outlier: the cable.
    """
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
