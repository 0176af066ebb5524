# SPDX-License-Identifier: BSD-3-Clause
"""Self-checks before anything is printed, and warnings about the numbers; each finding names a remedy."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, cast

from weft.analyse.floor import Floor
from weft.analyse.statistics.interval import RANGES
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.times import CallRow, TimedRow, is_beaten, is_refuted, phase_in_words, timed
from weft.files.reading import is_table
from weft.format import format_seconds, percent, plural
from weft.store.rows import LaunchRow, MeasuredRow

AnyCall = CallRow | TimedRow
Level = Literal["error", "warning", "note"]
#: How a kernel's warning begins where the system does not tell sockets: binding.cpp.
NO_SOCKETS = "nobody here can tell which sockets"
#: How a warning of a cell in one launch begins whose nodes share a host (`weft.analyse.doubts`).
SHARED_HOST = "nodes share a host"
ORDERED: Final = ("min_s", "p5_s", "median_s", "p95_s", "p99_s", "max_s")
#: METHOD 20: a rate this far above what memory or a link allows is an error of the measurement, or of the bound.
TOO_FAST = 1.2
DISTURBED_ROWS = 0.1  # a row with more than this share of its samples disturbed is reported
MOST_STEAL = 0.01  # ... and of the time that the hypervisor stole, from which on it is reported


def common_findings(
    rows: Sequence[CallRow], cells: Sequence[MeasuredRow], floor: Floor, precision: float = 0.05
) -> list[FindingRow]:
    """Findings that apply to a run of any kernel."""
    return [
        *self_checks(rows), *bounds_beaten(rows), *failures(rows), *below_floor(rows, floor), *machine(cells),
        *not_fresh(rows), *doubtful(rows, precision),
    ]  # fmt: skip


@cache
def finding_texts() -> Mapping[str, Mapping[str, str]]:
    """Level, what and remedy of each finding of ``findings.toml``, by rule or rule.case."""
    rules = tomllib.loads(Path(__file__).with_name("findings.toml").read_text(encoding="utf-8"))
    cases = {f"{rule}.{case}": text for rule, own in rules.items() for case, text in own.items() if is_table(text)}
    return rules | cases


def make_finding(id: str, where: str, level: Level | None = None, /, **values: Any) -> FindingRow:
    """A finding with its values put into its words; ``id`` is its rule, or rule.case."""
    text = finding_texts()[id]
    what, remedy = (text[key].format(**values) for key in ("what", "remedy"))
    usual = cast(Level, text["level"])
    return FindingRow(level=level or usual, rule=id.partition(".")[0], where=where, what=what, remedy=remedy)


def by_gravity(found: Sequence[FindingRow]) -> list[FindingRow]:
    """Findings sorted by severity: errors, warnings, notes; those of one kind as they come, the worst first."""
    return sorted(found, key=lambda each: ("error", "warning", "note").index(each["level"]))


def place(row: AnyCall) -> str:
    """A row in words: ``C warm, N = 3, p = 24, m = 512``."""
    return f"{row['call']} {row['phase']}, {_shape(row)}"


def _shape(row: AnyCall) -> str:
    m = f", m = {row['m']}" if row.get("m") is not None else ""
    return f"N = {row['nodes']}, p = {row['ranks']}{m}"


def self_checks(rows: Sequence[AnyCall]) -> list[FindingRow]:
    """METHOD 20: quantiles in order, no infinity or NaN, samples present, no rate above 1.2 x the bound's."""
    found: list[FindingRow] = []
    for row in rows:
        if row["status"] != "ok":
            continue
        if problem := _inconsistent(row):
            found.append(make_finding("self-check.statistics", place(row), problem=problem))
        elif row["bound_s"] and (row["median_s"] or 0.0) * TOO_FAST < row["bound_s"]:
            median, bound = format_seconds(row["median_s"] or 0.0), format_seconds(row["bound_s"])
            id = f"self-check.{'measured' if row['bound_basis'] == 'measured' else 'too-fast'}"
            found.append(make_finding(id, place(row), median=median, bound=bound, name=row["bound"]))
    return found


