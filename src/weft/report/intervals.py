# SPDX-License-Identifier: BSD-3-Clause
"""The kind of a median's interval in words: a heading for a column, a sentence for a page."""

from collections.abc import Iterable, Mapping
from typing import Any

HEADINGS = {
    "none": "median",
    "range of the model": "median (range of the model)",
    "within one launch": "median (95 % in 1 launch)",
    "range of launches": "median (range)",
    "over launches": "median (95 %)",
}


def interval_heading(rows: Iterable[Mapping[str, Any]]) -> str:
    """Heading of a column of times: ``median (95 %)``, or that of another kind of interval."""
    kinds = _kinds(rows)
    told = [kind for kind in kinds if kind != "none"] or kinds
    return HEADINGS[told[0]] if len(told) == 1 else "median (interval)" if told else "median"


def interval_meaning(rows: Iterable[Mapping[str, Any]]) -> str:
    """Sentences that say what the intervals of some rows are."""
    listed = list(rows)
    sentences = {
        "none": "No interval: a model gives the same time again.",
        "range of the model": "In brackets the least and the most that a time can be with all that the model leaves "
        "out; notes say what that is.",
        "within one launch": "In brackets the interval that holds the median of that one launch in 95 of 100 cases; "
        "another launch may lie outside.",
        "range of launches": _range(listed),
        "over launches": "In brackets the interval that holds the true median in 95 of 100 cases, by how far the "
        "launches lie apart.",
    }
    kinds = _kinds(listed)
    if len(kinds) > 1:
        sentences["none"] = "Without brackets: a model gives the same time again."
    roots = any(row["interval"] == "none" and row.get("min_s") != row.get("max_s") for row in listed)
    told = [sentences[kind] for kind in kinds]
    if roots:
        told.append('In brackets of "all roots" the times of the fastest and of the slowest root.')
    return " ".join(told)


def _range(rows: Iterable[Mapping[str, Any]]) -> str:
    covered = sorted({(row["launches"], row["coverage"]) for row in rows if row["interval"] == "range of launches"})
    each = ", ".join(f"{100 * share:.0f} of 100 cases with {launches} launches" for launches, share in covered)
    return f"In brackets the range of the launches' medians, least to greatest; the true median lies in it in {each}."


def _kinds(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    seen = {row["interval"] for row in rows}
    return [kind for kind in HEADINGS if kind in seen]
