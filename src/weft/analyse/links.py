# SPDX-License-Identifier: BSD-3-Clause
"""The tables of links: bytes over each during each launch, loads by cell, and what limits a call (busy link or bound).

A bound gives the least time a resource needs; a counter shows which link was full meanwhile. A link may have carried
something for a third of the time while late ranks, or the library's algorithm, took the rest: the larger is the cause.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from weft.analyse.tables.breakdown import BottleneckRow, BreakdownRow, CauseKind, CauseRow, LinkRow, LoadRow, TurnRow
from weft.analyse.tables.times import CallRow, MedianRow, holding_bound_s, timed
from weft.bound.placed import traffic_of
from weft.errors import DataError
from weft.fabric.loads import DOWN, UP, depths, link_name
from weft.files.atomic import read_json
from weft.kernel.steps import BETWEEN, ROUNDS, WITHIN, split_step, step_op
from weft.plan.records import Cell, Plan
from weft.store.links import LinkCount, links_file, read_cell_links, read_links
from weft.store.rows import MeasuredRow, SegmentRow
from weft.store.tables import grouped

OPERATIONS, LAUNCH = "operations", "launch"
WHOLE = "total"
LITTLE = 0.05  # operations that moved less than this share of the largest one's bytes do not count as time on the links
Segments = Iterable[SegmentRow]
Turns = Iterable[TurnRow]
Measured = Iterable[MeasuredRow]
Volume = Callable[[str, str], float | None]
#: A link is called the bottleneck from this share of its rate on. TCP over shaped links reaches 40 to 90 %, an exchange
#: limited elsewhere under a tenth.
BUSY = 0.25
ALIKE = 0.9  # links this close to the busiest one count as equally busy: counters include headers and acknowledgements
INJECTION = "injection"
MOST = 0.5  # from this share of the time on, a part is what most of it goes to


def link_rows(
    root: Path, plan: Plan, segments: Segments, by_launch: Iterable[MedianRow], turns: Turns, validated: Measured
) -> list[LinkRow]:
    """Rows of ``tables/links.parquet``: one for each direction of a link and each launch with link counters. Raises
    DataError: A file of counters is incomplete. ``seconds`` is the total time of the operations that moved the bytes,
    warm-up included (basis ``operations``), or of the launch if no operation has a time (basis ``launch``). The bytes
    include the library's start, barriers between samples and the validation of the data, so the share of a launch that
    moved little is too large. For several cells without counters between them, ``cell`` is the batch (``g000``).
    """
    if not any(links_file(root, launch.id).is_file() for launch in plan.launches):
        return []
    means = {(row["cell"], row["launch"], row["call"], row["phase"]): row["mean_s"] for row in by_launch}
    for row in turns:
        if row["step"] != ROUNDS:
            means[row["cell"], row["launch"], step_op(row["call"], row["step"]), "warm"] = row["mean_s"]
    busy = operation_seconds(segments, means, validated, volumes(plan.cells))
    ranks, floors = {cell.id: cell.ranks for cell in plan.cells}, {cell.id for cell in plan.floors}
    rows: list[LinkRow] = []
    for launch in (each for each in plan.launches if links_file(root, each.id).is_file()):
        path = links_file(root, launch.id)
        cells = [name for name in launch.cells if name not in floors] or list(launch.cells)
        whole = cells[0] if len(cells) == 1 else launch.id.rpartition(".")[0]
        of_launch: dict[str, Any] = {"launch": launch.index, "launch_id": launch.id, "nodes": launch.nodes}
        of_launch["method"], wall_s = str(read_json(path).get("method", "")), None
        with suppress(DataError, KeyError, TypeError, ValueError):  # a launcher may not have recorded it
            wall_s = float(read_json(root / "launches" / f"{launch.id}.outcome.json")["wall_s"]) or None
        for name, counts in (read_cell_links(path) or {whole: read_links(path)}).items():
            measured = (name,) if name in ranks else launch.cells
            operations_s = sum(busy.get((cell, launch.index), 0.0) for cell in measured)
            same = {**of_launch, "cell": name, "ranks": ranks.get(name, launch.ranks)}
            same |= {"seconds": operations_s or wall_s, "basis": OPERATIONS if operations_s else LAUNCH}
            rows += rows_of(counts, plan.planned_fabric.hosts, same)
    return rows


def rows_of(counts: Sequence[LinkCount], hosts: Sequence[str], same: Mapping[str, Any]) -> list[LinkRow]:
    """Counters with the names that bounds use, their direction, and their share of the link's rate."""
    depth, seconds = depths(hosts, [(count.source, count.target) for count in counts]), same["seconds"]
    rows: list[LinkRow] = []
    for count in counts:
        up = depth.get(count.source, 0) < depth.get(count.target, 0)
        lower, direction = (count.source, UP) if up else (count.target, DOWN)
        rows.append(LinkRow(
            **same, link=link_name(lower, direction), cable=count.link, source=count.source, target=count.target,
            direction=direction, host_link=lower in hosts, bytes=count.bytes, packets=count.packets, drops=count.drops,
            rate=count.rate or None, share=count.bytes / (count.rate * seconds) if count.rate and seconds else None,
        ))  # fmt: skip
    return rows


