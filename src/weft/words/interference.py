# SPDX-License-Identifier: BSD-3-Clause
"""What another job does to a call, in words."""

from typing import Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.format import exact_bytes, faster_text, plural, times_text
from weft.words.row import Row, factor_text

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


def name_traffic(aggressor: str, percent: int) -> str:
    """``an all-to-all``, ``an incast at 25 %``."""
    return AGGRESSORS[aggressor] + ("" if percent == 100 else f" at {percent} %")


def say(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``MPI_Allreduce, 8 B: 3.1x slower (2.8–3.4) beside an all-to-all of 4 nodes, on alternating nodes``."""
    beside = f"{name_traffic(more['aggressor'], more['percent'])} of {plural(more['beside_nodes'], 'node')}"
    factor = faster_text(claim["value"], claim["low"], claim["high"], claim["coverage"])
    value = (
        f"{VICTIMS[claim['subject']]}, {exact_bytes(more['bytes'])}: {factor} beside {beside}, {PLACES[more['place']]}"
    )
    return Row(claim["id"], LABELS[name], value, _doubt(more) if name == INCONCLUSIVE else _cause(more))


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
    return "no cable is shared" if not more["shares"] else ""


def say_shared(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``leaf0 -> spine0: 1.80x measured; 2.00x predicted``."""
    measured = factor_text(claim["value"], claim["low"], claim["high"])
    if name == "link":
        known = more.get("predicted")
        doubt = UNCHECKED[more.get("unchecked", "")]
        text = f"{times_text(claim['value'])} measured; {times_text(known)} predicted{doubt}"
        unknown = UNKNOWN.get(claim["subject"], "a prediction needs known routes and at most 1,000 connections")
        return Row(claim["id"], "Shared cable", more["link"], text if known else unknown)
    if name == "tail":
        parts = [
            f"{each} {times_text(more[each], more.get(f'{each}_low'), more.get(f'{each}_high'))}"
            for each in ("p95", "p99")
            if more.get(each)
        ]
        return Row(claim["id"], "Tail", ", ".join(parts), "" if more.get("p99") else "p99 needs 100 samples a launch")
    if name == "bend":
        at = f"from {more['percent']} % of the time on: {measured}"
        return Row(claim["id"], "Strength", at, f"measured at {', '.join(map(str, more['strengths']))} %")
    return Row(claim["id"], "Without sharing", f"{measured}, {PLACES[more['place']]}")
