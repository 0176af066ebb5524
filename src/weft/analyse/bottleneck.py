# SPDX-License-Identifier: BSD-3-Clause
"""What holds a call back at each number of nodes: the link that was measured to be busy, else the nearest bound.

A bound says where the time must go at least; a counter says which link was full while it went. Where links were
counted, the busiest one is named, by the bound's name for it; where none of them was busy, that is said, because then
no faster link would help.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

#: A link is called the bottleneck from this share of its rate on. TCP over shaped links reaches 40 to 90 %, an exchange
#: that is held back elsewhere under a tenth.
BUSY = 0.25
#: Links this near to the busiest one are equally busy: counters differ by headers and acknowledgements.
ALIKE = 0.9
IDLE = 0.005
HOSTS = "the hosts' own links"
INJECTION = "injection"


@dataclass(frozen=True)
class Load:
    """What crossed one direction of a link in a cell, over all its launches.

    Attributes
    ----------
    bytes
        Of one launch, the mean.
    share
        Of the link's rate while the operations ran; None where the rate or the time is not known.
    """

    link: str
    cable: str
    source: str
    target: str
    host_link: bool
    rate: float | None
    bytes: float
    drops: int
    share: float | None


@dataclass(frozen=True)
class Bottleneck:
    """What holds one point back.

    Attributes
    ----------
    name
        ``injection`` (the hosts' own links), ``link leaf0 up``, ``memory copy``, ...; empty where links were counted
        and none was busy.
    bound, bound_ratio
        The nearest lower bound, and the measured time over it.
    busiest, other
        The busiest link, and the busiest one of the other class (hosts' links, or links between switches).
    """

    cell: str
    nodes: int
    ranks: int
    name: str
    bound: str
    bound_ratio: float | None
    busiest: Load | None
    other: Load | None

    @property
    def words(self) -> str:
        """The point in words: ``link leaf0 up at N = 4 (85 % busy, the hosts' own links 16 %)``."""
        at = f"at N = {self.nodes}"
        if self.busiest is None or self.busiest.share is None:
            return f"{self.name or 'nothing that is known'} {at}"
        share = f"{self.busiest.share:.0%}".replace("%", " %")
        if not self.name:
            return f"no link {at} (the busiest, {self.busiest.link}, was at {share})"
        beside = ""
        if self.other is not None and self.other.share is not None and self.other.share >= IDLE:
            what = HOSTS if self.other.host_link else self.other.link
            beside = f", {what} {self.other.share:.0%}".replace("%", " %")
        name = HOSTS if self.busiest.host_link else self.name
        return f"{name} {at} ({share} busy{beside})"


def loads(rows: Iterable[Row]) -> dict[str, list[Load]]:
    """Loads of each cell (or batch of cells) from the rows of the table of links, the busiest link first."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["cell"], row["cable"], row["source"], row["target"]), []).append(row)
    found: dict[str, list[Load]] = {}
    for (cell, cable, source, target), own in groups.items():
        first, moved = own[0], sum(row["bytes"] for row in own)
        seconds = sum(row["seconds"] or 0.0 for row in own)
        share = moved / (first["rate"] * seconds) if first["rate"] and seconds else None
        drops = sum(row["drops"] for row in own)
        load = Load(
            first["link"], cable, source, target, first["host_link"], first["rate"], moved / len(own), drops, share
        )
        found.setdefault(cell, []).append(load)
    return {cell: sorted(own, key=lambda load: (-(load.share or 0.0), -load.bytes)) for cell, own in found.items()}


def bottlenecks(calls: Iterable[Row], links: Iterable[Row], call: str) -> list[Bottleneck]:
    """What holds the main call back at each shape, along the nodes.

    Parameters
    ----------
    calls
        Rows of the table of calls.
    links
        Rows of the table of links.
    call
        The call that the study is about.

    Returns
    -------
    list
        One for each cell that was timed and is not oversubscribed; the one that moved most where several have as many
        nodes and ranks.
    """
    counted = loads(links)
    usable = [row for row in calls if (row["call"], row["phase"], row["status"]) == (call, "warm", "ok")]
    shapes: dict[tuple[int, int], Row] = {}
    for row in sorted(usable, key=lambda row: row["array_bytes"] or 0):
        if row["median_s"] and not row["oversubscribed"]:
            shapes[row["nodes"], row["ranks"]] = row
    return [_bottleneck(row, counted.get(row["cell"], [])) for _, row in sorted(shapes.items())]


def _bottleneck(row: Row, found: Sequence[Load]) -> Bottleneck:
    ratio = row["median_s"] / row["bound_s"] if row["bound_s"] else None
    known = [load for load in found if load.share is not None] if row["nodes"] > 1 else []
    busiest = known[0] if known else None
    other = next((load for load in known if busiest and load.host_link != busiest.host_link), None)
    name = _named(row["bound"], known) if busiest else row["bound"]
    return Bottleneck(row["cell"], row["nodes"], row["ranks"], name, row["bound"], ratio, busiest, other)


def _named(bound: str, known: Sequence[Load]) -> str:
    """The busiest link by the bound's name where the two agree; empty where no link was busy."""
    busiest = known[0]
    if not busiest.share or busiest.share < BUSY:
        return ""
    if busiest.host_link:
        return INJECTION
    alike = {load.link for load in known if load.share and load.share >= ALIKE * busiest.share}
    return bound if bound in alike else busiest.link


def sentence(found: Sequence[Bottleneck]) -> str:
    """What holds it back along the nodes, one shape a number of nodes (that of most ranks); empty without counters."""
    if not any(each.busiest for each in found):
        return ""
    nodes = {each.nodes: each for each in found}
    return f"What holds it back: {'; '.join(each.words for _, each in sorted(nodes.items()))}."
