# SPDX-License-Identifier: BSD-3-Clause
"""Checks and audits in words: what is slow, by how much, and what to do about it."""

from typing import Any

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, extras
from weft.analyse.tables.pairs import PAIR_FACTOR
from weft.format import (
    exact_bytes,
    faster_text,
    format_bytes,
    format_rate,
    format_seconds,
    percent,
    plural,
    rate_text,
    seconds_text,
    times_text,
)
from weft.text import one_line
from weft.words import Said, span

LABELS = {"healthy": "Healthy", "not-healthy": "Not healthy", "also": "Also", INCONCLUSIVE: "Could not tell"}
#: Where a slow part slows messages.
WAYS = {"node": "to and from everybody", "cable": "in both directions", "switch": "whatever crosses it"}
ROLES = {"sender": "as sender", "receiver": "as receiver"}
REMEDIES = {
    "cable": "replace or reseat {name}", "link": "replace or reseat {name}", "switch": "look at switch {name}",
    "memory": "look at the memory of {name}, not at its cable", "waiting": "look for other work on {name}",
    "processor": "look at the clock and temperature of {name}", "core": "bind each rank to cores of its own",
    "cores": "bind each rank to a core of its own", "library": "load the same MPI on every node",
    "tcp": "look at the adapter of {name} and at the transports of the MPI", "adapter": "look at the adapter of {name}",
}  # fmt: skip
LONGEST = 40  # characters of a value that differs
FAULTS = frozenset({"memory", "processor", "waiting", "tcp", "adapter", "library", "core", "cores"})
AUDITS = {"violated": "Violation", "also": "Also", "consistent": "Consistent", INCONCLUSIVE: "Could not tell"}
#: What a call is held against, unless it is a mock-up.
RIVALS = {"larger": "at twice the size", "split": "two calls of half the size", "fewer": "on all ranks"}
PAIR_LABELS = {
    "node": "Slow node", "memory": "Slow memory", "link": "Slow link", "cable": "Slow cable", "switch": "Slow switch",
    "leaves": "Slow path", "route": "Slow path", "rank": "Slow rank", "pair": "Slow pair", "class": "Two groups",
}  # fmt: skip
MODES = {"isolated": "one pair at a time", "node": "one pair per node at a time", "all": "all pairs at once"}


