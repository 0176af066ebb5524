# SPDX-License-Identifier: BSD-3-Clause
"""Checks in words: healthy or not, which part is slow, and what to do about it."""

from typing import Any

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, extras
from weft.format import faster_text, format_bytes, percent, plural
from weft.words.row import Row

LABELS = {"healthy": "Healthy", "not-healthy": "Not healthy", "also": "Also", INCONCLUSIVE: "Could not tell"}
#: Where a slow part slows messages.
WAYS = {"node": "to and from everybody", "cable": "in both directions", "switch": "whatever crosses it"}
ROLES = {"sender": "as sender", "receiver": "as receiver"}
REMEDIES = {
    "cable": "replace or reseat {name}", "link": "replace or reseat {name}", "switch": "look at switch {name}"
}  # fmt: skip


def say(claim: ClaimRow) -> Row:
    """``cable leaf2 - spine0: 4.64x slower in both directions (95 % 4.20–5.10)``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "next":
        return Row(claim["id"], "Next", *_next(claim, more))
    if claim["value"] is not None:
        return Row(claim["id"], LABELS[name], *_slow(claim, more), claim["next"])
    if not more.get("nodes"):
        return Row(claim["id"], LABELS[INCONCLUSIVE], "no pair has been measured", "", claim["next"])
    return Row(claim["id"], LABELS[name], f"{plural(more['nodes'], 'node')}, {plural(more['rounds'], 'round')}")


def _slow(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    way = ROLES.get(more.get("role", ""), WAYS.get(more["of"], ""))
    factor = faster_text(claim["value"], claim["low"], claim["high"], claim["coverage"])
    value = f"{more['of']} {claim['subject']}: {factor}{f' {way}' if way else ''}, {format_bytes(more['bytes'])}"
    return value, f"indistinguishable from {', '.join(more['also'])}" if more.get("also") else ""


def _next(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    part = REMEDIES[more["of"]].format(name=claim["subject"]) if claim["subject"] else ""
    nodes = claim["next"] or (f"leave out {', '.join(more['exclude'])}" if more.get("exclude") else "")
    return nodes or part, part if nodes else ""


def within_text(claim: ClaimRow) -> str:
    """``1,021 of 1,024 nodes within 4 % of their class``; empty of other answers."""
    more = extras(claim)
    if "close" not in more or not more["nodes"]:
        return ""
    return f"{more['close']:,} of {plural(more['nodes'], 'node')} within {percent(more['within'])} of their class"
