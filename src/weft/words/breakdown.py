# SPDX-License-Identifier: BSD-3-Clause
"""Where the time goes, in words (the bottleneck, the parts of a call, steps to more nodes), and what would help."""

from typing import Any

from weft.analyse.tables.breakdown import Effect
from weft.analyse.tables.claims import ClaimRow
from weft.bound.terms import INJECTION, LINK
from weft.format import faster_text, format_seconds, percent, times_text
from weft.words.row import Row, name_part

TEXTS = {
    "cheaper-messages": "lower per-message cost: check {subject}",
    "placement": "another placement or other routes",
    "rank-order": "another order of ranks on the node",
    "plain-rounds": "another algorithm: plain rounds ({subject}) are faster",
    "late-ranks": "remove the late arrival of ranks",
    "algorithm": "the algorithm {subject}",
    "algorithm-of-smaller": "{subject}, the algorithm of smaller sizes",
    "algorithms": 'compare the algorithms of {subject}: algorithms = "each" in its study',
    "second-cable": "a second cable for the {link}",
    "faster-adapter": "an adapter twice as fast",
    "spread-ranks": "half as many ranks per node on twice the nodes",
    "node-messages": 'one message per node: weft exec --force "{subject}"',
    "half-overhead": "half the processor time per message{stated}",
    "half-gap": "half the adapter time per message{stated}",
    "half-latency": "half the latency{stated}",
    "network": "a better network",
    "memory": "faster memory within the node",
    "balance": "an even share of computing",
    "all-to-all": "a faster all-to-all",
    "table": "the selection table {subject}",
    "knob": "set {subject}",
    "whole-leaves": "whole leaves: nodes that share no cable with the other job",
    "fewer-messages": "fewer and larger messages",
    "fewer-senders": "fewer ranks that send at once",
    "tune": "tune the calls of your application",
    "whatif": "change one thing of a simulated machine at a time",
    "faster-processors": "faster processors: the network has little left to save",
}
BASES = {
    "measured": "measured", "simulated": "simulated", "only bounded": "upper bound",
    "extended": "extrapolated; simulation.algorithms in the fabric file sets it",
}  # fmt: skip


def say_remedy(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``a second cable leaf0-spine0: saves at most 36 %``."""
    text = TEXTS.get(name, "{subject}").format(
        subject=claim["subject"], stated=_stated(claim["subject"]), link=name_part(f"{LINK}{claim['subject']}")
    )
    most = "" if claim["bound"] is None else "at most "
    whose = f" of {more['whose']}" if more.get("whose") else ""
    saves = f": saves {most}{percent(claim['value'])}{whose}" if claim["value"] is not None else ""
    return Row(claim["id"], "Try", f"{text}{saves}", _reason(more), claim["next"])


def _stated(keys: str) -> str:
    return f" ({keys})" if keys else ""


def _reason(more: dict[str, Any]) -> str:
    if "computing_s" in more:
        moving = f" and transfers of {format_seconds(more['moving_s'])}" if more["moving_s"] else ""
        return f"at least {format_seconds(more['computing_s'])} of computing{moving} remain"
    if more.get("floor_s"):
        return f"the bound becomes {format_seconds(more['floor_s'])}, {name_part(more['floor'])}"
    if more.get("ratio"):
        return f"{BASES[more['basis']]}: {times_text(more['ratio'])} the time"
    return BASES.get(more.get("basis", ""), "")


PARTS = {
    "hardware": "hardware", "messages": "messages", "contention": "contention", "algorithm": "algorithm",
    "arrival": "late arrival",
}  # fmt: skip


def say_bottleneck(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``uplink of leaf0: 79 % busy; bound 343 ms of 400 ms measured (86 %)``."""
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


def say_step(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``1 -> 2 nodes   122x (100–149)   leaving shared memory for the network``."""
    note = "leaving shared memory for the network" if more["start"] == 1 else ""
    factor = times_text(claim["value"], claim["low"], claim["high"])
    return Row(claim["id"], f"{more['start']} -> {more['end']} nodes", factor, note)


def say_part(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """A part of a call beside what it would be without: ``+12 % (8–16)``, ``none detected``."""
    part = claim["subject"]
    label = f"{PARTS[name]} ({name_part(part) if name == 'hardware' else part})" if part else PARTS[name]
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
