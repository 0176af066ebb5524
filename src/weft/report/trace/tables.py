# SPDX-License-Identifier: BSD-3-Clause
"""The tables of ``weft trace show``, and its headline."""

import json
from collections.abc import Sequence

from weft.format import exact_bytes, format_bytes, format_seconds, plural
from weft.report.tabular import Table, Words
from weft.report.trace.view import TraceView

MOST = 12
SCHEMA = "weft-trace-show/1"


def headline(view: TraceView) -> str:
    """How much of the ranks' time was MPI, how much of that waiting, and what could be saved at most."""
    total = sum(row["seconds"] for row in view.late)
    if not total:
        return "No MPI call was recorded."
    mpi, waited = (sum(row[key] for row in view.late) for key in ("mpi_s", "waited_s"))
    text = f"{plural(len(view.ranks), 'rank')} spent {percent(mpi / total)} of their time in MPI, "
    text += f"{percent(waited / total)} in waiting for ranks that came late."
    for row in view.verdict[:1]:
        text += f" {row['remedy'].capitalize()} saves at most {percent(row['saves_s'] / row['seconds'])} of the time."
    return text


def percent(share: float) -> str:
    """``8.5 %``, ``42 %``."""
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"


def trace_tables(view: TraceView) -> list[Table]:
    """Every table that has rows."""
    made = (_verdict(view), _calls(view), _sizes(view), _communicators(view), _late(view), _phases(view))
    return [table for table in made if table.rows]


def _verdict(view: TraceView) -> Table:
    rows = [
        (row["remedy"], f"{format_seconds(row['saves_s'])} ({percent(row['saves_s'] / row['seconds'])})", row["why"])
        for row in view.verdict
    ]
    return Table("What would help, at most", (Words("remedy"), "saves at most", Words("why not more")), tuple(rows))


def _calls(view: TraceView) -> Table:
    rows = [
        (
            row["call"], f"{row['calls']:,}", format_seconds(row["seconds"]), percent(row["share"]),
            "–" if row["waiting_s"] is None else format_seconds(row["waiting_s"]),
            "–" if row["waiting_s"] is None else format_seconds(max(row["seconds"] - row["waiting_s"], 0.0)),
            format_bytes(row["bytes"]), format_seconds(row["longest_s"]),
        )
        for row in view.calls[:MOST]
    ]  # fmt: skip
    columns = ("call", "calls", "time of all ranks", "share", "waiting", "moving", "bytes given", "longest")
    return Table(f"Time by call{_less(rows, view.calls)}", columns, tuple(rows))


def _sizes(view: TraceView) -> Table:
    rows = sorted(view.sizes, key=lambda row: -row["seconds"])[:MOST]
    shown = [
        (row["call"], f"up to {exact_bytes(row['size'])}", f"{row['calls']:,}", format_seconds(row["seconds"]),
         format_bytes(row["bytes"]))
        for row in rows
    ]  # fmt: skip
    columns = ("call", "size", "calls", "time of all ranks", "bytes")
    return Table(f"Time by size{_less(rows, view.sizes)}", columns, tuple(shown))


def _communicators(view: TraceView) -> Table:
    rows = [
        (row["name"], f"{row['size']:,}", f"{row['calls']:,}", format_seconds(row["seconds"]),
         percent(row["all_to_all_s"] / row["seconds"]) if row["seconds"] else "–", format_bytes(row["bytes"]))
        for row in view.communicators[:MOST]
    ]  # fmt: skip
    columns = ("communicator", "ranks", "calls", "time of all ranks", "of it all-to-all", "bytes given")
    return Table(f"Time by communicator{_less(rows, view.communicators)}", columns, tuple(rows))


def _late(view: TraceView) -> Table:
    rows = sorted(view.late, key=lambda row: -row["caused_s"])[:MOST]
    shown = [
        (f"{row['rank']:,}", view.nodes[row["node"]], format_seconds(row["caused_s"]), f"{row['last']:,}",
         format_seconds(row["waited_s"]), format_seconds(row["mpi_s"]), format_seconds(row["compute_s"]))
        for row in rows
        if row["caused_s"] > 0
    ]  # fmt: skip
    columns = ("rank", Words("node"), "others waited for it", "in calls", "it waited", "in MPI", "outside")
    return Table("Who came late", columns, tuple(shown))


def _phases(view: TraceView) -> Table:
    rows = [
        (f"{row['times']:,}", f"{row['calls']:,}", format_seconds(row["begin_s"]), format_seconds(row["seconds"]),
         percent(row["mpi_s"] / row["seconds"]) if row["seconds"] else "–", row["text"])
        for row in view.phases
    ]  # fmt: skip
    columns = ("times", "calls each", "begins at", "lasts", "of it MPI", Words("longest calls"))
    return Table("Repeating phases of rank 0", columns, tuple(rows))


def _less(shown: Sequence[object], of: Sequence[object]) -> str:
    return f", the first {len(shown)} of {len(of)}" if len(shown) < len(of) else ""


def as_json(view: TraceView) -> str:
    """All rows but the matrix, unrounded, in s and bytes."""
    tree = {
        "schema": SCHEMA, "trace": str(view.path), "command": view.command, "headline": headline(view),
        "verdict": list(view.verdict), "calls": list(view.calls), "sizes": list(view.sizes),
        "communicators": list(view.communicators), "ranks": list(view.late), "phases": list(view.phases),
        "partial": [row["missing"] for row in view.ranks if row["missing"]],
    }  # fmt: skip
    return json.dumps(tree, indent=1) + "\n"
