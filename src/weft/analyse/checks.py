# SPDX-License-Identifier: BSD-3-Clause
"""Self-checks before anything is printed, and warnings about the numbers; each finding names a remedy."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, TypeVar

from weft.analyse.floor import Floor
from weft.analyse.statistics.interval import RANGES
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.times import CallRow, TimedRow, is_beaten, phase_in_words, timed
from weft.format import format_seconds, percent, plural
from weft.store.rows import LaunchRow, MeasuredRow

Level = Literal["error", "warning", "note"]
NO_SOCKETS = "nobody here can tell which sockets"
"""How a kernel's warning begins where the system does not tell sockets: binding.cpp."""
#: How a warning of a cell in one launch begins whose nodes share a host (`weft.analyse.doubts`).
SHARED_HOST = "nodes share a host"
Statistic = Literal["min_s", "p5_s", "median_s", "p95_s", "p99_s", "max_s"]
ORDERED: tuple[Statistic, ...] = ("min_s", "p5_s", "median_s", "p95_s", "p99_s", "max_s")

#: What to do where a bound was beaten: its rate is stated by the fabric file, or was measured beside the cell.
BEATEN = ("no bound is used: check that rate in the fabric file", "no bound is used: measure again on idle nodes")
#: METHOD 20: a rate this far above what memory or a link allows is an error of the measurement, or of the bound.
TOO_FAST = 1.2
#: A row with more than this share of its samples disturbed is reported.
DISTURBED_ROWS = 0.1
#: ... and of the time that the hypervisor stole, from which on it is reported.
MOST_STEAL = 0.01


def common_findings(
    rows: Sequence[CallRow], cells: Sequence[MeasuredRow], floor: Floor, precision: float = 0.05
) -> list[FindingRow]:
    """Findings that apply to a run of any kernel."""
    return [
        *self_checks(rows), *bounds_beaten(rows), *failures(rows), *below_floor(rows, floor), *machine(cells),
        *not_fresh(rows), *doubtful(rows, precision),
    ]  # fmt: skip


def finding(level: Level, rule: str, where: str, what: str, remedy: str) -> FindingRow:
    """One finding; see `FindingRow`."""
    return FindingRow(level=level, rule=rule, where=where, what=what, remedy=remedy)


def by_gravity(found: Sequence[FindingRow]) -> list[FindingRow]:
    """Findings sorted by severity: errors, warnings, notes; those of one kind as they come, the worst first."""
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda each: order[each["level"]])


def place(row: CallRow | TimedRow) -> str:
    """A row in words: ``C warm, N = 3, p = 24, m = 512``."""
    m = f", m = {row['m']}" if row.get("m") is not None else ""
    return f"{row['call']} {row['phase']}, N = {row['nodes']}, p = {row['ranks']}{m}"


AnyCall = TypeVar("AnyCall", CallRow, TimedRow, CallRow | TimedRow)


def measured(rows: Iterable[AnyCall]) -> list[AnyCall]:
    """Rows that should carry numbers."""
    return [row for row in rows if row["status"] == "ok"]


def self_checks(rows: Sequence[CallRow | TimedRow]) -> list[FindingRow]:
    """METHOD 20: quantiles in order, no infinity or NaN, samples present, no rate above 1.2 x the bound's."""
    found: list[FindingRow] = []
    for row in measured(rows):
        problem = _inconsistent(row)
        if problem:
            remedy = "do not use this number; please report it with the run folder"
            found.append(finding("error", "self-check", place(row), problem, remedy))
        elif row["bound_s"] and (row["median_s"] or 0.0) * TOO_FAST < row["bound_s"]:
            median, bound = format_seconds(row["median_s"] or 0.0), format_seconds(row["bound_s"])
            what = f"{median} is less than the lower bound of {bound} ({row['bound']}) allows"
            remedy = "check the rates in the fabric file, and that buffers are written before they are sent"
            found.append(finding("warning", "self-check", place(row), what, remedy))
    return found


def bounds_beaten(rows: Sequence[CallRow | TimedRow]) -> list[FindingRow]:
    """METHOD 16: a sample below its lower bound is an error of the bound; the finding gives both numbers."""
    found: list[FindingRow] = []
    for row in sorted(measured(rows), key=lambda row: _over(row["min_s"], row["bound_s"])):
        if is_beaten(row):
            fastest, bound = format_seconds(row["min_s"] or 0.0), format_seconds(row["bound_s"] or 0.0)
            what = f"the fastest sample took {fastest}, less than its lower bound of {bound} ({row['bound']})"
            found.append(finding("error", "bound-beaten", place(row), what, BEATEN[row["bound_basis"] == "measured"]))
    return found


