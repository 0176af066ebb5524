# SPDX-License-Identifier: BSD-3-Clause
"""What limits a call at each number of nodes: the link measured as busy, else the nearest bound.

A bound gives the least time a resource needs; a counter shows which link was full meanwhile. If link counters were
read, the busiest link is named as the bound names it. If no link was busy, the table says so: a faster link would not
help.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from weft.analyse.tables.links import BottleneckRow, LinkRow, Load, LoadRow
from weft.analyse.tables.times import CallRow, TimedRow, holding_bound_s, timed

#: A link is called the bottleneck from this share of its rate on. TCP over shaped links reaches 40 to 90 %, an exchange
#: limited elsewhere under a tenth.
BUSY = 0.25
#: Links this close to the busiest one count as equally busy: counters include headers and acknowledgements.
ALIKE = 0.9
INJECTION = "injection"


def load_rows(rows: Iterable[LinkRow]) -> list[LoadRow]:
    """Rows of ``tables/link_loads.parquet`` from those of the links: over all launches of a cell or batch."""
    groups: dict[tuple[str, str, str, str], list[LinkRow]] = {}
    for row in rows:
        groups.setdefault((row["cell"], row["cable"], row["source"], row["target"]), []).append(row)
    found: dict[str, list[LoadRow]] = {}
    for (cell, *_), own in groups.items():
        found.setdefault(cell, []).append(_load(own))
    for own in found.values():
        moved = sum(load["bytes"] for load in own)
        for load in own:
            load["moved_bytes"] = moved
        own.sort(key=lambda load: (-(load["share"] or 0.0), -load["bytes"]))
    return [load for own in found.values() for load in own]


def _load(own: Sequence[LinkRow]) -> LoadRow:
    """The load of one direction of a link from its launches."""
    first, moved = own[0], sum(row["bytes"] for row in own)
    seconds = sum(row["seconds"] or 0.0 for row in own)
    share = moved / (first["rate"] * seconds) if first["rate"] and seconds else None
    return LoadRow(
        cell=first["cell"], nodes=first["nodes"], ranks=first["ranks"], link=first["link"], cable=first["cable"],
        source=first["source"], target=first["target"], host_link=first["host_link"], rate=first["rate"],
        bytes=moved / len(own), drops=sum(row["drops"] for row in own), share=share, moved_bytes=0.0,
    )  # fmt: skip


def bottlenecks(calls: Iterable[CallRow], loads: Sequence[LoadRow], call: str) -> list[BottleneckRow]:
    """What limits the main call at each shape, by increasing number of nodes.

    Returns
    -------
    list
        One row for each cell that was timed and is not oversubscribed; of several cells with the same nodes and ranks,
        the one that moved most bytes. Empty if no link was counted.
    """
    if not loads:
        return []
    counted = {cell: list(own) for cell, own in groupby(loads, key=lambda load: load["cell"])}
    shapes: dict[tuple[int, int], TimedRow] = {}
    for row in sorted(timed(calls, call, "warm"), key=lambda row: row["array_bytes"] or 0):
        if not row["oversubscribed"]:
            shapes[row["nodes"], row["ranks"]] = row
    return [_bottleneck(row, counted.get(row["cell"], [])) for _, row in sorted(shapes.items())]


def _bottleneck(row: TimedRow, found: Sequence[LoadRow]) -> BottleneckRow:
    known = [load for load in found if load["share"] is not None] if row["nodes"] > 1 else []
    busiest = known[0] if known else None
    other = next((load for load in known if busiest and load["host_link"] != busiest["host_link"]), None)
    bound_s = holding_bound_s(row)
    bound = row["bound"] if bound_s else ""
    return BottleneckRow(
        cell=row["cell"], nodes=row["nodes"], ranks=row["ranks"], bound=bound,
        name=_named(bound, known) if busiest else bound, bound_ratio=row["median_s"] / bound_s if bound_s else None,
        busiest=_of_link(busiest), other=_of_link(other),
    )  # fmt: skip


def _of_link(load: LoadRow | None) -> Load | None:
    """The load without the column of its cell."""
    if load is None:
        return None
    return Load(
        link=load["link"], cable=load["cable"], source=load["source"], target=load["target"],
        host_link=load["host_link"], rate=load["rate"], bytes=load["bytes"], drops=load["drops"], share=load["share"],
    )  # fmt: skip


def _named(bound: str, known: Sequence[LoadRow]) -> str:
    """The busiest link under the bound's name if the two agree; empty if no link was busy."""
    busiest = known[0]
    share = busiest["share"]
    if not share or share < BUSY:
        return ""
    if busiest["host_link"]:
        return INJECTION
    alike = {load["link"] for load in known if load["share"] and load["share"] >= ALIKE * share}
    return bound if bound in alike else busiest["link"]
