# SPDX-License-Identifier: BSD-3-Clause
"""Traces and routes in words: where the ranks' time goes, which alternative helps most, what a failed cable does."""

from typing import Any

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.fabric.nodeset import fold_for_people
from weft.format import capital, format_seconds, percent, plural
from weft.words.row import Said, factor_text, span

WHATIF_LABELS = {"helps": "Helps most", INCONCLUSIVE: "Inconclusive", "nothing-helps": "Nothing helps"}


def say_whatif(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Helps most   twice the uplinks: 2x faster (simulated)``."""
    tried = f"{plural(more['simulated'], 'alternative')} simulated"
    tried += f", {more['of'] - more['simulated']} only bounded" if more["of"] > more["simulated"] else ""
    if claim["value"] is None:
        return WHATIF_LABELS[name], f"no alternative saves {percent(more['least_share'])} of the time", tried
    also = "the ranges overlap; " if more.get("overlaps") else ""
    return WHATIF_LABELS[name], f"{claim['subject']}: {factor_text(*span(claim))}", f"{also}{tried}"


def say_alternative(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Alternative   twice the uplinks: 2x faster``."""
    return "Alternative", f"{claim['subject']}: {factor_text(*span(claim))}"


NAMES = {
    "waiting": "waiting for others", "moving": "moving data", "file": "file calls",
    "unknown": "unknown, in MPI", "computing": "computing",
}  # fmt: skip


def say(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Waiting for others: 41 % of the time   4 ranks on 2 nodes, 1.2 s``."""
    share = f"{percent(claim['value'] or 0)} of the time"
    where = f"{plural(more['ranks'], 'rank')} on {plural(more['nodes'], 'node')}, {format_seconds(more['seconds'])}"
    if name == INCONCLUSIVE:
        return "Inconclusive", f"{NAMES[more['what']]} {share}", where
    return capital(NAMES[name]), share, where


def say_share(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Moving data: 20 % of the time``."""
    return capital(NAMES[name]), f"{percent(claim['value'] or 0)} of the time"


FAILURES = {"cuts-off": "Cuts off hosts", "slows": "Slows most", "harmless": "Harmless", "bound": "At best"}


def say_failure(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Slows most   leaf0:19->spine0:1: all-to-all 1.99x slower   17 more cables alike``."""
    label, factor = FAILURES[name], factor_text(claim["value"])
    if name == "harmless":
        return label, f"no failure of {plural(more['cables'], 'cable')} slows an all-to-all"
    if name == "bound":
        return label, factor, f"lower bound for any tables then: {more['cut']}", claim["next"]
    lost = f"all-to-all {factor}"
    if name == "cuts-off":
        hosts = more["hosts"]
        known = f"{plural(len(hosts), 'host')}, {fold_for_people(hosts)}" if hosts else ""
        lost = known or plural(more["pairs"], "pair")
    return label, f"{claim['subject']}: {lost}", f"{more['alike']:,} more alike" if more["alike"] else ""
