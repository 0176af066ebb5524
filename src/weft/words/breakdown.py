# SPDX-License-Identifier: BSD-3-Clause
"""Where the time goes, in words: the bottleneck, the parts of a call, the steps to more nodes."""

from typing import Any

from weft.analyse.tables.breakdown import Effect
from weft.analyse.tables.claims import ClaimRow, extras
from weft.bound.terms import INJECTION
from weft.format import faster_text, format_seconds, percent, times_text
from weft.words.row import Row, name_part

PARTS = {
    "hardware": "hardware", "messages": "messages", "contention": "contention", "algorithm": "algorithm",
    "arrival": "late arrival",
}  # fmt: skip


def say_bottleneck(claim: ClaimRow) -> Row:
    """``uplink of leaf0: 79 % busy; bound 343 ms of 400 ms measured (86 %)``."""
    more = extras(claim)
    return Row(claim["id"], "Bottleneck", "; ".join(filter(None, (_limiting(claim, more), _bound(claim, more)))))


def _limiting(claim: ClaimRow, more: dict[str, Any]) -> str:
    share, kind = claim["value"], more["of"]
    if kind == "link":
        return f"{name_part(claim['subject'])}: {percent(share or 0)} busy"
    if kind == "unknown":
        return "unknown"
    if kind == "bound":
        return name_part(claim["subject"])
    part = PARTS.get(kind) or name_part(claim["subject"])
    if kind == "hardware":
        part = name_part(claim["subject"])
    elif kind == "late":
        part = f"late arrival of {claim['subject']}"
    return f"{part}: {percent(share or 0)} of the time"


def _bound(claim: ClaimRow, more: dict[str, Any]) -> str:
    if not claim["bound"]:
        return f"{format_seconds(more['seconds'])} measured, no bound known"
    share = percent(claim["bound"] / more["seconds"])
    other = more["limit"] not in (claim["subject"], "") and claim["subject"] not in ("", INJECTION)
    whose = (
        f" ({name_part(more['limit'])})"
        if other or more["of"] in ("messages", "contention", "algorithm", "arrival")
        else ""
    )
    time = f"{format_seconds(more['seconds'])} {more.get('basis', 'measured')}"
    return f"bound{whose} {format_seconds(claim['bound'])} of {time} ({share})"


def say_step(claim: ClaimRow) -> Row:
    """``1 -> 2 nodes   122x (100–149)   leaving shared memory for the network``."""
    more = extras(claim)
    note = "leaving shared memory for the network" if more["start"] == 1 else ""
    factor = times_text(claim["value"], claim["low"], claim["high"])
    return Row(claim["id"], f"{more['start']} -> {more['end']} nodes", factor, note)


def say_part(claim: ClaimRow) -> Row:
    """A part of a call beside what it would be without: ``+12 % (8–16)``, ``none detected``."""
    more, part = extras(claim), claim["id"].partition(".")[2]
    name = claim["subject"]
    label = f"{PARTS[part]} ({name_part(name) if part == 'hardware' else name})" if name else PARTS[part]
    if claim["unit"] == "seconds":
        return Row(claim["id"], label, format_seconds(more["seconds"]), more.get("mover", ""))
    return Row(claim["id"], label, _added(claim, more["effect"]), more.get("mover", ""))


def _added(claim: ClaimRow, effect: Effect) -> str:
    factor = claim["value"] or 1.0
    if effect == "unsure":
        return f"inconclusive, {times_text(factor, claim['low'], claim['high'])}"
    if effect == "none":
        return "none detected"
    if factor >= 2:
        return faster_text(factor, claim["low"], claim["high"])
    change = f"{'+' if factor > 1 else '-'}{percent(abs(factor - 1))}"
    if claim["low"] is None or claim["high"] is None:
        return change
    return f"{change} ({100 * (claim['low'] - 1):+.0f} to {100 * (claim['high'] - 1):+.0f})"
