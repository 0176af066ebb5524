# SPDX-License-Identifier: BSD-3-Clause
"""The table of calls, with statistics and bound or why there are no numbers; and the table of what starting costs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, cast

from weft.analyse.floor import Bounds
from weft.analyse.ranges import ranged
from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.analyse.tables.times import CallRow, MedianRow, MixedRow, StartupRow, SummaryRow
from weft.kernel import DIRECT
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.mpi.starting import waiting_component
from weft.plan.records import Cell, Plan
from weft.store.rows import LAUNCH_TABLE, RANK_TABLE, SEGMENT_TABLE, MeasuredRow, SegmentRow
from weft.store.tables import grouped, read_table

#: A cell's status is the worst of its launches; the table of cells has the status of each launch.
GRAVITY = ("invalid", "crash", "timeout", "launch", "memory", "fabric", "bound")


def call_rows(
    cells: Sequence[Cell],
    launches: Iterable[MeasuredRow],
    segments: Sequence[SegmentRow],
    summaries: Iterable[SummaryRow],
    bounds: Bounds,
) -> list[CallRow]:
    """Join the statistics of each call with its cell in the plan and the status of its launches."""
    statuses, of_cells = grouped(launches, lambda row: row["cell"]), grouped(segments, lambda row: row["cell"])
    known = {(row["cell"], row["call"], row["phase"]): row for row in summaries}
    algorithms = {(row["cell"], row["op"]): row["algorithm"] for row in segments if row["algorithm"]}
    rows: list[CallRow] = []
    for cell in (cell for cell in cells if not kernel_named(cell.kernel).is_floor):
        status, reason = cell_status(cell, statuses.get(cell.id, []))
        kernel = kernel_named(cell.kernel)
        spans = grouped(of_cells.get(cell.id, ()), lambda row: (row["op"], row["phase"]))
        floored = kernel.has_floor(cell.parameters)  # it measures the rates behind a bound
        if kernel.has_pair_samples:  # thousands of pairs: their times are in a table of their own
            of_cell = [(kernel.main, "warm")]
        else:  # in the order they were measured; of a failed cell, as the study asks for them
            asked = product(kernel.operations(cell.parameters, cell.ranks), ("cold", "warm"))
            of_cell = list(spans) or list(asked)
        for call, phase in of_cell:
            row = _unmeasured(cell, call, phase, status, reason)
            row["bound_s"], row["bound"], row["bound_basis"] = (floored and bounds(cell, call)) or (None, "", "")
            row["algorithm"] = algorithms.get((cell.id, call), "")
            found = known.get((cell.id, call, phase))
            if status == "ok" and found:
                row = ranged(_measured(row, found, spans.get((call, phase), ())), cell, bounds.fabric)
            rows.append(row)
    return rows


def cell_status(cell: Cell, launches: Sequence[MeasuredRow]) -> tuple[str, str]:
    """Status and reason of a cell: ``ok`` on its good launches; one invalid launch makes all its times mean nothing."""
    if not launches:
        return cell.status, cell.reason or ("not measured yet" if cell.status == "planned" else "")
    failed = sorted((row for row in launches if row["status"] != "ok"), key=lambda row: GRAVITY.index(row["status"]))
    if not failed:
        return "ok", ""
    if failed[0]["status"] == "invalid" or len(failed) == len(launches):
        return failed[0]["status"], failed[0]["reason"] or failed[0]["validation_detail"]
    reasons = "; ".join(f"launch {row['launch']}: {row['status']}: {row['reason']}" for row in failed)
    return "ok", f"{len(failed)} of {len(launches)} launches failed and are left out: {reasons}"


def _unmeasured(cell: Cell, call: str, phase: str, status: str, reason: str) -> CallRow:
    """In a sweep over sizes each call has its own block."""
    size, parameters = split_op(call)[1], cell.parameters
    return CallRow(
        cell=cell.id, kernel=cell.kernel, series=list(cell.series), nodes=cell.nodes,
        ranks_per_node=cell.ranks_per_node, ranks=cell.ranks, n=parameters.get("n"), m=parameters.get("m"), call=call,
        phase=phase, status=status, samples=0, discarded=0, disturbed=0, lost_s=0.0, lost_by="", launches=0,
        batch=None, interval="", definition="", peers_met=None, algorithm="",
        cache=kernel_named(cell.kernel).cache(parameters), median_s=None, low_s=None, high_s=None, coverage=None,
        min_s=None, p5_s=None, p95_s=None, p99_s=None, max_s=None, mean_s=None, launch_low_s=None, launch_high_s=None,
        bound_s=None, bound="", bound_basis="", block_bytes=cell.block_bytes if size is None else size,
        array_bytes=cell.array_bytes, local_bytes=cell.local_bytes, oversubscribed=cell.oversubscribed, ended_by="",
        reason=reason,
    )  # fmt: skip


def _measured(row: CallRow, found: SummaryRow, spans: Sequence[SegmentRow]) -> CallRow:
    definitions = sorted({span["definition"] for span in spans})
    of_spans = {
        "lost_by": ", ".join(sorted({span["lost_by"] for span in spans})),
        "discarded": sum(span["late"] for span in spans), "batch": max(span["batch"] for span in spans),
        "definition": definitions[0] if len(definitions) == 1 else "mixed",
        "peers_met": max((span["peers_met"] for span in spans if span["peers_met"] is not None), default=None),
        "ended_by": ", ".join(sorted({span["ended_by"] for span in spans})),
    }  # fmt: skip
    return cast(CallRow, {**row, **found, **of_spans})


def summaries(mixed: Iterable[MixedRow], by_launch: Iterable[MedianRow], *, modelled: bool) -> list[SummaryRow]:
    """Medians over launches with their intervals, beside the quantiles of all samples."""
    launches = grouped(by_launch, lambda row: (row["cell"], row["call"], row["phase"]))
    found: list[SummaryRow] = []
    for of_all in mixed:
        rows = launches[of_all["cell"], of_all["call"], of_all["phase"]]
        medians, first = [row["median_s"] for row in rows], rows[0]
        within = Interval(first["low_s"], first["high_s"], first["coverage"], "within one launch")
        ends = NO_INTERVAL if modelled else interval_over_launches(medians, within)
        found.append({
            **of_all, "launches": len(medians), "median_s": median(medians), "low_s": ends.low, "high_s": ends.high,
            "coverage": ends.coverage, "interval": ends.kind, "launch_low_s": min(medians),
            "launch_high_s": max(medians),
        })  # fmt: skip
    return found


def startup_rows(root: Path, plan: Plan, medians: Iterable[MedianRow]) -> Iterator[StartupRow]:
    """A row for each number of nodes and ranks that a launch started; of launches with a record of MPI_Init alone."""
    ranks = read_table(root, RANK_TABLE.name).group_by(["launch_id"])
    spans = ranks.aggregate([("init_ns", "min"), ("init_ns", "max")]).to_pylist()
    init = {row["launch_id"]: (row["init_ns_min"], row["init_ns_max"]) for row in spans if row["init_ns_min"] > 0}
    notes = {row["launch_id"]: row for row in LAUNCH_TABLE.read(root)}
    first = _first_calls(root, plan, medians)
    noted = (launch for launch in plan.launches if launch.id in init and launch.id in notes)
    groups = grouped(noted, lambda launch: (launch.ranks, launch.nodes))
    for (ranks, nodes), own in sorted(groups.items()):
        ids = [launch.id for launch in own]
        waits = {
            waiting_component(notes[id]["mpi_library"], json.loads(notes[id]["settings"]), init[id][0] / 1e9)
            for id in ids
        }
        calls = [first[id] for id in ids if id in first]
        yield StartupRow(
            nodes=nodes, ranks=ranks, launches=len(ids), waits=waits.pop() if len(waits) == 1 else "",
            call=calls[0][0] if calls else "", **_over_launches("init", [init[id][1] / 1e9 for id in ids]),
            **_over_launches("first", [seconds for _, seconds in calls]),
        )  # fmt: skip


def _over_launches(name: str, seconds: Sequence[float]) -> Any:
    ends = interval_over_launches(seconds, NO_INTERVAL) if seconds else NO_INTERVAL
    return {f"{name}_s": median(seconds) if seconds else None, f"{name}_low_s": ends.low, f"{name}_high_s": ends.high}


def _first_calls(root: Path, plan: Plan, medians: Iterable[MedianRow]) -> Mapping[str, tuple[str, float]]:
    """Name and seconds of the all-to-all that opened all connections of a launch, by the launch's id."""
    calls = ((cell, kernel_named(cell.kernel).collectives(cell.parameters)) for cell in plan.measured)
    ranks = {cell.id: cell.ranks for cell, of in calls if of and of <= set(DIRECT)}
    fresh = {
        (row["cell"], row["launch"], row["op"])
        for row in SEGMENT_TABLE.read(root)
        if row["cell"] in ranks and row["phase"] == "cold" and row["peers_met"] == 0
    }
    ids = {(cell, launch.index): launch for launch in plan.launches for cell in launch.cells}
    found: dict[str, tuple[str, float]] = {}
    for row in medians:
        launch = ids.get((row["cell"], row["launch"]))
        is_first = row["phase"] == "cold" and (row["cell"], row["launch"], row["call"]) in fresh
        if launch and is_first and ranks[row["cell"]] == launch.ranks:
            found.setdefault(launch.id, (row["call"], row["median_s"]))
    return found