def operation_seconds(
    segments: Segments, means: Mapping[tuple[str, int, str, str], float], validated: Measured, volume: Volume
) -> dict[tuple[str, int], float]:
    """Seconds of the operations that moved the bytes of each cell and launch: number of calls times mean time.
    Operations that move almost nothing by definition would dilute the share of the others, and are left out if any
    traffic is known. `means`: mean seconds; `volume`: bytes that leave a node in one call of a cell's operation, None
    if unknown.
    """
    proven = {(row["cell"], row["launch"]) for row in validated if row["validated"]}
    calls: dict[tuple[str, int], Counter[tuple[str, str]]] = defaultdict(Counter)
    for row in segments:
        once_more = row["phase"] == "warm" and (row["cell"], row["launch"]) in proven and not split_step(row["op"])[1]
        made = row["warmup"] + row["count"] * row["batch"] + once_more
        calls[row["cell"], row["launch"]][row["op"], row["phase"]] += made
    found: dict[tuple[str, int], float] = {}
    for (cell, launch), own in calls.items():
        chosen = _moving(own, {op: volume(cell, op) or 0.0 for op, _ in own})
        each = ((means.get((cell, launch, *call)) or 0.0) * number for call, number in own.items() if call[0] in chosen)
        if seconds := sum(each):
            found[cell, launch] = seconds
    return found


def _moving(calls: Mapping[tuple[str, str], int], volumes: Mapping[str, float]) -> set[str]:
    """The operations that moved a launch's bytes; a whole of several steps only if no step's traffic is known."""
    moved: dict[str, float] = dict.fromkeys(volumes, 0.0)
    for (op, _), number in calls.items():
        moved[op] += number * volumes[op]
    most = max((size for op, size in moved.items() if op != WHOLE), default=0.0)
    if most:
        return {op for op, size in moved.items() if op != WHOLE and size >= LITTLE * most}
    return {WHOLE} if WHOLE in moved else set(moved)


def volumes(cells: Sequence[Cell]) -> Volume:
    """Bytes that leave the first node of a cell in one call, or one turn of a step, as its kernel computes them."""
    known = {cell.id: cell for cell in cells}

    def volume(cell: str, op: str) -> float | None:
        planned, (call, step) = known.get(cell), split_step(op)
        traffic = traffic_of(planned, call) if planned else None
        if planned is None or traffic is None:
            return None
        # of a call's bytes, what a turn of a step sends between nodes, in the mean over turns
        share = {WITHIN: 0.0, BETWEEN: 2 / planned.ranks, ROUNDS: 0.0}.get(step, 1.0)
        return share * traffic.leaving([0], planned.nodes, planned.ranks_per_node)

    return volume


