# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over sizes in words: collectives, bandwidth, thresholds, probes and replays."""

from typing import Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, extras
from weft.format import (
    exact_bytes,
    faster_text,
    format_seconds,
    percent,
    plural,
    rate_text,
    seconds_text,
    times_text,
)
from weft.words.row import Row

UNTIMED = "no time was measured"


def say_collective(claim: ClaimRow) -> Row:
    """``pairwise for MPI_Alltoall, 64 B to 4 KiB: 2.8x faster (2.1–3.4)``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", UNTIMED)
    if name == "imbalance":
        bound, even = format_seconds(claim["value"] or 0.0), format_seconds(more["even"])
        text = f"{bound} of {format_seconds(more['seconds'])} ({more['limit']}); {even} if all blocks were alike"
        return Row(claim["id"], "Imbalance", text)
    if claim["unit"] == "count":  # none is faster, as far as the run's quality goes
        label = "Library is best" if name == "none-faster" else "Inconclusive"
        points = plural(int(claim["value"] or 0), "point")
        return Row(claim["id"], label, f"no algorithm is shown to be faster at any of {points}")
    if name == INCONCLUSIVE and "launches" in more:
        text = f"algorithms timed in {plural(more['launches'], 'launch')} of at least {FEWEST_LAUNCHES}"
        return Row(claim["id"], "Inconclusive", text, "", claim["next"])
    where = f"{plural(more['nodes'], 'node')}, {plural(more['ranks'], 'rank')}"
    if "beaten" in more:
        return _algorithm(claim, more, where)
    label = {"above-bound": "Above its bound", "slowest": "Slowest call"}.get(name, "Inconclusive")
    if claim["unit"] == "seconds" and claim["value"] is not None:
        value = seconds_text(claim["value"], claim["low"], claim["high"])
    else:
        value = f"{times_text(claim['value'], claim['low'], claim['high'])} its bound"
    at = f"{claim['subject']}, {exact_bytes(more['bytes'])}, {where}: {value}"
    times = (
        f"{format_seconds(more['seconds'])} measured, bound {format_seconds(claim['bound'])}" if claim["bound"] else ""
    )
    return Row(claim["id"], label, at, times)


def _algorithm(claim: ClaimRow, more: dict[str, Any], where: str) -> Row:
    sizes = exact_bytes(more["first"])
    sizes += f" to {exact_bytes(more['last'])}" if more["last"] != more["first"] else ""
    value = times_text(claim["value"], claim["low"], claim["high"]).replace("x", "x faster", 1)
    label = "Inconclusive" if claim["id"].endswith(INCONCLUSIVE) else "Faster algorithm"
    note = f"{more['beaten']} of {plural(more['of'], 'point')} have a faster algorithm"
    text = f"{claim['subject']} for {more['name']}, {sizes} ({where}): {value}"
    first = claim["rank"] == 0  # what all have in common is not repeated
    return Row(claim["id"], label, text, more.get("setting") or (note if first else ""), claim["next"] if first else "")


def say_auto(claim: ClaimRow) -> Row:
    """``Table against best   at most 1.03x the time (node.direct), MPI_Alltoall, 8 B, 4 nodes, 16 ranks``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", UNTIMED)
    if "name" not in more:  # no difference is shown
        return Row(claim["id"], "Against the library", "no difference shown at any size")
    label = {"best": "Table against best", "library": "Against the library"}.get(name, "Inconclusive")
    where = f"{more['name']}, {exact_bytes(more['bytes'])}, {plural(more['nodes'], 'node')}"
    other = f" of {claim['subject']}" if claim["subject"] else ""
    text = f"at most {times_text(claim['value'])} the time{other}"
    return Row(claim["id"], label, text, f"{where}, {plural(more['ranks'], 'rank')}")


def say_rate(claim: ClaimRow) -> Row:
    """``6.1 GB/s (5.9–6.3) between nodes, messages of 1 MiB``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", UNTIMED)
    labels = {"rate": "Bandwidth", "pattern": "Bandwidth", "from-memory": "From memory", "long": "Bandwidth"}
    value = rate_text(claim["value"], claim["low"], claim["high"])
    place = f" {claim['subject']}" if claim["subject"] else ""
    notes = [f"half of it from {exact_bytes(more['half'])}"] if more.get("half") else []
    notes += ["still rising at the largest size"] if more.get("rises") and name != "from-memory" else []
    text = f"{value}{place}, messages of {exact_bytes(more['bytes'])}"
    return Row(claim["id"], labels.get(name, "Inconclusive"), text, "; ".join(notes))


def say_threshold(claim: ClaimRow) -> Row:
    """``between 4 KiB and 8 KiB: btl_vader_eager_limit (4 KiB), confirmed``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "eager-limit":
        span = f"{exact_bytes(more['lower'])} to {exact_bytes(more['upper'])}"
        knobs = [
            f"{knob} ({exact_bytes(value)})" for knob, value in more["knobs"].items() if knob not in more["refuted"]
        ]
        sure = f"{more['confirmed']}, confirmed" if more.get("confirmed") else f"perhaps {' or '.join(knobs)}"
        step = times_text(claim["value"], claim["low"], claim["high"])
        return Row(claim["id"], "Eager limit", f"{span} ({claim['subject']}): {sure}", f"the time steps by {step}")
    count = int(claim["value"] or 0)
    if name == "slower-than-double":
        return Row(
            claim["id"],
            "Slower than double",
            plural(count, "size"),
            "smaller messages take longer than twice their size",
        )
    return Row(claim["id"], "Change-overs", f"{count}" if count else "none", _causes(more))


def _causes(more: dict[str, Any]) -> str:
    counts = {
        "where the algorithm changes": more["switched"], "at a knob, confirmed": more["confirmed"],
        "perhaps at a knob": more["possible"],
    }  # fmt: skip
    return ", ".join(f"{count} {text}" for text, count in counts.items() if count)


def say_probe(claim: ClaimRow) -> Row:
    """``1.31 us (1.28–1.35) one way, 8 B, 2 nodes``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", UNTIMED)
    time = seconds_text(claim["value"], claim["low"], claim["high"])
    label = "Inconclusive" if name == INCONCLUSIVE else "Latency"
    return Row(claim["id"], label, f"{time} one way, {exact_bytes(more['bytes'])}, {plural(more['nodes'], 'node')}")


def say_pace(claim: ClaimRow) -> Row:
    """The pace of short messages, alone and together; the share of a replay that calls take."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "calls":
        text = f"{percent(claim['value'] or 0)} of the time, {format_seconds(more['seconds'])}"
        return Row(claim["id"], "In MPI calls", text, f"{format_seconds(more['there'])} where it was traced")
    if name == "alone":
        pace = seconds_text(claim["value"], claim["low"], claim["high"])
        text = f"{pace} each, {plural(more['messages'], 'message')} back to back"
        return Row(claim["id"], "Message pace", text)
    return Row(
        claim["id"], "All ranks at once", f"{times_text(claim['value'], claim['low'], claim['high'])} the pace of one"
    )


def say_replay(claim: ClaimRow) -> Row:
    """``4.1x faster than traced (3.9–4.3); 2.4 s of 10 s, 4 nodes``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", "no replay has a time")
    labels = {"time": "Replay", "slowest": "Slowest replay"}
    change = faster_text(claim["value"], claim["low"], claim["high"])
    times = f"{format_seconds(more['seconds'])} here, {format_seconds(more['traced'])} traced"
    times += f"; {plural(more['nodes'], 'node')}"
    return Row(claim["id"], labels.get(name, "Inconclusive"), f"{change} than traced", times)
