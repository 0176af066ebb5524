# SPDX-License-Identifier: BSD-3-Clause
"""Outliers among pairs in words: which node or cable is slow, by how much, and what a pair takes otherwise."""

from typing import Any

from weft.analyse.tables.claims import ClaimRow, extras
from weft.analyse.tables.pairs import PAIR_FACTOR
from weft.format import exact_bytes, format_bytes, plural, rate_text, seconds_text, times_text
from weft.words.row import Row

LABELS = {
    "node": "Slow node", "memory": "Slow memory", "link": "Slow link", "cable": "Slow cable", "switch": "Slow switch",
    "leaves": "Slow path", "route": "Slow path", "rank": "Slow rank", "pair": "Slow pair", "class": "Two groups",
}  # fmt: skip
ROLES = {"sender": "as sender", "receiver": "as receiver", "both": "as sender and receiver"}
MODES = {"isolated": "one pair at a time", "node": "one pair per node at a time", "all": "all pairs at once"}


def say(claim: ClaimRow) -> Row:
    """``leaf2 - spine0: 4.64x (1 MiB, one pair at a time)``, with what the same pairs cross."""
    kind = claim["id"].partition(".")[2]
    return Row(claim["id"], LABELS[kind], *_outlier(claim))


def _outlier(claim: ClaimRow) -> tuple[str, str]:
    more = extras(claim)
    factor = times_text(claim["value"], claim["low"], claim["high"])
    role = f" {ROLES[more['role']]}" if more.get("role") in ROLES else ""
    ways = f" and {plural(more['ways'] - 1, 'other way')}" if more["ways"] > 1 else ""
    where = f"{format_bytes(more['bytes'])}, {MODES[more['mode']]}{ways}; {plural(more['affected'], 'pair')}"
    also = f"indistinguishable from {', '.join(more['also'])} (same pairs)" if more.get("also") else ""
    return f"{claim['subject']}{role}: {factor} slower ({where})", "; ".join(filter(None, (more.get("detail"), also)))


def say_pairs(claim: ClaimRow) -> Row:
    """That there is no outlier, or that those seen are in doubt."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "unmeasured":
        return Row(claim["id"], "Inconclusive", "no pair has been measured yet")
    if more.get("affected"):
        return Row(claim["id"], "Inconclusive", *_outlier(claim))
    label = "No outlier" if name == "no-outlier" else "Inconclusive"
    return Row(claim["id"], label, _counted(more), _spread(claim, more))


def _counted(more: dict[str, Any]) -> str:
    return f"{plural(more['pairs'], 'pair')} of {plural(more['ranks'], 'rank')} on {plural(more['nodes'], 'node')}"


def _spread(claim: ClaimRow, more: dict[str, Any]) -> str:
    if claim["value"] is None:
        return ""
    slow = f"{plural(more['slow'], 'pair')} at {PAIR_FACTOR:g}x of their class or more, " if more.get("slow") else ""
    return f"{slow}at most {times_text(claim['value'])}"


def say_latency(claim: ClaimRow) -> Row:
    """Half a round trip of a hop class, or the rate of so many messages under way."""
    more = extras(claim)
    if window := more.get("window"):
        rate = rate_text(window * more["bytes"] / claim["value"]) if claim["value"] else ""
        under_way = f"{window} messages of {exact_bytes(more['bytes'])} under way, {MODES[more['mode']]}"
        return Row(claim["id"], claim["subject"].capitalize(), rate, under_way)
    time = seconds_text(claim["value"], claim["low"], claim["high"])
    size = exact_bytes(more["bytes"])
    return Row(claim["id"], claim["subject"].capitalize(), time, f"half a round trip of {size}, {MODES[more['mode']]}")
