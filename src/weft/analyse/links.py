# SPDX-License-Identifier: BSD-3-Clause
"""The table of link loads: bytes over each link during each launch, and their share of its rate."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.analyse.tables.breakdown import LinkRow, TurnRow
from weft.analyse.tables.times import MedianRow
from weft.bound.placed import traffic_of
from weft.errors import DataError
from weft.fabric.loads import DOWN, UP, depths, link_name
from weft.files.atomic import read_json
from weft.kernel.steps import ROUNDS, split_step, step_op, step_share
from weft.plan.records import Cell, LaunchPlan, Plan
from weft.store.links import LinkCount, links_file, read_cell_links, read_links
from weft.store.rows import MeasuredRow, SegmentRow

OPERATIONS, LAUNCH = "operations", "launch"
WHOLE = "total"
#: Operations that moved less than this share of the largest one's bytes do not count as time on the links.
LITTLE = 0.05
Volume = Callable[[str, str], float | None]


def link_rows(
    root: Path,
    plan: Plan,
    segments: Iterable[SegmentRow],
    by_launch: Iterable[MedianRow],
    turns: Iterable[TurnRow],
    validated: Iterable[MeasuredRow],
) -> list[LinkRow]:
    """Rows of ``tables/links.parquet``: one for each direction of a link and each launch with link counters.

    Raises DataError: A file of counters is incomplete. ``seconds`` is the total time of the operations that moved the
    bytes, warm-up included (basis ``operations``), or of the launch if no operation has a time (basis ``launch``). The
    bytes include the library's start, the barriers between samples and the validation of the data, so the share of a
    launch that moved little is too large. For a launch of several cells without counters between them, ``cell`` is the
    name of the batch (``g000``).
    """
    if not any(links_file(root, launch.id).is_file() for launch in plan.launches):
        return []
    means = {(row["cell"], row["launch"], row["call"], row["phase"]): row["mean_s"] for row in by_launch}
    for row in turns:
        if row["step"] != ROUNDS:
            means[row["cell"], row["launch"], step_op(row["call"], row["step"]), "warm"] = row["mean_s"]
    busy = operation_seconds(segments, means, validated, volumes(plan.cells))
    return [row for counted in _counted(root, plan, busy) for row in rows_of(counted, plan.planned_fabric.hosts)]


@dataclass(frozen=True)
class Counted:
    """What the links carried during a launch, or a cell of it."""

    cell: str  # its id, or the name of the launch's batch where no borders between cells were seen
    launch: LaunchPlan
    ranks: int  # of the cell
    counts: Sequence[LinkCount]
    method: str  # source of the counters
    operations_s: float  # how long the operations took that moved the bytes; 0 where none has a time
    wall_s: float | None  # how long the whole launch took


def _counted(root: Path, plan: Plan, busy: Mapping[tuple[str, int], float]) -> Iterator[Counted]:
    """What was counted in each launch; ``busy`` has the seconds of the operations of each cell and launch."""
    ranks, floors = {cell.id: cell.ranks for cell in plan.cells}, {cell.id for cell in plan.floors}
    for launch in plan.launches:
        path = links_file(root, launch.id)
        if not path.is_file():
            continue
        cells = [name for name in launch.cells if name not in floors] or list(launch.cells)
        whole = cells[0] if len(cells) == 1 else launch.id.rpartition(".")[0]
        by_cell = read_cell_links(path) or {whole: read_links(path)}
        method, wall_s = str(read_json(path).get("method", "")), _wall_seconds(root, launch.id)
        for name, counts in by_cell.items():
            measured = (name,) if name in ranks else launch.cells
            seconds = sum(busy.get((cell, launch.index), 0.0) for cell in measured)
            yield Counted(name, launch, ranks.get(name, launch.ranks), counts, method, seconds, wall_s)


def rows_of(counted: Counted, hosts: Sequence[str]) -> list[LinkRow]:
    """Counters with the names that bounds use, their direction, and their share of the link's rate."""
    depth = depths(hosts, [(count.source, count.target) for count in counted.counts])
    launch, seconds = counted.launch, counted.operations_s or counted.wall_s
    rows: list[LinkRow] = []
    for count in counted.counts:
        up = depth.get(count.source, 0) < depth.get(count.target, 0)
        lower, direction = (count.source, UP) if up else (count.target, DOWN)
        rows.append(
            LinkRow(
                cell=counted.cell, launch=launch.index, launch_id=launch.id, nodes=launch.nodes, ranks=counted.ranks,
                link=link_name(lower, direction), cable=count.link, source=count.source, target=count.target,
                direction=direction, host_link=lower in hosts, bytes=count.bytes, packets=count.packets,
                drops=count.drops, rate=count.rate or None, seconds=seconds,
                basis=OPERATIONS if counted.operations_s else LAUNCH,
                share=count.bytes / (count.rate * seconds) if count.rate and seconds else None, method=counted.method,
            )
        )  # fmt: skip
    return rows


def operation_seconds(
    segments: Iterable[SegmentRow],
    means: Mapping[tuple[str, int, str, str], float],
    validated: Iterable[MeasuredRow],
    volume: Volume,
) -> dict[tuple[str, int], float]:
    """Seconds of the operations that moved the bytes of each cell and launch: number of calls times mean time.

    A counter does not record which operation a byte belonged to. Operations that move almost nothing by definition
    (counts before vectors, a sort before its exchange) would only dilute the share of those that do; they are left out
    if the traffic of any operation is known. `means`: mean seconds by cell, launch, operation and phase. `volume`:
    bytes that leave a node in one call of an operation of a cell; None if unknown.
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
    moved: dict[str, float] = defaultdict(float)
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
        return step_share(step, planned.ranks) * traffic.leaving([0], planned.nodes, planned.ranks_per_node)

    return volume


def _wall_seconds(root: Path, launch: str) -> float | None:
    """Duration of a launch as its launcher recorded it; None if it did not."""
    try:
        return float(read_json(root / "launches" / f"{launch}.outcome.json")["wall_s"]) or None
    except (DataError, KeyError, TypeError, ValueError):
        return None
