# SPDX-License-Identifier: BSD-3-Clause
"""Answers on scaling in words: ``Network-bound``, and by how much the time grows."""

from typing import Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.format import exact_bytes, faster_text, format_rate, format_seconds, percent, plural
from weft.words.row import Said, span

LABELS = {
    "network-bound": "Network-bound", "memory-bound": "Memory-bound", "message-bound": "Message-bound",
    "not-network-bound": "Not network-bound", INCONCLUSIVE: "Inconclusive", "strong": "Strong scaling",
    "weak": "Weak scaling",
}  # fmt: skip


def say(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """A series in words: ``weak scaling, 1 -> 4 nodes: 248x slower (95 % 216–288)``."""
    if claim["value"] is None and claim["low"] is None:
        reason = f" ({more['left_out']})" if more.get("left_out") else ""
        return LABELS[name], f"{claim['subject']}: fewer than two points with a time{reason}", "", claim["next"]
    coverage = 0.95 if (claim["coverage"] or 0) >= 0.95 else None
    where = f"{more['start']} -> {more['end']} {more['axis']}: {faster_text(*span(claim), coverage)}"
    own = claim["id"].startswith("scaling.")
    return LABELS[name], where if own else f"{claim['subject']}, {where}", _note(claim, more)


def _note(claim: ClaimRow, more: dict[str, Any]) -> str:
    if more.get("answer") == "no verdict":
        return f"{plural(more['launches'], 'launch')} of at least {FEWEST_LAUNCHES}"
    if more.get("fastest") is not None:
        return f"fastest at {more['fastest']} {more['axis']}"
    if claim["value"] is None:
        return "range of a model to which no number was fitted"
    return f"range of what the model leaves out: {more['left_out']}" if more.get("left_out") else ""


def say_plain(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """How many times were measured."""
    done, of = claim["value"] or 0, more["of"]
    share = percent(done / of) if done and of else "0 %"
    return "Measured", f"{done:,.0f} of {plural(of, 'time')} of {claim['subject']} ({share})"


def say_dependence(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``network.overhead = 165 us (assumed, 16.5 us to 1.65 ms): from 18 us down still scales at N = 36``."""
    unit = more.get("number_unit", "")
    value, low, high = (number_text(each or 0.0, unit) for each in span(claim))
    way = "on" if more["flips_at"] >= (claim["value"] or 0.0) else "down"
    number = number_text(more["given_value"], more["given_unit"]) if more.get("given") else ""
    given = f", with {more['given']} = {number}," if number else ""
    turn = f"from {number_text(more['flips_at'], unit)} {way}{given} {more['becomes']}"
    return "Depends on", f"{claim['subject']} = {value} ({more['standing']}, {low} to {high})", turn


def number_text(value: float, unit: str) -> str:
    """A number of a fabric file: ``16 KiB``, ``2.66 GB/s``, ``165 us``."""
    if unit == "B":
        return exact_bytes(round(value))
    return format_rate(value) if unit == "B/s" else format_seconds(value)
