# SPDX-License-Identifier: BSD-3-Clause
"""What Weft checks before it prints, and what a reader must know about the numbers: each finding names its remedy."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from weft.analyse.floor import Floor
from weft.analyse.scaling import reach
from weft.units import format_seconds

Row = dict[str, Any]
ORDERED = ("min_s", "p5_s", "median_s", "p95_s", "p99_s", "max_s")

#: METHOD 20: a rate this far above what memory or a link allows is an error of the measurement, or of the bound.
TOO_FAST = 1.2


@dataclass(frozen=True)
class Finding:
    """Something a reader must know.

    Attributes
    ----------
    level
        ``error``: the number is not to be used; ``warning``: it is to be read with care; ``note``: it is worth knowing.
    rule
        Short name of the check: ``self-check``, ``slower-than-double``, ``below-floor``, ``failed``, ...
    where
        Cells, call and phase it is about, in words.
    what, remedy
        What was found with its values, and what to do.
    """

    level: Literal["error", "warning", "note"]
    rule: str
    where: str
    what: str
    remedy: str


def all_findings(
    rows: Sequence[Row], cells: Sequence[Row], floor: Floor, main_call: str, precision: float = 0.05
) -> list[Finding]:
    """Every finding of a run, errors first.

    Parameters
    ----------
    rows
        The table of calls.
    cells
        The table of cells and launches.
    floor
        The floor of the run.
    main_call
        The call whose messages are the cell's blocks; the others' do not grow with them.
    precision
        The half width of the interval that the study asked for, relative.
    """
    return by_gravity([*slower_than_double(rows, main_call), *common_findings(rows, cells, floor, precision)])


def common_findings(rows: Sequence[Row], cells: Sequence[Row], floor: Floor, precision: float = 0.05) -> list[Finding]:
    """The findings that a run of any kernel can have, errors first; parameters as of `all_findings`."""
    return by_gravity(
        [
            *self_checks(rows),
            *failures(rows),
            *below_floor(rows, floor),
            *machine(cells),
            *doubtful(rows, precision),
        ]
    )


def by_gravity(found: Sequence[Finding]) -> list[Finding]:
    """Findings in order: errors, warnings, notes."""
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: order[finding.level])


def place(row: Row) -> str:
    """A row in words: ``C warm, N = 3, p = 24, m = 512``."""
    m = f", m = {row['m']}" if row.get("m") is not None else ""
    return f"{row['call']} {row['phase']}, N = {row['nodes']}, p = {row['ranks']}{m}"


def measured(rows: Iterable[Row]) -> list[Row]:
    """Rows that should carry numbers."""
    return [row for row in rows if row["status"] == "ok"]


def self_checks(rows: Sequence[Row]) -> list[Finding]:
    """METHOD 20: quantiles in order, no infinity or NaN, samples present, no rate above 1.2 x the bound's."""
    found: list[Finding] = []
    for row in measured(rows):
        problem = _inconsistent(row)
        if problem:
            remedy = "do not use this number; please report it with the run folder"
            found.append(Finding("error", "self-check", place(row), problem, remedy))
        elif row["bound_s"] and row["median_s"] * TOO_FAST < row["bound_s"]:
            median, bound = format_seconds(row["median_s"]), format_seconds(row["bound_s"])
            what = f"{median} is less than the lower bound of {bound} ({row['bound']}) allows"
            remedy = "check the rates in the fabric file, and that buffers are written before they are sent"
            found.append(Finding("warning", "self-check", place(row), what, remedy))
    return found


def _inconsistent(row: Row) -> str:
    values = {name: row[name] for name in (*ORDERED, "low_s", "high_s", "mean_s") if row[name] is not None}
    if row["samples"] < 1 or "median_s" not in values:
        return "the row has no samples"
    if not all(math.isfinite(value) and value >= 0 for value in values.values()):
        return "a statistic is infinite, negative or not a number"
    ordered = [(name, values[name]) for name in ORDERED if name in values]
    for (below, small), (above, large) in pairwise(ordered):
        if small > large:
            return f"{below} = {small:.3g} is above {above} = {large:.3g}"
    if not values["low_s"] <= values["median_s"] <= values["high_s"]:
        return "the median lies outside of its interval"
    return ""


def failures(rows: Sequence[Row]) -> list[Finding]:
    """Cells without numbers, and cells that lost a launch: one finding each, whatever the number of calls."""
    found: dict[str, Finding] = {}
    remedies = {
        "memory": "use a smaller m or n, or more nodes",
        "fabric": "choose fewer nodes or ranks, or another fabric",
        "bound": "raise simulation.budget in the fabric file to simulate it; its lower bound stands in the table",
        "invalid": "the exchange delivered wrong data: do not trust this library or network; keep the run folder",
        "planned": "start the same `weft run` again: it goes on where it stopped",
    }
    again = "start the same `weft run` again: it tries this cell anew; launches/*.log has the output"
    for row in rows:
        if row["status"] == "ok" and not row["reason"]:
            continue
        level = "error" if row["status"] in ("invalid", "crash", "timeout", "launch") else "warning"
        m = f", m = {row['m']}" if row.get("m") is not None else ""
        where = f"cell {row['cell']}, N = {row['nodes']}, p = {row['ranks']}{m}"
        what = row["reason"] if row["status"] == "ok" else f"{row['status']}: {row['reason']}".rstrip(": ")
        found.setdefault(row["cell"], Finding(level, "failed", where, what, remedies.get(row["status"], again)))
    return list(found.values())