def mixed(launches: Sequence[LaunchRow]) -> list[FindingRow]:
    """Launches of several kernels or MPI libraries in one run: what they measure may differ."""
    kinds = {
        "kernels": {row["kernel_sources"] for row in launches} - {""},
        "MPI libraries": {row["mpi_library"] for row in launches} - {""},
    }
    remedy = "measure all launches with one: weft run with --into DIR"
    return [
        finding("warning", "mixed", "all", f"launches of {len(names)} {kind}: {', '.join(sorted(names))}", remedy)
        for kind, names in kinds.items()
        if len(names) > 1
    ]


def _over(value: float | None, of: float | None) -> float:
    """A quotient to sort by, no unit: infinite where it is not known."""
    return math.inf if value is None or not of else value / of


def _inconsistent(row: CallRow | TimedRow) -> str:
    given = {name: row[name] for name in (*ORDERED, "low_s", "high_s", "mean_s")}
    values = {name: value for name, value in given.items() if value is not None}
    if row["samples"] < 1 or "median_s" not in values:
        return "the row has no samples"
    if not all(math.isfinite(value) and value >= 0 for value in values.values()):
        return "a statistic is infinite, negative or not a number"
    ordered = [(name, values[name]) for name in ORDERED if name in values]
    for (below, small), (above, large) in pairwise(ordered):
        if small > large:
            return f"{below} = {format_seconds(small)} is above {above} = {format_seconds(large)}"
    # of a model there is a value and no interval
    if not values.get("low_s", 0.0) <= values["median_s"] <= values.get("high_s", math.inf):
        return "the median is outside its interval"
    return ""


def failures(rows: Sequence[CallRow]) -> list[FindingRow]:
    """Cells without numbers, and cells that lost a launch: one finding each, whatever the number of calls."""
    found: dict[str, FindingRow] = {}
    remedies = {
        "memory": "use a smaller m or n, or more nodes",
        "fabric": "choose fewer nodes or ranks, or another fabric",
        "bound": "raise simulation.budget in the fabric file to simulate it; the table has its lower bound",
        "invalid": "the exchange delivered wrong data: do not trust this library or network; keep the run folder",
        "planned": "repeat the same `weft run`: it continues where it stopped",
    }
    again = "repeat the same `weft run`: it retries this cell; launches/*.log has the output"
    for row in rows:
        if row["status"] == "ok" and not row["reason"]:
            continue
        level = "error" if row["status"] in ("invalid", "crash", "timeout", "launch") else "warning"
        m = f", m = {row['m']}" if row.get("m") is not None else ""
        where = f"cell {row['cell']}, N = {row['nodes']}, p = {row['ranks']}{m}"
        what = row["reason"] if row["status"] == "ok" else f"{row['status']}: {row['reason']}".rstrip(": ")
        found.setdefault(row["cell"], finding(level, "failed", where, what, remedies.get(row["status"], again)))
    return list(found.values())


def below_floor(rows: Sequence[CallRow | TimedRow], floor: Floor) -> list[FindingRow]:
    """METHOD 21: a time below that of an empty operation means nothing; a batch of calls shares one empty operation.

    Ranks that share cores have no noise floor: their empty operation waits for the core.
    """
    found: list[tuple[float, FindingRow]] = []
    for row in measured(rows):
        empty = floor.value("empty", row["nodes"], row["ranks_per_node"])
        if empty is None or row["median_s"] is None or row["oversubscribed"]:
            continue
        empty /= row["batch"] or 1
        if row["median_s"] <= empty:
            what = f"{format_seconds(row['median_s'])} is below the noise floor of {format_seconds(empty)}"
            row_text = finding("warning", "below-floor", place(row), what, "read it as zero; use larger blocks")
            found.append((_over(row["median_s"], empty), row_text))
    return [row_text for _, row_text in sorted(found, key=lambda each: each[0])]


def machine(cells: Sequence[MeasuredRow]) -> list[FindingRow]:
    """Interference from the machine: swapping, CPU steal, warnings that the kernel recorded."""
    found: list[FindingRow] = []
    for row in sorted(cells, key=_swapped, reverse=True):
        if _swapped(row):
            what = f"{_swapped(row)} pages were swapped during the cell"
            remedy = "use a smaller m or n: this time includes disk access"
            found.append(finding("warning", "swap", _launch(row), what, remedy))
    for row in sorted(cells, key=share_of_steal, reverse=True):
        if share_of_steal(row) > MOST_STEAL:
            what = f"CPU steal {100 * share_of_steal(row):.0f} %"
            remedy = "measure on dedicated nodes, or take more launches"
            found.append(finding("warning", "steal", _launch(row), what, remedy))
    return [*found, *(recorded_warning(_launch(row), text) for row in cells for text in row["warnings"] or [])]


def _launch(cell: MeasuredRow) -> str:
    return f"cell {cell['cell']}, launch {cell['launch']}"


def _swapped(cell: MeasuredRow) -> int:
    """Pages of memory that were swapped during a cell in one launch."""
    return (cell["swap_in_pages"] or 0) + (cell["swap_out_pages"] or 0)


