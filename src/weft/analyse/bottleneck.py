# SPDX-License-Identifier: BSD-3-Clause
"""What limits a call at each number of nodes: the link measured as busy, else the nearest bound.

A bound gives the least time a resource needs; a counter shows which link was full meanwhile. If link counters were
read, the busiest link is named as the bound names it. If no link was busy, the table says so: a faster link would not
help.

What most of a call's time goes to: a link that was busy for most of it, else the largest part that is known.

A link may have carried something for a third of the time while ranks that came late, or the library's algorithm, took
the rest: then the larger of the two is named.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from weft.analyse.tables.breakdown import BottleneckRow, BreakdownRow, CauseKind, CauseRow, LinkRow, Load, LoadRow
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

    Returns one row for each cell that was timed and is not oversubscribed; of several cells with the same nodes and
    ranks, the one that moved most bytes. Empty if no link was counted.
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


#: From this share of the time on, a part is what most of it goes to.
MOST = 0.5


def find_causes(
    calls: Iterable[CallRow], breakdown: Sequence[BreakdownRow], bottlenecks: Sequence[BottleneckRow], call: str
) -> list[CauseRow]:
    """A row for each cell whose main call has a time."""
    breakdowns = {key: list(group) for key, group in groupby(breakdown, key=lambda row: (row["cell"], row["call"]))}
    busy = {row["cell"]: row for row in bottlenecks if row["busiest"] and row["name"]}
    return [
        _largest(
            _cause_of_link(row, busy[row["cell"]]) if row["cell"] in busy else None,
            _of_breakdown(row, breakdowns.get((row["cell"], row["call"]), [])),
        )
        or _of_bound(row)
        for row in timed(calls, call, "warm")
    ]


def _largest(link: CauseRow | None, step: CauseRow | None) -> CauseRow | None:
    """The link if it was busy most of the time or longer than the step took, or if that is the hardware: the link."""
    if link is None or step is None or step["kind"] == "hardware":
        return link or step
    busy = link["share"] or 0.0
    return link if busy > MOST or busy >= (step["share"] or 0.0) else step


def _row(row: TimedRow, kind: CauseKind, name: str, share: float | None) -> CauseRow:
    return CauseRow(
        cell=row["cell"], call=row["call"], nodes=row["nodes"], ranks=row["ranks"], kind=kind, name=name, share=share
    )  # fmt: skip


def _cause_of_link(row: TimedRow, found: BottleneckRow) -> CauseRow:
    return _row(row, "link", found["name"], found["busiest"]["share"] if found["busiest"] else None)


def _of_breakdown(row: TimedRow, steps: Sequence[BreakdownRow]) -> CauseRow | None:
    """The step that adds most, of those that surely add something; None without a breakdown."""
    if not steps:
        return None
    below = [0.0, *(step["seconds"] for step in steps)]
    # alone, messages may take longer than the whole call: no step has more of it than what stands above the floor
    whole, floor = steps[-1]["seconds"], steps[0]["seconds"] if steps[0]["step"] == "hardware" else 0.0
    added = [
        (min(step["seconds"] - before, whole if step["step"] == "hardware" else whole - floor), step)
        for before, step in zip(below, steps, strict=False)
        if step["effect"] in ("floor", "adds")
    ]
    most, step = max(added, key=lambda each: each[0])
    return _row(row, step["step"], step["name"], max(0.0, most) / whole)


def _of_bound(row: TimedRow) -> CauseRow:
    """How much the nearest bound explains, if no sample beat it; the rest has no known cause."""
    bound_s = holding_bound_s(row)
    if bound_s is None:
        return _row(row, "unknown", "", None)
    share = min(1.0, bound_s / row["median_s"])
    return _row(row, "bound" if share > MOST else "unknown", row["bound"], share)