def bounds_beaten(rows: Sequence[AnyCall]) -> list[FindingRow]:
    """METHOD 16: a sample below its lower bound is an error of the bound; the finding gives both numbers."""
    found: list[FindingRow] = []
    beaten = [row for row in rows if row["status"] == "ok" and is_beaten(row)]
    for row in sorted(beaten, key=lambda row: (row["min_s"] or 0.0) / (row["bound_s"] or math.inf)):
        fastest, bound = format_seconds(row["min_s"] or 0.0), format_seconds(row["bound_s"] or 0.0)
        case = "measured" if is_refuted(row) else "within"
        id = f"bound-beaten.{case if row['bound_basis'] == 'measured' else 'stated'}"
        found.append(make_finding(id, place(row), fastest=fastest, bound=bound, name=row["bound"]))
    return found


def mixed(launches: Sequence[LaunchRow]) -> list[FindingRow]:
    """Launches of several kernels or MPI libraries in one run: what they measure may differ."""
    kernels, libraries = ({row[key] for row in launches} - {""} for key in ("kernel_sources", "mpi_library"))
    return [
        make_finding("mixed", "all", count=len(names), kind=kind, names=", ".join(sorted(names)))
        for kind, names in (("kernels", kernels), ("MPI libraries", libraries))
        if len(names) > 1
    ]


def _inconsistent(row: AnyCall) -> str:
    values = {key: value for key in (*ORDERED, "low_s", "high_s", "mean_s") if (value := row[key]) is not None}
    if row["samples"] < 1 or "median_s" not in values:
        return "the row has no samples"
    if not all(math.isfinite(value) and value >= 0 for value in values.values()):
        return "a statistic is infinite, negative or not a number"
    for below, above in pairwise(name for name in ORDERED if name in values):
        if values[below] > values[above]:
            return f"{below} = {format_seconds(values[below])} is above {above} = {format_seconds(values[above])}"
    # of a model there is a value and no interval
    if not values.get("low_s", 0.0) <= values["median_s"] <= values.get("high_s", math.inf):
        return "the median is outside its interval"
    return ""


def failures(rows: Sequence[CallRow]) -> list[FindingRow]:
    """Cells without numbers, and cells that lost a launch: one finding each, whatever the number of calls."""
    found: dict[str, FindingRow] = {}
    for row in (row for row in rows if row["status"] != "ok" or row["reason"]):
        case = "start" if row["status"] in ("crash", "timeout", "launch") else "launch-lost"
        id = f"failed.{row['status']}" if f"failed.{row['status']}" in finding_texts() else f"failed.{case}"
        what = row["reason"] if row["status"] == "ok" else f"{row['status']}: {row['reason']}".rstrip(": ")
        found.setdefault(row["cell"], make_finding(id, f"cell {row['cell']}, {_shape(row)}", why=what))
    return list(found.values())


def below_floor(rows: Sequence[AnyCall], floor: Floor) -> list[FindingRow]:
    """METHOD 21: a time below that of an empty operation means nothing; a batch of calls shares one empty operation.
    Ranks that share cores have no noise floor: their empty operation waits for the core.
    """
    found: list[tuple[float, FindingRow]] = []
    for row in rows:
        empty = floor.value("empty", row["nodes"], row["ranks_per_node"])
        if empty is None or row["median_s"] is None or row["status"] != "ok" or row["oversubscribed"]:
            continue
        empty /= row["batch"] or 1
        if row["median_s"] <= empty:
            times = {"median": format_seconds(row["median_s"]), "empty": format_seconds(empty)}
            share = row["median_s"] / empty if empty else math.inf
            found.append((share, make_finding("below-floor", place(row), **times)))
    return [finding for _, finding in sorted(found, key=lambda each: each[0])]


