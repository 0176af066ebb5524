# SPDX-License-Identifier: BSD-3-Clause
"""What limits a call at each number of nodes: the link measured as busy, else the nearest bound.

A bound gives the least time a resource needs; a counter shows which link was full meanwhile. A link may have carried
something for a third of the time while late ranks, or the library's algorithm, took the rest: the larger is the cause.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby

from weft.analyse.tables.breakdown import BottleneckRow, BreakdownRow, CauseKind, CauseRow, LinkRow, LoadRow
from weft.analyse.tables.times import CallRow, TimedRow, holding_bound_s, timed

#: A link is called the bottleneck from this share of its rate on. TCP over shaped links reaches 40 to 90 %, an exchange
#: limited elsewhere under a tenth.
BUSY = 0.25
#: Links this close to the busiest one count as equally busy: counters include headers and acknowledgements.
ALIKE = 0.9
INJECTION = "injection"
#: From this share of the time on, a part is what most of it goes to.
MOST = 0.5

Cause = tuple[CauseKind, str, float | None]


def load_rows(rows: Iterable[LinkRow]) -> list[LoadRow]:
    """Rows of ``tables/link_loads.parquet`` from those of the links: over all launches of a cell or batch."""
    cells: dict[str, dict[tuple[str, str, str], list[LinkRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cells[row["cell"]][row["cable"], row["source"], row["target"]].append(row)
    found: list[LoadRow] = []
    for links in cells.values():
        loads = [_load(own) for own in links.values()]
        moved = sum(load["bytes"] for load in loads)
        for load in sorted(loads, key=lambda load: (-(load["share"] or 0.0), -load["bytes"])):
            found.append({**load, "moved_bytes": moved})
    return found


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
    """What limits the main call at each shape without shared cores, where it moved most; none without link counters."""
    if not loads:
        return []
    counted = {cell: list(own) for cell, own in groupby(loads, key=lambda load: load["cell"])}
    by_size = sorted(timed(calls, call, "warm"), key=lambda row: row["array_bytes"] or 0)
    shapes = {(row["nodes"], row["ranks"]): row for row in by_size if not row["oversubscribed"]}
    return [_bottleneck(row, counted.get(row["cell"], [])) for _, row in sorted(shapes.items())]


def _bottleneck(row: TimedRow, found: Sequence[LoadRow]) -> BottleneckRow:
    known = [load for load in found if load["share"] is not None] if row["nodes"] > 1 else []
    bound_s = holding_bound_s(row)
    bound = row["bound"] if bound_s else ""
    return BottleneckRow(
        cell=row["cell"], nodes=row["nodes"], ranks=row["ranks"], bound=bound,
        name=_named(bound, known) if known else bound, bound_ratio=row["median_s"] / bound_s if bound_s else None,
        busiest=known[0] if known else None,
        other=next((load for load in known if load["host_link"] != known[0]["host_link"]), None),
    )  # fmt: skip


def _named(bound: str, known: Sequence[LoadRow]) -> str:
    """The busiest link under the bound's name if the two agree; empty if no link was busy."""
    share = known[0]["share"]
    if not share or share < BUSY:
        return ""
    if known[0]["host_link"]:
        return INJECTION
    alike = {load["link"] for load in known if load["share"] and load["share"] >= ALIKE * share}
    return bound if bound in alike else known[0]["link"]


def find_causes(
    calls: Iterable[CallRow], breakdown: Sequence[BreakdownRow], bottlenecks: Sequence[BottleneckRow], call: str
) -> list[CauseRow]:
    """What most of the time goes to, for each cell whose main call has a time.

    A link counts if it was busy most of the time, or longer than the largest step took, or if that is the hardware.
    """
    breakdowns = {key: list(group) for key, group in groupby(breakdown, key=lambda row: (row["cell"], row["call"]))}
    busy = {row["cell"]: row for row in bottlenecks if row["name"]}
    rows: list[CauseRow] = []
    for row in timed(calls, call, "warm"):
        steps = breakdowns.get((row["cell"], row["call"]), [])
        kind, name, share = _of_breakdown(steps) if steps else _of_bound(row)
        if (held := busy.get(row["cell"])) and held["busiest"]:
            used = held["busiest"]["share"] or 0.0
            if not steps or kind == "hardware" or used > MOST or used >= (share or 0.0):
                kind, name, share = "link", held["name"], held["busiest"]["share"]
        rows.append(
            CauseRow(
                cell=row["cell"], call=row["call"], nodes=row["nodes"], ranks=row["ranks"], kind=kind, name=name,
                share=share,
            )
        )  # fmt: skip
    return rows


def _of_breakdown(steps: Sequence[BreakdownRow]) -> Cause:
    """The step that adds most, of those that surely add something."""
    # alone, messages may take longer than the whole call: no step has more of it than what stands above the floor
    whole, floor = steps[-1]["seconds"], steps[0]["seconds"] if steps[0]["step"] == "hardware" else 0.0
    added = [
        (min(step["seconds"] - below, whole if step["step"] == "hardware" else whole - floor), step)
        for below, step in zip((0.0, *(step["seconds"] for step in steps)), steps, strict=False)
        if step["effect"] in ("floor", "adds")
    ]
    most, step = max(added, key=lambda each: each[0])
    return step["step"], step["name"], max(0.0, most) / whole


def _of_bound(row: TimedRow) -> Cause:
    """How much the nearest bound explains, if no sample beat it; the rest has no known cause."""
    bound_s = holding_bound_s(row)
    share = min(1.0, bound_s / row["median_s"]) if bound_s is not None else None
    return "bound" if share and share > MOST else "unknown", row["bound"] if bound_s is not None else "", share