def slower_than_double(rows: Sequence[Row], main_call: str) -> list[Finding]:
    """METHOD 18: t(size) > t(2 x size) marks a change of protocol or algorithm."""
    found: list[Finding] = []
    warm = [row for row in measured(rows) if (row["call"], row["phase"]) == (main_call, "warm")]
    known = [row for row in warm if row["median_s"]]
    for small in known:
        shape = ("kernel", "nodes", "ranks")
        larger = [row for row in known if all(row[key] == small[key] for key in shape)]
        for double in (row for row in larger if row["block_bytes"] == 2 * small["block_bytes"] and row["block_bytes"]):
            if small["median_s"] > double["median_s"]:
                sure = "" if reach(small)[0] > reach(double)[1] else " (their intervals overlap)"
                what = f"blocks of {small['block_bytes']} B take {small['median_s']:.3g} s, of twice that "
                what += f"{double['median_s']:.3g} s{sure}"
                remedy = "the library changes its protocol or algorithm in between: look at its eager limit "
                remedy += "(btl_*_eager_limit, MPIR_CVAR_CH4_*_EAGER*, UCX_RNDV_THRESH) and its all-to-all thresholds"
                found.append(Finding("note", "slower-than-double", place(small), what, remedy))
    return found


def below_floor(rows: Sequence[Row], floor: Floor) -> list[Finding]:
    """METHOD 21: a time below that of an empty operation says nothing; a batch of calls shares one empty operation.

    Ranks that share cores have no floor: their empty operation waits for the core.
    """
    found: list[Finding] = []
    for row in measured(rows):
        empty = floor.value("empty", row["nodes"], row["ranks_per_node"])
        if empty is None or row["median_s"] is None or row["oversubscribed"]:
            continue
        if row["median_s"] <= empty / row["batch"]:
            what = (
                f"{format_seconds(row['median_s'])} is below the noise floor of {format_seconds(empty / row['batch'])}"
            )
            found.append(Finding("warning", "below-floor", place(row), what, "read it as zero; use larger blocks"))
    return found


def machine(cells: Sequence[Row]) -> list[Finding]:
    """What the machine did beside: swapping, time stolen by a hypervisor, the kernel's own warnings."""
    found: list[Finding] = []
    for row in cells:
        where = f"cell {row['cell']}, launch {row['launch']}"
        pages = (row["swap_in_pages"] or 0) + (row["swap_out_pages"] or 0)
        if pages:
            what = f"{pages} pages were swapped during the cell"
            found.append(Finding("warning", "swap", where, what, "use a smaller m or n: this time is that of a disk"))
        if row["wall_ns"] and (row["steal_ns"] or 0) > 0.01 * row["wall_ns"]:
            what = f"the hypervisor took {row['steal_ns'] / row['wall_ns']:.0%} of the time away"
            found.append(Finding("warning", "steal", where, what, "measure on a machine of your own, or more launches"))
        found += [Finding("warning", "kernel", where, text, "see the cell's .json") for text in row["warnings"] or []]
    return found


def doubtful(rows: Sequence[Row], precision: float) -> list[Finding]:
    """Numbers to be read with care: few samples, wide intervals, launches that differ, taint, late starts."""
    found: list[Finding] = []
    warm = [row for row in measured(rows) if row["phase"] == "warm" and row["median_s"]]
    for row in warm:
        width = (row["high_s"] - row["low_s"]) / 2 / row["median_s"]
        if width > precision:
            what = (
                f"the interval of the median is ±{width:.0%} after {row['samples']} samples, ±{precision:.0%} was asked"
            )
            found.append(Finding("warning", "wide", place(row), what, "raise budget or launches in [measure]"))
        spread = (row["launch_high_s"] - row["launch_low_s"]) / 2 / row["median_s"]
        if spread > 2 * max(width, precision / 2):
            what = f"launches differ by ±{spread:.0%}, while the interval within them is ±{width:.0%}"
            remedy = "trust the range over launches, not the interval; raise launches in [measure] to 10"
            found.append(Finding("warning", "launches", place(row), what, remedy))
        if row["tainted"] > 0.1 * row["samples"]:
            what = f"{row['tainted']} of {row['samples']} samples were interrupted (context switches or page faults)"
            found.append(Finding("note", "taint", place(row), what, "they are kept; stop other work on the nodes"))
        if row["discarded"]:
            what = f"{row['discarded']} samples started late and were dropped"
            found.append(Finding("note", "late", place(row), what, 'use start = "barrier" if that is many'))
    crowded = sorted({row["ranks_per_node"] for row in warm if row["oversubscribed"]})
    if crowded:
        what = f"{', '.join(map(str, crowded))} ranks a node share fewer cores: such points enter no verdict"
        found.append(Finding("note", "oversubscribed", "rows marked *", what, "leave them out with ranks_per_node"))
    return found


def condensed(found: Sequence[Finding], most: int = 3) -> list[Finding]:
    """The findings with more than ``most`` of one kind drawn together into the first of them."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in found:
        kinds.setdefault((finding.level, finding.rule, finding.remedy), []).append(finding)
    shown: list[Finding] = []
    for alike in kinds.values():
        if len(alike) <= most:
            shown += alike
        else:
            shown.append(replace(alike[0], where=f"{alike[0].where} (and {len(alike) - 1} more)"))
    return shown
