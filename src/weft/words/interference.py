# SPDX-License-Identifier: BSD-3-Clause
"""What another job does to a call, in words."""

from typing import Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.format import exact_bytes, faster_text, plural, times_text
from weft.words.row import Said, factor_text, span

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
UNKNOWN = {
    "alltoall": "the order of its messages is not modelled",
    **dict.fromkeys(("pingpong", "allreduce"), "latency is not modelled"),
}
UNCHECKED = {"": "", "network": " (not verified on such networks)", "windows": " (not verified for such windows)"}
LABELS = {"slowed": "Slowed", "clear": "Not slowed", INCONCLUSIVE: "Inconclusive"}


def say(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``MPI_Allreduce, 8 B: 3.1x slower (2.8–3.4) beside an all-to-all of 4 nodes, on alternating nodes``."""
    strength = "" if more["percent"] == 100 else f" at {more['percent']} %"
    beside = f"{AGGRESSORS[more['aggressor']]}{strength} of {plural(more['beside_nodes'], 'node')}"
    at = f"{VICTIMS[claim['subject']]}, {exact_bytes(more['bytes'])}"
    value = f"{at}: {faster_text(*span(claim), claim['coverage'])} beside {beside}, {PLACES[more['place']]}"
    return LABELS[name], value, _doubt(more) if name == INCONCLUSIVE else _cause(more)


def _doubt(more: dict[str, Any]) -> str:
    if more.get("missing"):
        return f"{plural(more['missing'], 'row')} without a time"
    if more.get("wide"):
        return "the interval reaches a large factor"
    few = more["launches"] < FEWEST_LAUNCHES
    return f"{plural(more['launches'], 'launch')} of at least {FEWEST_LAUNCHES}" if few else _cause(more)


def _cause(more: dict[str, Any]) -> str:
    if more.get("link"):
        return f"both use {more['link']}"
    return "" if more["shares"] else "no cable is shared"


def say_shared(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``leaf0 -> spine0: 1.80x measured; 2.00x predicted``."""
    measured = factor_text(*span(claim))
    if name == "link":
        if not (known := more.get("predicted")):
            unknown = "a prediction needs known routes and at most 1,000 connections"
            return "Shared cable", more["link"], UNKNOWN.get(claim["subject"], unknown)
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
