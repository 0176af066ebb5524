# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over sizes in words: collectives, bandwidth, thresholds, probes and replays."""

from typing import Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.format import exact_bytes, faster_text, format_seconds, percent, plural, rate_text, seconds_text, times_text
from weft.words.row import Row


def say_collective(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``pairwise for MPI_Alltoall, 64 B to 4 KiB: 2.8x faster (2.1–3.4)``."""
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


#: How the rest of a non-blocking call is hidden, or what it saves.
WAYS = {
    "hidden": "Overlap", "also": "Overlap", "test": "With MPI_Test", "persistent": "Persistent",
    "thread": "Progress thread", "thread-test": "Thread, MPI_Test", "thread-persistent": "Thread, persistent",
}  # fmt: skip


def say_overlap(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``MPI_Ialltoall, 64 KiB: 12 % hidden (5–20 %)   41 us alone``."""
    if name == INCONCLUSIVE and "launches" in more:
        launches = plural(more["launches"], "launch")
        few = more["launches"] < FEWEST_LAUNCHES
        text = f"{launches} of at least {FEWEST_LAUNCHES}" if few else f"no share is known within 25 % from {launches}"
        return Row(claim["id"], "Inconclusive", text, "", claim["next"])
    call = f"MPI_I{claim['subject']}"
    if name == "next":
        polls = f"call MPI_Test while {call} is under way" if more["polls"] else ""
        lacks = f": here the call took {times_text(more['slower'])} its time" if more.get("slower") else ""
        thread = f"{more['knob']} (a core for its thread{lacks})" if more.get("knob") else ""
        none = "no progress thread is known for this library" if more["unknown"] else ""
        text = "; ".join(filter(None, (polls, thread, none)))
        return Row(claim["id"], "Try", text, "no progress of its own")
    share = _share_text("saved" if "persistent" in name else "hidden", claim["value"] or 0, claim["low"], claim["high"])
    alone = f"{format_seconds(more['alone_s'])} alone"
    return Row(claim["id"], WAYS.get(name, "Inconclusive"), f"{call}, {exact_bytes(more['bytes'])}: {share}", alone)


def _share_text(done: str, value: float, low: float | None, high: float | None) -> str:
    """``12 % hidden (-5–20 %)``, ``nothing hidden (at most 8 %)``, ``nothing hidden, 12 % longer (5.5–19 %)``."""
    if low is None or high is None:
        return f"{percent(value)} {done}"
    if high < 0:
        return f"nothing {done}, {percent(-value)} longer ({percent(-high).removesuffix(' %')}–{percent(-low)})"
    if low < 0 and value <= 0:
        return f"nothing {done} (at most {percent(high)})"
    return f"{percent(value)} {done} ({percent(low).removesuffix(' %')}–{percent(high)})"


def say_auto(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``Table against best   at most 1.03x the time (node.direct), MPI_Alltoall, 8 B, 4 nodes, 16 ranks``."""
    if "name" not in more:  # no difference is shown
        return Row(claim["id"], "Against the library", "no difference shown at any size")
    label = {"best": "Table against best", "library": "Against the library"}.get(name, "Inconclusive")
    where = f"{more['name']}, {exact_bytes(more['bytes'])}, {plural(more['nodes'], 'node')}"
    other = f" of {claim['subject']}" if claim["subject"] else ""
    text = f"at most {times_text(claim['value'])} the time{other}"
    return Row(claim["id"], label, text, f"{where}, {plural(more['ranks'], 'rank')}")


def say_rate(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``6.1 GB/s (5.9–6.3) between nodes, messages of 1 MiB``."""
    if name == "saturated":
        text = f"{plural(int(claim['value'] or 0), 'pair')} of ranks at once, {rate_text(more['rate'])} together"
        counts = f"{', '.join(map(str, more['counts']))} pairs measured"
        note = f"{rate_text(more['alone'])} of one; {counts}" if more.get("alone") else counts
        return Row(claim["id"], "Adapter full" if more["full"] else "Still rising", text, note)
    if name == "messages":
        values = [value / 1e6 for value in (claim["value"], claim["low"], claim["high"]) if value]
        span = f" ({values[1]:.3g}–{values[2]:.3g})" if len(values) == 3 else ""
        text = f"{values[0]:.3g} million/s{span} {claim['subject']}, messages of {exact_bytes(more['bytes'])}"
        return Row(claim["id"], "Message rate", text)
    labels = {"rate": "Bandwidth", "pattern": "Bandwidth", "from-memory": "From memory", "long": "Bandwidth"}
    value = rate_text(claim["value"], claim["low"], claim["high"])
    place = f" {claim['subject']}" if claim["subject"] else ""
    notes = [f"half of it from {exact_bytes(more['half'])}"] if more.get("half") else []
    notes += ["still rising at the largest size"] if more.get("rises") and name != "from-memory" else []
    text = f"{value}{place}, messages of {exact_bytes(more['bytes'])}"
    return Row(claim["id"], labels.get(name, "Inconclusive"), text, "; ".join(notes))


def say_threshold(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``between 4 KiB and 8 KiB: btl_vader_eager_limit (4 KiB), confirmed``."""
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


def say_probe(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``1.31 us (1.28–1.35) one way, 8 B, 2 nodes``."""
    time = seconds_text(claim["value"], claim["low"], claim["high"])
    label = "Inconclusive" if name == INCONCLUSIVE else "Latency"
    return Row(claim["id"], label, f"{time} one way, {exact_bytes(more['bytes'])}, {plural(more['nodes'], 'node')}")


def say_pace(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """The pace of short messages, alone and together; the share of a replay that calls take."""
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


def say_replay(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``4.1x faster than traced (3.9–4.3); 2.4 s of 10 s, 4 nodes``."""
    labels = {"time": "Replay", "slowest": "Slowest replay"}
    change = faster_text(claim["value"], claim["low"], claim["high"])
    times = f"{format_seconds(more['seconds'])} here, {format_seconds(more['traced'])} traced"
    times += f"; {plural(more['nodes'], 'node')}"
    return Row(claim["id"], labels.get(name, "Inconclusive"), f"{change} than traced", times)
