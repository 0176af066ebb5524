# SPDX-License-Identifier: BSD-3-Clause
"""The table of calls: a row for each cell, call and phase, with its statistics and bound, or why it has no numbers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from statistics import median
from typing import cast

from weft.analyse.ranges import ranged
from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.analyse.tables.times import CallRow, MedianRow, MixedRow, SummaryRow
from weft.fabric.model import Fabric
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.plan.records import Cell
from weft.store.rows import MeasuredRow, SegmentRow

Bounds = Callable[[Cell, str], tuple[float, str, str] | None]
"""The lower bound in seconds of a cell's call, its name and its basis."""

#: A cell's status is the worst of its launches; the table of cells has the status of each launch.
GRAVITY = ("invalid", "crash", "timeout", "launch", "memory", "fabric", "bound")


def call_rows(
    cells: Sequence[Cell],
    launches: Iterable[MeasuredRow],
    segments: Sequence[SegmentRow],
    summaries: Iterable[SummaryRow],
    bounds: Bounds,
    fabric: Fabric,
) -> list[CallRow]:
    """Join the statistics of each call with its cell in the plan and the status of its launches."""
    statuses: dict[str, list[MeasuredRow]] = defaultdict(list)
    for launch in launches:
        statuses[launch["cell"]].append(launch)
    spans: dict[str, dict[tuple[str, str], list[SegmentRow]]] = defaultdict(lambda: defaultdict(list))
    for segment in segments:
        spans[segment["cell"]][segment["op"], segment["phase"]].append(segment)
    known = {(row["cell"], row["call"], row["phase"]): row for row in summaries}
    algorithms = {(row["cell"], row["op"]): row["algorithm"] for row in segments if row["algorithm"]}
    rows: list[CallRow] = []
    for cell in (cell for cell in cells if not kernel_named(cell.kernel).is_floor):
        status, reason = cell_status(cell, statuses[cell.id])
        floored = kernel_named(cell.kernel).has_floor(cell.parameters)  # it measures the rates behind a bound
        for call, phase in _calls_of(cell, list(spans[cell.id])):
            row = _unmeasured(cell, call, phase, status, reason)
            row["bound_s"], row["bound"], row["bound_basis"] = (floored and bounds(cell, call)) or (None, "", "")
            row["algorithm"] = algorithms.get((cell.id, call), "")
            found = known.get((cell.id, call, phase))
            if status == "ok" and found:
                row = ranged(_measured(row, found, spans[cell.id][call, phase]), cell, fabric)
            rows.append(row)
    return rows


def cell_status(cell: Cell, launches: Sequence[MeasuredRow]) -> tuple[str, str]:
    """Status and reason of a cell over its launches: ``ok`` on the good ones, and the reason names those that failed.

    One invalid launch makes the cell invalid: times of a library that exchanged wrong data mean nothing.
    """
    if not launches:
        return cell.status, cell.reason or ("not measured yet" if cell.status == "planned" else "")
    failed = sorted((row for row in launches if row["status"] != "ok"), key=lambda row: GRAVITY.index(row["status"]))
    if not failed:
        return "ok", ""
    if failed[0]["status"] == "invalid" or len(failed) == len(launches):
        return failed[0]["status"], failed[0]["reason"] or failed[0]["validation_detail"]
    reasons = "; ".join(f"launch {row['launch']}: {row['status']}: {row['reason']}" for row in failed)
    return "ok", f"{len(failed)} of {len(launches)} launches failed and are left out: {reasons}"


def _calls_of(cell: Cell, measured: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Calls and phases of a cell, in the order they were measured; of a failed one, as the study asks for them."""
    kernel = kernel_named(cell.kernel)
    if kernel.has_pair_samples:  # thousands of pairs: their times are in a table of their own
        return [(kernel.main, "warm")]
    return measured or list(product(kernel.operations(cell.parameters, cell.ranks), ("cold", "warm")))


def _unmeasured(cell: Cell, call: str, phase: str, status: str, reason: str) -> CallRow:
    """The row of a call as long as nothing was measured of it. In a sweep over sizes each call has its own block."""
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
    """The row with its numbers: the summary over all launches, and what the segments say of how it was measured."""
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
    launches: dict[tuple[str, str, str], list[MedianRow]] = defaultdict(list)
    for row in by_launch:
        launches[row["cell"], row["call"], row["phase"]].append(row)
    return [_summary(row, launches[row["cell"], row["call"], row["phase"]], modelled) for row in mixed]


def _summary(mixed: MixedRow, rows: Sequence[MedianRow], modelled: bool) -> SummaryRow:
    medians, first = [row["median_s"] for row in rows], rows[0]
    within = Interval(first["low_s"], first["high_s"], first["coverage"], "within one launch")
    found = NO_INTERVAL if modelled else interval_over_launches(medians, within)
    return {
        **mixed, "launches": len(medians), "median_s": median(medians), "low_s": found.low, "high_s": found.high,
        "coverage": found.coverage, "interval": found.kind, "launch_low_s": min(medians),
        "launch_high_s": max(medians),
    }  # fmt: skip