def machine(cells: Sequence[MeasuredRow]) -> list[FindingRow]:
    """Interference from the machine: swapping, CPU steal, warnings that the kernel recorded."""
    where = [(f"cell {row['cell']}, launch {row['launch']}", row) for row in cells]
    swapped = sorted(((swapped_pages(row), name) for name, row in where), key=lambda each: each[0], reverse=True)
    stolen = sorted(((share_of_steal(row), name) for name, row in where), key=lambda each: each[0], reverse=True)
    return [
        *(make_finding("swap", name, pages=pages) for pages, name in swapped if pages),
        *(make_finding("steal", name, percent=100 * share) for share, name in stolen if share > MOST_STEAL),
        *(recorded_warning(name, text) for name, row in where for text in row["warnings"] or []),
    ]


def swapped_pages(cell: MeasuredRow) -> int:
    """Pages of memory that were swapped during a cell in one launch."""
    return (cell["swap_in_pages"] or 0) + (cell["swap_out_pages"] or 0)


def share_of_steal(cell: MeasuredRow) -> float:
    """Share of a cell's time in one launch that the hypervisor gave to others, no unit; 0 where it is not known."""
    return (cell["steal_ns"] or 0) / cell["wall_ns"] if cell["wall_ns"] else 0.0


def not_fresh(rows: Sequence[CallRow]) -> list[FindingRow]:
    """METHOD 3: first calls whose connections Weft's own traffic may already have opened."""
    met = [row for row in rows if row["status"] == "ok" and row["phase"] == "cold" and row["peers_met"]]
    met.sort(key=lambda row: row["peers_met"] or 0, reverse=True)
    return [make_finding("not-fresh", place(row), phase=phase_in_words(row)) for row in met]


def recorded_warning(where: str, text: str) -> FindingRow:
    """A warning that the kernel recorded, such as two ranks bound to one core (METHOD 11)."""
    begins = {"two ranks on one core": "shared-core.bound", SHARED_HOST: "shared-host", NO_SOCKETS: "kernel.sockets"}
    id = next((id for begin, id in begins.items() if text.startswith(begin)), "kernel.other")
    return make_finding(id, where, text=text)


def more_launches(launches: int) -> int:
    """How many launches to ask for next: ten or, after as many, twice as many."""
    return 10 if launches < 10 else 2 * launches


def half_width(row: TimedRow) -> float:
    """Half of a row's interval over its median, no unit; 0 where it has none that launches could narrow."""
    low, high = row["low_s"], row["high_s"]
    if row["interval"] in RANGES or low is None or high is None:
        return 0.0  # weft.analyse.ranges tells what the model's is
    return (high - low) / 2 / row["median_s"]


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
    """Numbers to read with care: wide intervals, disturbed samples, late starts, shared cores. METHOD 11: reported are
    rows of which more than a tenth of the samples lost over 1 % of their time to others.
    """
    warm = timed(rows, phase="warm")
    found: list[FindingRow] = []
    for row in sorted(warm, key=half_width, reverse=True):
        if half_width(row) > precision:
            case = {"within one launch": "one-launch", "range of launches": "range"}.get(row["interval"], "launches")
            counts = {"samples": plural(row["samples"], "sample"), "launches": plural(row["launches"], "launch")}
            widths = {"width": percent(half_width(row)), "precision": percent(precision)}
            more = more_launches(row["launches"])
            found.append(make_finding(f"wide.{case}", place(row), **widths, **counts, more=more))
    disturbed = [row for row in warm if row["disturbed"] > DISTURBED_ROWS * row["samples"]]
    disturbed.sort(key=lambda row: row["disturbed"] / max(row["samples"], 1), reverse=True)
    found += [make_finding("lost", place(row), text=lost_in_words(row)) for row in disturbed]
    late = sorted((row for row in warm if row["discarded"]), key=lambda row: row["discarded"], reverse=True)
    found += [make_finding("late", place(row), count=row["discarded"]) for row in late]
    crowded = sorted({row["ranks_per_node"] for row in warm if row["oversubscribed"]})
    if crowded:
        found.append(make_finding("oversubscribed", "rows marked *", ranks=", ".join(map(str, crowded))))
    return found
