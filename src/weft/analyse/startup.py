# SPDX-License-Identifier: BSD-3-Clause
"""What starting an MPI program costs: MPI_Init, and the first all-to-all on fresh connections, from every launch."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from weft.analyse.checks import make_finding
from weft.analyse.statistics.interval import NO_INTERVAL, interval_over_launches
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.times import MedianRow, StartupRow
from weft.format import format_seconds, plural
from weft.kernel import DIRECT
from weft.kernel.registry import kernel_named
from weft.mpi.starting import DELAY_S, waiting_component
from weft.plan.records import Plan
from weft.store.rows import LAUNCH_TABLE, RANK_TABLE, SEGMENT_TABLE
from weft.store.tables import read_table


def startup_rows(root: Path, plan: Plan, medians: Iterable[MedianRow]) -> list[StartupRow]:
    """A row for each number of nodes and ranks that a launch started; of launches with a record of MPI_Init alone."""
    ranks = read_table(root, RANK_TABLE.name).group_by(["launch_id"])
    spans = ranks.aggregate([("init_ns", "min"), ("init_ns", "max")]).to_pylist()
    init = {row["launch_id"]: (row["init_ns_min"], row["init_ns_max"]) for row in spans if row["init_ns_min"] > 0}
    notes = {row["launch_id"]: row for row in LAUNCH_TABLE.read(root)}
    first = _first_calls(root, plan, medians)
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for launch in plan.launches:
        if launch.id in init and launch.id in notes:
            groups[launch.nodes, launch.ranks].append(launch.id)
    found: list[StartupRow] = []
    for (nodes, ranks), ids in sorted(groups.items(), key=lambda each: each[0][::-1]):
        waits = {
            waiting_component(notes[id]["mpi_library"], json.loads(notes[id]["settings"]), init[id][0] / 1e9)
            for id in ids
        }
        calls = [first[id] for id in ids if id in first]
        found.append(
            StartupRow(
                nodes=nodes, ranks=ranks, launches=len(ids), waits=waits.pop() if len(waits) == 1 else "",
                call=calls[0][0] if calls else "", **_summary("init", [init[id][1] / 1e9 for id in ids]),
                **_summary("first", [seconds for _, seconds in calls]),
            )
        )  # fmt: skip
    return found


def _summary(name: str, seconds: Sequence[float]) -> Any:
    if not seconds:
        return {f"{name}_s": None, f"{name}_low_s": None, f"{name}_high_s": None}
    ends = interval_over_launches(seconds, NO_INTERVAL)
    return {f"{name}_s": median(seconds), f"{name}_low_s": ends.low, f"{name}_high_s": ends.high}


def _first_calls(root: Path, plan: Plan, medians: Iterable[MedianRow]) -> Mapping[str, tuple[str, float]]:
    """Name and seconds of the all-to-all that opened all connections of a launch, by the launch's id."""
    calls = {cell.id: kernel_named(cell.kernel).collectives(cell.parameters) for cell in plan.measured}
    ranks = {cell.id: cell.ranks for cell in plan.measured if calls[cell.id] and calls[cell.id] <= set(DIRECT)}
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


def waits_at_start(rows: Sequence[StartupRow]) -> list[FindingRow]:
    """A note where a component of the library only waits in MPI_Init."""
    return [
        make_finding(
            "start-up", f"N = {row['nodes']}, p = {row['ranks']}", init=format_seconds(row["init_s"] or 0.0),
            delay=format_seconds(DELAY_S), component=row["waits"], launches=plural(row["launches"], "launch"),
        )
        for row in rows
        if row["waits"]
    ]  # fmt: skip
