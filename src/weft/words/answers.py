# SPDX-License-Identifier: BSD-3-Clause
"""Answers in words: whether a series scales, what another job does, where a trace's time goes, what a failure does."""

from typing import Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.fabric.nodeset import fold_for_people
from weft.format import capital, exact_bytes, faster_text, format_rate, format_seconds, percent, plural, times_text
from weft.words import Said, factor_text, span

SCALING = {
    "network-bound": "Network-bound", "memory-bound": "Memory-bound", "message-bound": "Message-bound",
    "not-network-bound": "Not network-bound", INCONCLUSIVE: "Inconclusive", "strong": "Strong scaling",
    "weak": "Weak scaling",
}  # fmt: skip


def say_scaling(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """A series in words: ``weak scaling, 1 -> 4 nodes: 248x slower (95 % 216–288)``."""
    if claim["value"] is None and claim["low"] is None:
        reason = f" ({more['left_out']})" if more.get("left_out") else ""
        return SCALING[name], f"{claim['subject']}: fewer than two points with a time{reason}", "", claim["next"]
    coverage = 0.95 if (claim["coverage"] or 0) >= 0.95 else None
    where = f"{more['start']} -> {more['end']} {more['axis']}: {faster_text(*span(claim), coverage)}"
    own = claim["id"].startswith("scaling.")
    note = f"range of what the model leaves out: {more['left_out']}" if more.get("left_out") else ""
    if more.get("answer") == "no verdict":
        note = f"{plural(more['launches'], 'launch')} of at least {FEWEST_LAUNCHES}"
    elif more.get("fastest") is not None:
        note = f"fastest at {more['fastest']} {more['axis']}"
    elif claim["value"] is None:
        note = "range of a model to which no number was fitted"
    return SCALING[name], where if own else f"{claim['subject']}, {where}", note


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


VICTIMS = {
    "pingpong": "ping-pong", "allreduce": "MPI_Allreduce", "alltoall": "MPI_Alltoall", "exchange": "exchange",
    "stream": "stream",
}  # fmt: skip
AGGRESSORS = {"alltoall": "an all-to-all", "incast": "an incast", "shift": "a shift by half", "bcast": "a broadcast",
              "stream": "streams"}  # fmt: skip
PLACES = {
    "same-leaf": "on one leaf", "other-leaf": "on leaves of its own", "alternating": "on alternating nodes",
    "random": "on random nodes",
}  # fmt: skip
UNPREDICTED = {
    "alltoall": "the order of its messages is not modelled",
    **dict.fromkeys(("pingpong", "allreduce"), "latency is not modelled"),
}
UNCHECKED = {"": "", "network": " (not verified on such networks)", "windows": " (not verified for such windows)"}
SLOWED = {"slowed": "Slowed", "clear": "Not slowed", INCONCLUSIVE: "Inconclusive"}


def say_interference(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``MPI_Allreduce, 8 B: 3.1x slower (2.8–3.4) beside an all-to-all of 4 nodes, on alternating nodes``."""
    strength = "" if more["percent"] == 100 else f" at {more['percent']} %"
    beside = f"{AGGRESSORS[more['aggressor']]}{strength} of {plural(more['beside_nodes'], 'node')}"
    at = f"{VICTIMS[claim['subject']]}, {exact_bytes(more['bytes'])}"
    value = f"{at}: {faster_text(*span(claim), claim['coverage'])} beside {beside}, {PLACES[more['place']]}"
    cause = f"both use {more['link']}" if more.get("link") else "" if more.get("shares") else "no cable is shared"
    if name == INCONCLUSIVE and more.get("missing"):
        cause = f"{plural(more['missing'], 'row')} without a time"
    elif name == INCONCLUSIVE and more.get("wide"):
        cause = "the interval reaches a large factor"
    elif name == INCONCLUSIVE and more["launches"] < FEWEST_LAUNCHES:
        cause = f"{plural(more['launches'], 'launch')} of at least {FEWEST_LAUNCHES}"
    return SLOWED[name], value, cause


def say_shared(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``leaf0 -> spine0: 1.80x measured; 2.00x predicted``."""
    measured = factor_text(*span(claim))
    if name == "link":
        if not (known := more.get("predicted")):
            unknown = "a prediction needs known routes and at most 1,000 connections"
            return "Shared cable", more["link"], UNPREDICTED.get(claim["subject"], unknown)
        predicted = f"{times_text(known)} predicted{UNCHECKED[more.get('unchecked', '')]}"
        return "Shared cable", more["link"], f"{times_text(claim['value'])} measured; {predicted}"
    if name == "tail":
        tails = [each for each in ("p95", "p99") if more.get(each)]
        spans = [times_text(more[each], more.get(f"{each}_low"), more.get(f"{each}_high")) for each in tails]
        text = ", ".join(map(" ".join, zip(tails, spans, strict=True)))
        return "Tail", text, "" if "p99" in tails else "p99 needs 100 samples a launch"
    if name == "bend":
        strengths = ", ".join(map(str, more["strengths"]))
        return "Strength", f"from {more['percent']} % of the time on: {measured}", f"measured at {strengths} %"
    return "Without sharing", f"{measured}, {PLACES[more['place']]}"


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


def say_trace(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
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
