# SPDX-License-Identifier: BSD-3-Clause
"""Answers in words: of series that scale, other jobs, traces, failures, and sweeps over sizes."""

from typing import Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.fabric.nodeset import fold_for_people
from weft.format import (
    capital,
    exact_bytes,
    faster_text,
    format_rate,
    format_seconds,
    percent,
    plural,
    rate_text,
    seconds_text,
    times_text,
)
from weft.words import Said, factor_text, span

SCALING = {
    "network-bound": "Network-bound", "memory-bound": "Memory-bound", "message-bound": "Message-bound",
    "not-network-bound": "Not network-bound", INCONCLUSIVE: "Inconclusive", "strong": "Strong scaling",
    "weak": "Weak scaling",
}  # fmt: skip
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
WHATIF_LABELS = {"helps": "Helps most", INCONCLUSIVE: "Inconclusive", "nothing-helps": "Nothing helps"}
NAMES = {
    "waiting": "waiting for others", "moving": "moving data", "file": "file calls",
    "unknown": "unknown, in MPI", "computing": "computing",
}  # fmt: skip
FAILURES = {"cuts-off": "Cuts off hosts", "slows": "Slows most", "harmless": "Harmless", "bound": "At best"}
#: How the rest of a non-blocking call is hidden, or what it saves.
WAYS = {
    "hidden": "Overlap", "also": "Overlap", "test": "With MPI_Test", "persistent": "Persistent",
    "thread": "Progress thread", "thread-test": "Thread, MPI_Test", "thread-persistent": "Thread, persistent",
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
    unit, given = more.get("number_unit", ""), ""
    value, low, high = (number_text(each or 0.0, unit) for each in span(claim))
    way = "on" if more["flips_at"] >= (claim["value"] or 0.0) else "down"
    if more.get("given"):
        given = f", with {more['given']} = {number_text(more['given_value'], more['given_unit'])},"
    turn = f"from {number_text(more['flips_at'], unit)} {way}{given} {more['becomes']}"
    return "Depends on", f"{claim['subject']} = {value} ({more['standing']}, {low} to {high})", turn


def number_text(value: float, unit: str) -> str:
    """A number of a fabric file: ``16 KiB``, ``2.66 GB/s``, ``165 us``."""
    if unit == "B":
        return exact_bytes(round(value))
    return format_rate(value) if unit == "B/s" else format_seconds(value)


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


def say_whatif(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Helps most   twice the uplinks: 2x faster (simulated)``; ``Alternative   adapters of twice the rate: ...``."""
    value = f"{claim['subject']}: {factor_text(*span(claim))}"
    if name not in WHATIF_LABELS:
        return "Alternative", value
    tried = f"{plural(more['simulated'], 'alternative')} simulated"
    tried += f", {more['of'] - more['simulated']} only bounded" if more["of"] > more["simulated"] else ""
    if claim["value"] is None:
        return WHATIF_LABELS[name], f"no alternative saves {percent(more['least_share'])} of the time", tried
    return WHATIF_LABELS[name], value, ("the ranges overlap; " if more.get("overlaps") else "") + tried


def say_trace(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Waiting for others: 41 % of the time   4 ranks on 2 nodes, 1.2 s``; of other shares without where."""
    share = f"{percent(claim['value'] or 0)} of the time"
    if claim["id"].startswith("share."):
        return capital(NAMES[name]), share
    where = f"{plural(more['ranks'], 'rank')} on {plural(more['nodes'], 'node')}, {format_seconds(more['seconds'])}"
    if name == INCONCLUSIVE:
        return "Inconclusive", f"{NAMES[more['what']]} {share}", where
    return capital(NAMES[name]), share, where


def say_failure(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Slows most   leaf0:19->spine0:1: all-to-all 1.99x slower   17 more cables alike``."""
    label, factor = FAILURES[name], factor_text(claim["value"])
    if name == "harmless":
        return label, f"no failure of {plural(more['cables'], 'cable')} slows an all-to-all"
    if name == "bound":
        return label, factor, f"lower bound for any tables then: {more['cut']}", claim["next"]
    lost = f"all-to-all {factor}"
    if name == "cuts-off":
        lost = plural(more["pairs"], "pair")
        lost = f"{plural(len(hosts), 'host')}, {fold_for_people(hosts)}" if (hosts := more["hosts"]) else lost
    return label, f"{claim['subject']}: {lost}", f"{more['alike']:,} more alike" if more["alike"] else ""


def say_collective(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``pairwise for MPI_Alltoall, 64 B to 4 KiB: 2.8x faster (2.1–3.4)``."""
    if name == "imbalance":
        bound, even = format_seconds(claim["value"] or 0.0), format_seconds(more["even"])
        text = f"{bound} of {format_seconds(more['seconds'])} ({more['limit']}); {even} if all blocks were alike"
        return "Imbalance", text
    if claim["unit"] == "count":  # none is faster, as far as the run's quality goes
        label = "Library is best" if name == "none-faster" else "Inconclusive"
        return label, f"no algorithm is shown to be faster at any of {plural(int(claim['value'] or 0), 'point')}"
    if name == INCONCLUSIVE and "launches" in more:
        text = f"algorithms timed in {plural(more['launches'], 'launch')} of at least {FEWEST_LAUNCHES}"
        return "Inconclusive", text, "", claim["next"]
    where = f"{plural(more['nodes'], 'node')}, {plural(more['ranks'], 'rank')}"
    if "beaten" in more:
        return _algorithm(claim, name, more, where)
    label = {"above-bound": "Above its bound", "slowest": "Slowest call"}.get(name, "Inconclusive")
    timed = claim["unit"] == "seconds" and claim["value"] is not None
    value = seconds_text(*span(claim)) if timed else f"{times_text(*span(claim))} its bound"
    text = f"{claim['subject']}, {exact_bytes(more['bytes'])}, {where}: {value}"
    times = f"{format_seconds(more['seconds'])} measured, bound {format_seconds(claim['bound'] or 0.0)}"
    return label, text, times if claim["bound"] else ""


def _algorithm(claim: ClaimRow, name: str, more: dict[str, Any], where: str) -> Said:
    sizes = exact_bytes(more["first"])
    sizes += f" to {exact_bytes(more['last'])}" if more["last"] != more["first"] else ""
    value = times_text(*span(claim)).replace("x", "x faster", 1)
    label = "Inconclusive" if name == INCONCLUSIVE else "Faster algorithm"
    text = f"{claim['subject']} for {more['name']}, {sizes} ({where}): {value}"
    if claim["rank"]:  # what all have in common is not repeated
        return label, text, more.get("setting", "")
    note = f"{more['beaten']} of {plural(more['of'], 'point')} have a faster algorithm"
    return label, text, more.get("setting") or note, claim["next"]


def say_overlap(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``MPI_Ialltoall, 64 KiB: 12 % hidden (5–20 %)   41 us alone``."""
    if name == INCONCLUSIVE and "launches" in more:
        launches = plural(more["launches"], "launch")
        few = more["launches"] < FEWEST_LAUNCHES
        text = f"{launches} of at least {FEWEST_LAUNCHES}" if few else f"no share is known within 25 % from {launches}"
        return "Inconclusive", text, "", claim["next"]
    call = f"MPI_I{claim['subject']}"
    if name == "next":
        polls = f"call MPI_Test while {call} is under way" if more["polls"] else ""
        lacks = f": here the call took {times_text(more['slower'])} its time" if more.get("slower") else ""
        thread = f"{more['knob']} (a core for its thread{lacks})" if more.get("knob") else ""
        none = "no progress thread is known for this library" if more["unknown"] else ""
        return "Try", "; ".join(filter(None, (polls, thread, none))), "no progress of its own"
    share = _share_text("saved" if "persistent" in name else "hidden", *span(claim))
    text = f"{call}, {exact_bytes(more['bytes'])}: {share}"
    return WAYS.get(name, "Inconclusive"), text, f"{format_seconds(more['alone_s'])} alone"


def _share_text(done: str, share: float | None, low: float | None, high: float | None) -> str:
    """``12 % hidden (-5–20 %)``, ``nothing hidden (at most 8 %)``, ``nothing hidden, 12 % longer (5.5–19 %)``."""
    value = share or 0
    if low is None or high is None:
        return f"{percent(value)} {done}"
    if high < 0:
        return f"nothing {done}, {percent(-value)} longer ({percent(-high).removesuffix(' %')}–{percent(-low)})"
    if low < 0 and value <= 0:
        return f"nothing {done} (at most {percent(high)})"
    return f"{percent(value)} {done} ({percent(low).removesuffix(' %')}–{percent(high)})"


def say_auto(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``Table against best   at most 1.03x the time (node.direct), MPI_Alltoall, 8 B, 4 nodes, 16 ranks``."""
    if "name" not in more:  # no difference is shown
        return "Against the library", "no difference shown at any size"
    label = {"best": "Table against best", "library": "Against the library"}.get(name, "Inconclusive")
    other = f" of {claim['subject']}" if claim["subject"] else ""
    where = f"{more['name']}, {exact_bytes(more['bytes'])}, {plural(more['nodes'], 'node')}"
    return label, f"at most {times_text(claim['value'])} the time{other}", f"{where}, {plural(more['ranks'], 'rank')}"


def say_rate(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``6.1 GB/s (5.9–6.3) between nodes, messages of 1 MiB``."""
    if name == "saturated":
        text = f"{plural(int(claim['value'] or 0), 'pair')} of ranks at once, {rate_text(more['rate'])} together"
        counts = f"{', '.join(map(str, more['counts']))} pairs measured"
        note = f"{rate_text(more['alone'])} of one; {counts}" if more.get("alone") else counts
        return "Adapter full" if more["full"] else "Still rising", text, note
    if name == "messages":
        values = [value / 1e6 for value in span(claim) if value]
        ends = f" ({values[1]:.3g}–{values[2]:.3g})" if len(values) == 3 else ""
        text = f"{values[0]:.3g} million/s{ends} {claim['subject']}, messages of {exact_bytes(more['bytes'])}"
        return "Message rate", text
    labels = {"rate": "Bandwidth", "pattern": "Bandwidth", "from-memory": "From memory", "long": "Bandwidth"}
    place = f" {claim['subject']}" if claim["subject"] else ""
    notes = [f"half of it from {exact_bytes(more['half'])}"] if more.get("half") else []
    notes += ["still rising at the largest size"] if more.get("rises") and name != "from-memory" else []
    text = f"{rate_text(*span(claim))}{place}, messages of {exact_bytes(more['bytes'])}"
    return labels.get(name, "Inconclusive"), text, "; ".join(notes)


def say_threshold(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``between 4 KiB and 8 KiB: btl_vader_eager_limit (4 KiB), confirmed``."""
    if name == "eager-limit":
        sizes = f"{exact_bytes(more['lower'])} to {exact_bytes(more['upper'])}"
        untried = [(knob, value) for knob, value in more["knobs"].items() if knob not in more["refuted"]]
        perhaps = " or ".join(f"{knob} ({exact_bytes(value)})" for knob, value in untried)
        sure = f"{more['confirmed']}, confirmed" if more.get("confirmed") else f"perhaps {perhaps}"
        return "Eager limit", f"{sizes} ({claim['subject']}): {sure}", f"the time steps by {times_text(*span(claim))}"
    count = int(claim["value"] or 0)
    if name == "slower-than-double":
        return "Slower than double", plural(count, "size"), "smaller messages take longer than twice their size"
    counts = {
        "where the algorithm changes": more["switched"], "at a knob, confirmed": more["confirmed"],
        "perhaps at a knob": more["possible"],
    }  # fmt: skip
    causes = ", ".join(f"{count} {text}" for text, count in counts.items() if count)
    return "Change-overs", f"{count}" if count else "none", causes


def say_probe(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``1.31 us (1.28–1.35) one way, 8 B, 2 nodes``."""
    text = f"{seconds_text(*span(claim))} one way, {exact_bytes(more['bytes'])}, {plural(more['nodes'], 'node')}"
    return "Inconclusive" if name == INCONCLUSIVE else "Latency", text


def say_pace(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """The pace of short messages, alone and together; the share of a replay that calls take."""
    if name == "calls":
        text = f"{percent(claim['value'] or 0)} of the time, {format_seconds(more['seconds'])}"
        return "In MPI calls", text, f"{format_seconds(more['there'])} where it was traced"
    if name == "alone":
        return "Message pace", f"{seconds_text(*span(claim))} each, {plural(more['messages'], 'message')} back to back"
    return "All ranks at once", f"{times_text(*span(claim))} the pace of one"


def say_replay(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``4.1x faster than traced (3.9–4.3); 2.4 s of 10 s, 4 nodes``."""
    label = {"time": "Replay", "slowest": "Slowest replay"}.get(name, "Inconclusive")
    times = f"{format_seconds(more['seconds'])} here, {format_seconds(more['traced'])} traced"
    return label, f"{faster_text(*span(claim))} than traced", f"{times}; {plural(more['nodes'], 'node')}"
