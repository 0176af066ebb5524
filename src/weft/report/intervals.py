# SPDX-License-Identifier: BSD-3-Clause
"""Times, bounds and their intervals as text, and what the intervals are."""

from collections.abc import Iterable, Mapping
from typing import Any

from weft.analyse.tables.times import CallRow, TimedRow, is_beaten
from weft.format import UNKNOWN, format_seconds, measured_seconds

#: Of each kind of interval the heading of times that have it, and what it is.
KINDS = {
    "none": ("median", "Models have no confidence interval."),
    "range of the model": ("median (range of the model)", "In brackets: the range of what the model leaves out."),
    "range of presets": ("median (range of unfitted numbers)",
                         "In brackets: the range of the machine's numbers, none of which was fitted."),
    "within one launch": ("median (95 % in 1 launch)", "In brackets: 95 % interval of the median within one launch."),
    "range of launches": ("median (range)", "In brackets: min-max of {launches}."),
    "over launches": ("median (95 %)", "In brackets: 95 % interval of the median over launches."),
}  # fmt: skip


def interval_heading(rows: Iterable[Mapping[str, Any]]) -> str:
    """Heading of a column of times: ``median (95 %)``, or that of another kind of interval."""
    kinds = KINDS.keys() & {row["interval"] for row in rows}
    stated = [kind for kind in kinds if kind != "none"] or list(kinds)
    return KINDS[stated[0]][0] if len(stated) == 1 else "median (interval)" if stated else "median"


def interval_meaning(rows: Iterable[Mapping[str, Any]]) -> str:
    """Sentences that say what the intervals of some rows are."""
    listed = list(rows)
    covered = sorted({(row["launches"], row["coverage"]) for row in listed if row["interval"] == "range of launches"})
    each = ", ".join(f"{launches} launch medians: {100 * share:.0f} % confidence" for launches, share in covered)
    kinds = [kind for kind in KINDS if kind in {row["interval"] for row in listed}]
    sentences = [KINDS[kind][1].format(launches=each) for kind in kinds]
    if kinds[1:] and kinds[0] == "none":
        sentences[0] = "Without brackets: models have no confidence interval."
    roots = any(row["interval"] == "none" and row.get("min_s") != row.get("max_s") for row in listed)
    of_roots = ['In brackets of "all roots": fastest and slowest root.'] if roots else []
    return " ".join([*sentences, *of_roots])


def time_text(row: Mapping[str, Any]) -> str:
    """A time of the table of calls with its interval, or the status of a row without a time."""
    return measured_seconds(row["median_s"], row["low_s"], row["high_s"]) if row["status"] == "ok" else row["status"]


def root_text(row: Mapping[str, Any]) -> str:
    """The median over the roots that a model went through, with the times of the fastest and the slowest root."""
    return measured_seconds(row["median_s"], row["min_s"], row["max_s"]) if by_root(row) else time_text(row)


def by_root(row: Mapping[str, Any]) -> bool:
    """Whether the samples of a row differ although nothing is drawn at random."""
    return row["interval"] == "none" and format_seconds(row["min_s"]) != format_seconds(row["max_s"])


def bound_text(row: CallRow | TimedRow) -> str:
    """The lower bound and its cause; one that a sample beat is none, and says so."""
    if not row["bound_s"]:
        return UNKNOWN
    wrong = " (wrong: a sample beat it)" if is_beaten(row) else ""
    return f"{measured_seconds(row['bound_s'])}, {row['bound']}{wrong}"
