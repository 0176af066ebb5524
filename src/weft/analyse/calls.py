# SPDX-License-Identifier: BSD-3-Clause
"""The table of calls: a row for each cell, call and phase, with its statistics and bound, or why it has no numbers."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, cast

from weft.analyse.tables.times import STATISTICS, CallRow
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.store.rows import MeasuredRow, SegmentRow

Row = dict[str, Any]
Bounds = Callable[[Row, str], tuple[float, str] | None]

#: A cell's status is the worst of its launches; the table of cells has the status of each launch.
GRAVITY = ("invalid", "crash", "timeout", "launch", "memory", "fabric", "bound")

#: What a row takes over from its summary.
SUMMARISED = ("samples", "tainted", "launches", *STATISTICS, "interval", "launch_low_s", "launch_high_s")


def call_rows(
    cells: Sequence[Row],
    launches: Iterable[MeasuredRow],
    segments: Sequence[SegmentRow],
    summaries: Iterable[Row],
    bounds: Bounds,
) -> list[CallRow]:
    """Join the statistics of each call with its cell in the plan and the status of its launches.

    Parameters
    ----------
    cells
        The plan's cells.
    launches
        Rows of the table of cells: one for each cell and launch.
    segments
        Rows of the table of segments.
    summaries
        Rows of `weft.analyse.summary.summaries`, the call named ``op``.
    bounds
        Lower bound in seconds of a cell's call, and its name.
    """
    statuses: dict[str, list[MeasuredRow]] = {}
    for row in launches:
        statuses.setdefault(row["cell"], []).append(row)
    known = {(row["cell"], row["op"], row["phase"]): row for row in summaries}
    spans: dict[tuple[str, str, str], list[SegmentRow]] = {}
    for row in segments:
        spans.setdefault((row["cell"], row["op"], row["phase"]), []).append(row)
    rows: list[CallRow] = []
    for cell in cells:
        if kernel_named(cell["kernel"]).is_floor:
            continue
        status, reason = cell_status(cell, statuses.get(cell["id"], []))
        for call, phase in _calls_of(cell, segments):
            key = (cell["id"], call, phase)
            row = _identity(cell, call, phase) | {"status": status, "reason": reason}
            bound = bounds(cell, call)
            row |= {"bound_s": bound[0] if bound else None, "bound": bound[1] if bound else ""}
            if status == "ok" and key in known:
                row |= _numbers(known[key], spans[key])
            rows.append(cast(CallRow, row))
    return rows


def cell_status(cell: Row, launches: Sequence[MeasuredRow]) -> tuple[str, str]:
    """Status and reason of a cell over its launches.

    One invalid launch makes the cell invalid: times of a library that exchanged wrong data mean nothing. If some
    launches failed and others did not, the cell is ``ok`` on the good ones, and the reason names the missing ones.
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


def _calls_of(cell: Row, segments: Sequence[SegmentRow]) -> list[tuple[str, str]]:
    """Calls and phases of a cell, in the order they were measured; of a failed one, as the study asks for them."""
    kernel = kernel_named(cell["kernel"])
    if kernel.has_pair_samples:  # thousands of pairs: their times are in a table of their own
        return [(kernel.main, "warm")]
    own = [(row["op"], row["phase"]) for row in segments if row["cell"] == cell["id"]]
    if not own:
        own = list(product(kernel.operations(cell["parameters"], cell["ranks"]), ("cold", "warm")))
    return list(dict.fromkeys(own))


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
        "interval": "",
        "definition": "",
        "peers_met": None,
        "cache": kernel_named(cell["kernel"]).cache(parameters),
        "ended_by": "",
    }
    return row | nothing | counts | {"call": call, "phase": phase}


def _numbers(found: Row, spans: Sequence[SegmentRow]) -> Row:
    definitions = sorted({row["definition"] for row in spans})
    return {
        **{name: found[name] for name in SUMMARISED},
        "discarded": sum(row["late"] for row in spans),
        "batch": max(row["batch"] for row in spans),
        "definition": definitions[0] if len(definitions) == 1 else "mixed",
        "peers_met": max((row["peers_met"] for row in spans if row["peers_met"] is not None), default=None),
        "ended_by": ", ".join(sorted({row["ended_by"] for row in spans})),
    }
