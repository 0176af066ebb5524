# SPDX-License-Identifier: BSD-3-Clause
"""Where the time goes, in words (the bottleneck, the parts of a call, steps to more nodes), remedies, findings."""

from typing import Any

from weft.analyse.tables.breakdown import Effect
from weft.analyse.tables.claims import ClaimRow
from weft.bound.terms import INJECTION, LINK
from weft.format import faster_text, format_seconds, percent, plural, times_text
from weft.words import Said, name_part, span

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
#: Steps of a breakdown above the hardware, by the names that are printed.
PARTS = {"messages": "messages", "contention": "contention", "algorithm": "algorithm", "arrival": "late arrival"}


def say_remedy(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``a second cable leaf0-spine0: saves at most 36 %``."""
    subject = claim["subject"]
    stated, link = f" ({subject})" if subject else "", name_part(f"{LINK}{subject}")
    text = TEXTS.get(name, "{subject}").format(subject=subject, stated=stated, link=link)
    most = "" if claim["bound"] is None else "at most "
    whose = f" of {more['whose']}" if more.get("whose") else ""
    saves = f": saves {most}{percent(claim['value'])}{whose}" if claim["value"] is not None else ""
    reason = BASES.get(more.get("basis", ""), "")
    if "computing_s" in more:
        moving = f" and transfers of {format_seconds(more['moving_s'])}" if more["moving_s"] else ""
        reason = f"at least {format_seconds(more['computing_s'])} of computing{moving} remain"
    elif more.get("floor_s"):
        reason = f"the bound becomes {format_seconds(more['floor_s'])}, {name_part(more['floor'])}"
    elif more.get("ratio"):
        reason = f"{BASES[more['basis']]}: {times_text(more['ratio'])} the time"
    return "Try", f"{text}{saves}", reason, claim["next"]


def say_bottleneck(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``uplink of leaf0: 79 % busy; bound 343 ms of 400 ms measured (86 %)``."""
    kind, part = more["of"], PARTS.get(more["of"]) or name_part(claim["subject"])
    limit = part if kind == "bound" else "unknown"
    if kind not in ("bound", "unknown"):
        late = "late arrival of " if kind == "late" else ""
        limit = f"{late}{part}: {percent(claim['value'] or 0)} {'busy' if kind == 'link' else 'of the time'}"
    if not claim["bound"]:
        return "Bottleneck", f"{limit}; {format_seconds(more['seconds'])} measured, no bound known"
    share = percent(claim["bound"] / more["seconds"])
    other = more["limit"] not in (claim["subject"], "") and claim["subject"] not in ("", INJECTION)
    whose = f" ({name_part(more['limit'])})" if other or more["of"] in PARTS else ""
    time = f"{format_seconds(more['seconds'])} {more.get('basis', 'measured')}"
    return "Bottleneck", f"{limit}; bound{whose} {format_seconds(claim['bound'])} of {time} ({share})"


def say_step(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``1 -> 2 nodes   122x (100–149)   leaving shared memory for the network``."""
    note = "leaving shared memory for the network" if more["start"] == 1 else ""
    return f"{more['start']} -> {more['end']} nodes", times_text(*span(claim)), note


def say_part(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """A part of a call beside what it would be without: ``+12 % (8–16)``, ``none detected``."""
    part = name_part(claim["subject"]) if name == "hardware" else claim["subject"]
    label = f"{PARTS.get(name, name)} ({part})" if part else PARTS.get(name, name)
    value = format_seconds(more["seconds"]) if claim["unit"] == "seconds" else _added(claim, more["effect"])
    return label, value, more.get("mover", "")


def _added(claim: ClaimRow, effect: Effect) -> str:
    factor, low, high = claim["value"] or 1.0, claim["low"], claim["high"]
    if effect == "unsure":
        return f"inconclusive, {times_text(factor, low, high)}"
    if effect == "none":
        return "none detected"
    if factor >= 2:
        return faster_text(factor, low, high)
    change = f"{'+' if factor > 1 else '-'}{percent(abs(factor - 1))}"
    return change if low is None or high is None else f"{change} ({100 * (low - 1):+.0f} to {100 * (high - 1):+.0f})"


def say_finding(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``launch medians vary ... : A warm, N = 2 (and 12 others)``."""
    count = int(claim["value"] or 1)
    others = f" (and {plural(count - 1, 'other')})" if count > 1 else ""
    return more["level"], f"{claim['subject']}: {more['what']}{others}", more["remedy"]