def load_rows(rows: Iterable[LinkRow]) -> list[LoadRow]:
    """Rows of ``tables/link_loads.parquet`` from those of the links: over all launches of a cell or batch."""
    found: list[LoadRow] = []
    for links in grouped(rows, lambda row: row["cell"]).values():
        loads: list[LoadRow] = []
        for own in grouped(links, lambda row: (row["cable"], row["source"], row["target"])).values():
            first, moved = own[0], sum(row["bytes"] for row in own)
            seconds = sum(row["seconds"] or 0.0 for row in own)
            share = moved / (first["rate"] * seconds) if first["rate"] and seconds else None
            loads.append({
                "cell": first["cell"], "nodes": first["nodes"], "ranks": first["ranks"], "link": first["link"],
                "cable": first["cable"], "source": first["source"], "target": first["target"],
                "host_link": first["host_link"], "rate": first["rate"], "bytes": moved / len(own),
                "drops": sum(row["drops"] for row in own), "share": share, "moved_bytes": 0.0,
            })  # fmt: skip
        whole = sum(load["bytes"] for load in loads)
        for load in sorted(loads, key=lambda load: (-(load["share"] or 0.0), -load["bytes"])):
            found.append({**load, "moved_bytes": whole})
    return found


def bottlenecks(calls: Iterable[CallRow], loads: Sequence[LoadRow], call: str) -> list[BottleneckRow]:
    """What limits the main call at each shape without shared cores, where it moved most; none without link counters."""
    if not loads:
        return []
    counted = {cell: list(own) for cell, own in groupby(loads, key=lambda load: load["cell"])}
    by_size = sorted(timed(calls, call, "warm"), key=lambda row: row["array_bytes"] or 0)
    shapes = {(row["nodes"], row["ranks"]): row for row in by_size if not row["oversubscribed"]}
    found: list[BottleneckRow] = []
    for _, row in sorted(shapes.items()):
        of_links = counted.get(row["cell"], []) if row["nodes"] > 1 else []
        known = [load for load in of_links if load["share"] is not None]
        bound_s = holding_bound_s(row)
        bound = row["bound"] if bound_s else ""
        found.append(BottleneckRow(
            cell=row["cell"], nodes=row["nodes"], ranks=row["ranks"], bound=bound,
            name=_named(bound, known) if known else bound, bound_ratio=row["median_s"] / bound_s if bound_s else None,
            busiest=known[0] if known else None,
            other=next((load for load in known if load["host_link"] != known[0]["host_link"]), None),
        ))  # fmt: skip
    return found


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
    """What most time of each cell's main call goes to: a link if busy most of it, longer than any step, or hardware."""
    breakdowns = {key: list(group) for key, group in groupby(breakdown, key=lambda row: (row["cell"], row["call"]))}
    busy = {row["cell"]: row for row in bottlenecks if row["name"]}
    rows: list[CauseRow] = []
    for row in timed(calls, call, "warm"):
        steps = breakdowns.get((row["cell"], row["call"]), [])
        if steps:
            kind, name, share = _of_breakdown(steps)
        else:  # the nearest bound, if no sample beat it; the rest has no known cause
            bound_s = holding_bound_s(row)
            share = min(1.0, bound_s / row["median_s"]) if bound_s is not None else None
            kind, name = "bound" if share and share > MOST else "unknown", row["bound"] if bound_s is not None else ""
        if (held := busy.get(row["cell"])) and held["busiest"]:
            used = held["busiest"]["share"] or 0.0
            if not steps or kind == "hardware" or used > MOST or used >= (share or 0.0):
                kind, name, share = "link", held["name"], held["busiest"]["share"]
        rows.append(CauseRow(
            cell=row["cell"], call=row["call"], nodes=row["nodes"], ranks=row["ranks"], kind=kind, name=name,
            share=share,
        ))  # fmt: skip
    return rows


def _of_breakdown(steps: Sequence[BreakdownRow]) -> tuple[CauseKind, str, float | None]:
    # alone, messages may take longer than the whole call: no step has more of it than what stands above the floor
    whole, floor = steps[-1]["seconds"], steps[0]["seconds"] if steps[0]["step"] == "hardware" else 0.0
    added = [
        (min(step["seconds"] - below, whole if step["step"] == "hardware" else whole - floor), step)
        for below, step in zip((0.0, *(step["seconds"] for step in steps)), steps, strict=False)
        if step["effect"] in ("floor", "adds")
    ]
    most, step = max(added, key=lambda each: each[0])
    return step["step"], step["name"], max(0.0, most) / whole