def share_of_steal(cell: MeasuredRow) -> float:
    """Share of a cell's time in one launch that the hypervisor gave to others, no unit; 0 where it is not known."""
    return (cell["steal_ns"] or 0) / cell["wall_ns"] if cell["wall_ns"] else 0.0


def not_fresh(rows: Sequence[CallRow]) -> list[FindingRow]:
    """METHOD 3: first calls whose connections Weft's own traffic may already have opened."""
    remedy = "take it as a lower limit for a first call on fresh connections"
    return [
        finding("note", "not-fresh", place(row), phase_in_words(row), remedy)
        for row in sorted(measured(rows), key=lambda row: row["peers_met"] or 0, reverse=True)
        if row["phase"] == "cold" and row["peers_met"]
    ]


def recorded_warning(where: str, text: str) -> FindingRow:
    """A warning that the kernel recorded, such as two ranks bound to one core (METHOD 11)."""
    if text.startswith("two ranks on one core"):
        remedy = "bind each rank to its own core, or start fewer ranks per node"
        return finding("warning", "shared-core", where, text, remedy)
    if text.startswith(SHARED_HOST):
        what = f"{text}: messages between them pass through its memory, not the network"
        remedy = "check the placement of ranks: [batch] starter and options, and node.names"
        return finding("warning", "shared-host", where, what, remedy)
    if text.startswith(NO_SOCKETS):
        remedy = "take both patterns on one node as one, or bind the ranks where sockets are known"
        return finding("warning", "kernel", where, text, remedy)
    return finding("warning", "kernel", where, text, "see the cell's .json")


def more_launches(launches: int) -> int:
    """How many launches to ask for next: ten or, after as many, twice as many."""
    return 10 if launches < 10 else 2 * launches


def half_width(row: TimedRow) -> float:
    """Half of a row's interval over its median, no unit; 0 where it has none that launches could narrow."""
    low, high = row["low_s"], row["high_s"]
    if row["interval"] in RANGES or low is None or high is None:
        return 0.0  # weft.analyse.ranges tells what the model's is
    return (high - low) / 2 / row["median_s"]


def wide(row: TimedRow, precision: float) -> list[FindingRow]:
    """A finding where the interval of a row, of whatever kind, is wider than was asked."""
    width = half_width(row)
    if width <= precision:
        return []
    launches = plural(row["launches"], "launch")
    remedy = f"raise launches in [measure] to {more_launches(row['launches'])}; stop other work"
    if row["interval"] == "within one launch":
        what = f"interval ±{percent(width)} within one launch, {plural(row['samples'], 'sample')}"
        remedy = "raise budget and launches in [measure]"
    elif row["interval"] == "range of launches":
        what = f"launch medians vary by ±{percent(width)}"
    else:
        what = f"interval ±{percent(width)} over {launches}"
    return [finding("warning", "wide", place(row), f"{what} (target ±{percent(precision)})", remedy)]


def disturbed(rows: Sequence[TimedRow]) -> list[FindingRow]:
    """METHOD 11: rows of which more than a tenth of the samples lost over 1 % of their time to others."""
    return [
        finding("note", "lost", place(row), lost_in_words(row), "they are kept; stop other work on these nodes")
        for row in sorted(rows, key=lambda row: row["disturbed"] / max(row["samples"], 1), reverse=True)
        if row["disturbed"] > DISTURBED_ROWS * row["samples"]
    ]


def lost_in_words(row: TimedRow) -> str:
    """How many samples of a row were disturbed, by what, and by how much at most."""
    count = f"{row['disturbed']} of {row['samples']} samples"
    if "switches" in row["lost_by"]:
        return f"{count} had context switches or page faults, of unknown length: this kernel has no schedstat"
    most = format_seconds(row["lost_s"])
    if row["lost_by"] == "others":
        return f"others used the ranks' cores in {count}, up to {most} of a sample"
    return f"ranks waited for a core in {count}, up to {most}"


def doubtful(rows: Sequence[CallRow], precision: float) -> list[FindingRow]:
    """Numbers to read with care: wide intervals, disturbed samples, late starts, shared cores."""
    warm = timed(rows, phase="warm")
    widest = sorted(warm, key=half_width, reverse=True)
    found = [*(each for row in widest for each in wide(row, precision)), *disturbed(warm)]
    for row in sorted(warm, key=lambda row: row["discarded"], reverse=True):
        if row["discarded"]:
            what = f"{row['discarded']} samples started late and were dropped"
            found.append(finding("note", "late", place(row), what, 'use start = "barrier" if that is many'))
    crowded = sorted({row["ranks_per_node"] for row in warm if row["oversubscribed"]})
    if crowded:
        what = f"{', '.join(map(str, crowded))} ranks per node share fewer cores: verdicts leave such points out"
        found.append(finding("note", "oversubscribed", "rows marked *", what, "set ranks_per_node to leave them out"))
    return found