def say(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``cable leaf2 - spine0: 4.64x slower in both directions (95 % 4.20–5.10)``."""
    if name == "next":
        part = REMEDIES[more["of"]].format(name=claim["subject"]) if claim["subject"] else ""
        nodes = claim["next"] or (f"leave out {', '.join(more['exclude'])}" if more.get("exclude") else "")
        return "Next", nodes or part, part if nodes else ""
    if more.get("of") in FAULTS:
        return LABELS[name], *_fault(claim, more)
    if claim["value"] is not None:
        way = ROLES.get(more.get("role", ""), WAYS.get(more["of"], ""))
        factor = faster_text(*span(claim), claim["coverage"])
        value = f"{more['of']} {claim['subject']}: {factor}{f' {way}' if way else ''}, {format_bytes(more['bytes'])}"
        also = f"indistinguishable from {', '.join(more['also'])}" if more.get("also") else ""
        return LABELS[name], value, also, claim["next"]
    if not more.get("nodes"):
        return LABELS[INCONCLUSIVE], "no pair has been measured", one_line(str(more.get("why") or "")), claim["next"]
    measured = f"{plural(more['nodes'], 'node')}, {plural(more['rounds'], 'round')}"
    return LABELS[name], measured, _doubt(more) if name == INCONCLUSIVE else ""


def _doubt(more: dict[str, Any]) -> str:
    if more.get("why"):
        return one_line(str(more["why"]))
    if "of_rounds" not in more:  # of an earlier Weft
        return ""
    if 2 * more["rounds"] < more["of_rounds"]:
        return f"{more['rounds']} of {plural(more['of_rounds'], 'round')} in the time"
    if "lone" in more:
        return f"{more['lone']:,} of {plural(more['nodes'], 'node')} without others to compare with"
    return f"{more['far']:,} of {plural(more['nodes'], 'node')} over {percent(more['far_share'])} off their peers"


def _fault(claim: ClaimRow, more: dict[str, Any]) -> Said:
    of, subject = more["of"], claim["subject"]
    if of in ("memory", "processor"):
        what = f"copies at {format_rate(more['rate'])}" if more.get("rate") else "a fixed computation"
        return f"{of} of {subject}: {times_text(claim['value'])} its peers' time", what
    if of == "waiting":
        return f"{subject} waited for a core {percent(more['share'])} of the time", f"peers {percent(more['peers'])}"
    if of == "tcp":
        text = f"{format_bytes(more['sent'])} by network interfaces, {format_bytes(more['by_adapter'])} by the adapter"
        return f"messages of {subject} went over TCP", text
    if of in ("adapter", "library"):
        own, peers = (one_line(str(more.get(key) or "none"))[:LONGEST] for key in ("own", "peers"))
        return f"{'MPI' if of == 'library' else 'adapters'} of {subject}: {own}", f"peers: {peers}"
    peers = f"peers have {more['peers_cores']}" if more.get("peers_cores") else ""
    return f"{plural(more['ranks'], 'rank')} of {subject} on one core", peers


def say_start(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """How MPI started, or a kernel that differs."""
    count = int(claim["value"] or 0)
    if name == "kernel":
        return "Kernel", f"{claim['subject']}: {more['own']}", f"peers: {more['peers']}"
    if name == "leaves":
        leaves = f"{count} of {plural(more['nodes'], 'node')}"
        return "Leaves", leaves, "clustered by the run's own times: the fabric file names none"
    if name == "cables":
        reserve = f"{plural(more['reserve'], 'cable')} not filled (minimum {percent(more['filled'])})"
        hidden = f"{reserve}: a slowdown below {times_text(more['shown'])} may not show"
        return "Cables", f"{more['crossed']:,} of {count:,} crossed", hidden if more["reserve"] else ""
    late = f"{claim['subject']} began {format_seconds(more['late_s'], 2)} after its peers" if claim["subject"] else ""
    return "MPI started", f"{plural(more['nodes'], 'node')} in {seconds_text(claim['value'])}", late


def say_counted(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """What adapters or TCP counted during a check: ``n5: 12 errors (mlx5_0/1 symbol_error)``."""
    count = int(claim["value"] or 0)
    if name == "retransmissions":
        return "Retransmitted", f"{claim['subject']}: {plural(count, 'segment')} of TCP"
    others = f"errors on {plural(more['nodes'], 'node')}" if more["nodes"] > 1 else ""
    return "Adapter errors", f"{claim['subject']}: {plural(count, 'error')} ({more['what']})", others


def within_text(claim: ClaimRow) -> str:
    """``1,021 of 1,024 nodes within 4 % of their class``; empty of other answers."""
    more = extras(claim)
    if "close" not in more or not more["nodes"]:
        return ""
    return f"{more['close']:,} of {plural(more['nodes'], 'node')} within {percent(more['within'])} of their class"


def name_calls(names: str) -> str:
    """``MPI_Scatter + MPI_Allgather`` of ``scatter+allgather``."""
    return " + ".join(f"MPI_{name.capitalize()}" for name in names.split("+"))


def name_rival(guideline: str) -> str:
    """What a guideline holds a call against: ``two calls of half the size``, ``MPI_Scatter + MPI_Allgather``."""
    return RIVALS.get(guideline) or name_calls(guideline)


def say_audit(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``MPI_Bcast, 64 KiB: 2.31x slower (95 % 2.20-2.43) than MPI_Scatter + MPI_Allgather``."""
    if name == "next":
        ways = [f"{name_calls(more['mock_up'])} in its place"] if more.get("mock_up") else []
        ways += ["weft exec with the table of weft tune"] if more["tuned"] else []
        ways += [f"another algorithm: {more['knob']}"] if more.get("knob") else []
        what = f"{name_calls(claim['subject'])}: {'; '.join(ways) or 'report it to the library'}"
        return "Try", what, f"known: {more['issue']}" if more.get("issue") else "", claim["next"]
    if name == "covered":
        left = [f"{name_calls(call)} at {', '.join(map(exact_bytes, sizes))}" for call, sizes in more["left"]]
        return "Left out", "; ".join(left), "raise --time"
    if claim["value"] is None:
        tests = f"{plural(more['guidelines'], 'guideline')}, {plural(more['tests'], 'test')}"
        # what failed, or was measured too seldom; else how many tests exclude a factor of 2
        doubt = f"a factor of 2 is excluded in {more['excluded']}" if "excluded" in more else ""
        if more.get("failed"):
            doubt = f"failed: {', '.join(map(name_calls, more['failed']))}"
        elif more["launches"] < more.get("fewest", 0):
            doubt = f"at least {plural(more['fewest'], 'launch')} needed"
        return AUDITS[name], f"{tests} over {plural(more['launches'], 'launch')}", doubt
    half = " on half of the ranks" if more["guideline"] == "fewer" else ""
    at = f"{name_calls(claim['subject'])}{half}, {exact_bytes(more['bytes'])}"
    value = f"{at}: {faster_text(*span(claim), claim['coverage'])} than {name_rival(more['guideline'])}"
    times = f"{format_seconds(more['seconds'])} against {format_seconds(more['rival_s'])}"
    return AUDITS[name], value, f"{times}; {len(more['sizes'])} of {plural(more['of_sizes'], 'size')}"


def say_pair_outlier(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``leaf2 - spine0: 4.64x (1 MiB, one pair at a time)``, with what the same pairs cross."""
    role = {**ROLES, "both": "as sender and receiver"}.get(more.get("role", ""), "")
    ways = f" and {plural(more['ways'] - 1, 'other way')}" if more["ways"] > 1 else ""
    where = f"{format_bytes(more['bytes'])}, {MODES[more['mode']]}{ways}; {plural(more['affected'], 'pair')}"
    also = f"indistinguishable from {', '.join(more['also'])} (same pairs)" if more.get("also") else ""
    value = f"{claim['subject']}{f' {role}' if role else ''}: {times_text(*span(claim))} slower ({where})"
    return PAIR_LABELS.get(name, "Inconclusive"), value, "; ".join(filter(None, (more.get("detail"), also)))


def say_pairs(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """That there is no outlier, or that those seen are in doubt."""
    if name == "unmeasured":
        return "Inconclusive", "no pair has been measured yet"
    if more.get("affected"):
        return say_pair_outlier(claim, INCONCLUSIVE, more)
    counted = f"{plural(more['pairs'], 'pair')} of {plural(more['ranks'], 'rank')} on {plural(more['nodes'], 'node')}"
    slow = f"{plural(more['slow'], 'pair')} at {PAIR_FACTOR:g}x of their class or more, " if more.get("slow") else ""
    most = "" if claim["value"] is None else f"{slow}at most {times_text(claim['value'])}"
    return "No outlier" if name == "no-outlier" else "Inconclusive", counted, most


def say_latency(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """Half a round trip of a hop class, or the rate of so many messages under way."""
    label, size, mode = claim["subject"].capitalize(), exact_bytes(more["bytes"]), MODES[more["mode"]]
    if window := more.get("window"):
        rate = rate_text(window * more["bytes"] / claim["value"]) if claim["value"] else ""
        return label, rate, f"{plural(window, 'message')} of {size} under way, {mode}"
    return label, seconds_text(*span(claim)), f"half a round trip of {size}, {mode}"
