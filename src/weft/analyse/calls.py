# SPDX-License-Identifier: BSD-3-Clause
"""The table of calls: a row for each cell, call and phase, with its statistics and bound, or why it has no numbers."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import pyarrow as pa

from weft.kernel import kernel_named
from weft.kernel.sizes import split_op

Row = dict[str, Any]
Bounds = Callable[[Row, str], tuple[float, str] | None]

STATISTICS = ("median_s", "low_s", "high_s", "coverage", "min_s", "p5_s", "p95_s", "p99_s", "max_s", "mean_s")
SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("kernel", pa.string()),
        ("series", pa.list_(pa.string())),
        ("nodes", pa.int32()),
        ("ranks_per_node", pa.int32()),
        ("ranks", pa.int32()),
        ("n", pa.int64()),
        ("m", pa.int64()),
        ("call", pa.string()),
        ("phase", pa.string()),
        ("status", pa.string()),
        ("samples", pa.int64()),
        ("discarded", pa.int64()),
        ("tainted", pa.int64()),
        ("launches", pa.int32()),
        ("batch", pa.int32()),
        ("definition", pa.string()),
        *((name, pa.float64()) for name in STATISTICS),
        ("launch_low_s", pa.float64()),
        ("launch_high_s", pa.float64()),
        ("bound_s", pa.float64()),
        ("bound", pa.string()),
        ("block_bytes", pa.int64()),
        ("array_bytes", pa.int64()),
        ("local_bytes", pa.int64()),
        ("oversubscribed", pa.bool_()),
        ("ended_by", pa.string()),
        ("reason", pa.string()),
    ]
)

#: A cell's status is the gravest of its launches'; each launch's own stands in the table of cells.
GRAVITY = ("invalid", "crash", "timeout", "launch", "memory", "fabric", "bound")


def call_rows(
    cells: Sequence[Row],
    launches: Iterable[Row],
    segments: Sequence[Row],
    pooled: Iterable[Row],
    by_launch: Iterable[Row],
    bounds: Bounds,
) -> list[Row]:
    """Put the statistics of each call beside what the plan and the launches say of its cell.

    Parameters
    ----------
    cells
        The plan's cells.
    launches
        Rows of the table of cells: one for each cell and launch.
    segments
        Rows of the table of segments.
    pooled, by_launch
        Order statistics over all launches of a cell, and of each launch.
    bounds
        Lower bound in seconds of a cell's call, and its name.
    """
    statuses: dict[str, list[Row]] = {}
    for row in launches:
        statuses.setdefault(row["cell"], []).append(row)
    known = {(row["cell"], row["op"], row["phase"]): row for row in pooled}
    medians: dict[tuple[str, str, str], list[float]] = {}
    for row in by_launch:
        medians.setdefault((row["cell"], row["op"], row["phase"]), []).append(row["median_s"])
    spans: dict[tuple[str, str, str], list[Row]] = {}
    for row in segments:
        spans.setdefault((row["cell"], row["op"], row["phase"]), []).append(row)
    rows: list[Row] = []
    for cell in cells:
        if cell["kernel"] == "floor":
            continue
        status, reason = cell_status(cell, statuses.get(cell["id"], []))
        for call, phase in _calls_of(cell, segments):
            key = (cell["id"], call, phase)
            row = _identity(cell, call, phase) | {"status": status, "reason": reason}
            bound = bounds(cell, call)
            row |= {"bound_s": bound[0] if bound else None, "bound": bound[1] if bound else ""}
            if status == "ok" and key in known:
                row |= _numbers(known[key], medians[key], spans[key])
            rows.append(row)
    return rows


def cell_status(cell: Row, launches: Sequence[Row]) -> tuple[str, str]:
    """Status and reason of a cell over its launches.

    One invalid launch makes the cell invalid: a library that once exchanged wrong data is not to be timed. Failed
    launches beside good ones leave the cell ``ok`` on the good ones, and the reason says which are missing.
    """
    if not launches:
        return str(cell["status"]), str(cell["reason"]) or ("not measured yet" if cell["status"] == "planned" else "")
    failed = sorted((row for row in launches if row["status"] != "ok"), key=lambda row: GRAVITY.index(row["status"]))
    if not failed:
        return "ok", ""
    worst = failed[0]
    if worst["status"] == "invalid" or len(failed) == len(launches):
        return worst["status"], worst["reason"] or worst["validation_detail"]
    told = "; ".join(f"launch {row['launch']}: {row['status']}: {row['reason']}" for row in failed)
    return "ok", f"{len(failed)} of {len(launches)} launches failed and are left out: {told}"


def _calls_of(cell: Row, segments: Sequence[Row]) -> list[tuple[str, str]]:
    """Calls and phases of a cell, in the order they were measured; of a failed one, as the study asks for them."""
    if cell["kernel"] == "pairs":  # thousands of pairs: their times stand in a table of their own
        return [("pairs", "warm")]
    own = [(row["op"], row["phase"]) for row in segments if row["cell"] == cell["id"]]
    if not own:
        own = list(product(planned_calls(cell), ("cold", "warm")))
    return list(dict.fromkeys(own))


def planned_calls(cell: Row) -> list[str]:
    """Calls that a cell would have had: a sweep over sizes has one for each."""
    parameters = cell["parameters"]
    if "bytes" in parameters:
        return list(kernel_named(cell["kernel"]).traffic(parameters, cell["ranks"]))
    return parameters.get("calls", ["total"]) if parameters.get("data", "contention") == "contention" else ["total"]


def _identity(cell: Row, call: str, phase: str) -> Row:
    same = ("kernel", "nodes", "ranks_per_node", "ranks", "block_bytes", "array_bytes", "local_bytes", "oversubscribed")
    row: Row = {key: cell[key] for key in same}
    size = split_op(call)[1]
    if size is not None:  # of a sweep over sizes each call has a block of its own
        row["block_bytes"] = size
    parameters = cell["parameters"]
    row |= {"cell": cell["id"], "series": list(cell["series"]), "n": parameters.get("n"), "m": parameters.get("m")}
    nothing = dict.fromkeys((*STATISTICS, "launch_low_s", "launch_high_s"))
    counts = {
        "samples": 0,
        "discarded": 0,
        "tainted": 0,
        "launches": 0,
        "batch": None,
        "definition": "",
        "ended_by": "",
    }
    return row | nothing | counts | {"call": call, "phase": phase}


def _numbers(found: Row, medians: Sequence[float], spans: Sequence[Row]) -> Row:
    definitions = sorted({row["definition"] for row in spans})
    return {
        **{name: found[name] for name in ("samples", "tainted", *STATISTICS)},
        "discarded": sum(row["late"] for row in spans),
        "launches": len(medians),
        "batch": max(row["batch"] for row in spans),
        "definition": definitions[0] if len(definitions) == 1 else "mixed",
        "launch_low_s": min(medians),
        "launch_high_s": max(medians),
        "ended_by": ", ".join(sorted({row["ended_by"] for row in spans})),
    }
