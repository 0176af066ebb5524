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
from weft.words.row import Row

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


def say(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``cable leaf2 - spine0: 4.64x slower in both directions (95 % 4.20–5.10)``."""
    if name == "next":
        return Row(claim["id"], "Next", *_next(claim, more))
    if more.get("of") in FAULTS:
        return Row(claim["id"], LABELS[name], *FAULTS[more["of"]](claim, more))
    if claim["value"] is not None:
        return Row(claim["id"], LABELS[name], *_slow(claim, more), claim["next"])
    if not more.get("nodes"):
        why = one_line(str(more.get("why") or ""))
        return Row(claim["id"], LABELS[INCONCLUSIVE], "no pair has been measured", why, claim["next"])
    measured = f"{plural(more['nodes'], 'node')}, {plural(more['rounds'], 'round')}"
    return Row(claim["id"], LABELS[name], measured, _doubt(more) if name == INCONCLUSIVE else "")


def _doubt(more: dict[str, Any]) -> str:
    """Why nothing that was seen is not nothing that is there: ``5 of 16 rounds in the time``."""
    if more.get("why"):
        return one_line(str(more["why"]))
    if "of_rounds" not in more:  # of an earlier Weft
        return ""
    if 2 * more["rounds"] < more["of_rounds"]:
        return f"{more['rounds']} of {plural(more['of_rounds'], 'round')} in the time"
    if "lone" in more:
        return f"{more['lone']:,} of {plural(more['nodes'], 'node')} without others to compare with"
    return f"{more['far']:,} of {plural(more['nodes'], 'node')} over {percent(more['far_share'])} off their peers"


def _own_pace(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    """What a node takes for a fixed copy or computation of its own."""
    what = f"copies at {format_rate(more['rate'])}" if more.get("rate") else "a fixed computation"
    return f"{more['of']} of {claim['subject']}: {times_text(claim['value'])} its peers' time", what


def _waited(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    text = f"{claim['subject']} waited for a core {percent(more['share'])} of the time"
    return text, f"peers {percent(more['peers'])}"


def _tcp(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    text = f"{format_bytes(more['sent'])} by network interfaces, {format_bytes(more['by_adapter'])} by the adapter"
    return f"messages of {claim['subject']} went over TCP", text


def _differs(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    own, peers = (one_line(str(more.get(key) or "none"))[:LONGEST] for key in ("own", "peers"))
    return f"{NOUNS[more['of']]} of {claim['subject']}: {own}", f"peers: {peers}"


def _bound(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    peers = f"peers have {more['peers_cores']}" if more.get("peers_cores") else ""
    return f"{plural(more['ranks'], 'rank')} of {claim['subject']} on one core", peers


NOUNS = {"adapter": "adapters", "library": "MPI"}
LONGEST = 40  # characters of a value that differs
FAULTS = {
    "memory": _own_pace, "processor": _own_pace, "waiting": _waited, "tcp": _tcp, "adapter": _differs,
    "library": _differs, "core": _bound, "cores": _bound,
}  # fmt: skip


def say_start(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """How MPI started, or a kernel that differs."""
    if claim["id"] == "start.kernel":
        return Row(claim["id"], "Kernel", f"{claim['subject']}: {more['own']}", f"peers: {more['peers']}")
    if claim["id"] == "start.leaves":
        leaves = f"{int(claim['value'] or 0)} of {plural(more['nodes'], 'node')}"
        return Row(claim["id"], "Leaves", leaves, "clustered by the run's own times: the fabric file names none")
    if claim["id"] == "start.cables":
        crossed = f"{more['crossed']:,} of {int(claim['value'] or 0):,} crossed"
        reserve = f"{plural(more['reserve'], 'cable')} not filled (minimum {percent(more['filled'])})"
        hidden = f"{reserve}: a slowdown below {times_text(more['shown'])} may not show"
        return Row(claim["id"], "Cables", crossed, hidden if more["reserve"] else "")
    late = f"{claim['subject']} began {format_seconds(more['late_s'], 2)} after its peers" if claim["subject"] else ""
    return Row(claim["id"], "MPI started", f"{plural(more['nodes'], 'node')} in {seconds_text(claim['value'])}", late)


def say_counted(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """What adapters or TCP counted during a check: ``n5: 12 errors (mlx5_0/1 symbol_error)``."""
    count = int(claim["value"] or 0)
    if claim["id"] == "counted.retransmissions":
        return Row(claim["id"], "Retransmitted", f"{claim['subject']}: {plural(count, 'segment')} of TCP")
    others = f"errors on {plural(more['nodes'], 'node')}" if more["nodes"] > 1 else ""
    return Row(claim["id"], "Adapter errors", f"{claim['subject']}: {plural(count, 'error')} ({more['what']})", others)


def _slow(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    way = ROLES.get(more.get("role", ""), WAYS.get(more["of"], ""))
    factor = faster_text(claim["value"], claim["low"], claim["high"], claim["coverage"])
    value = f"{more['of']} {claim['subject']}: {factor}{f' {way}' if way else ''}, {format_bytes(more['bytes'])}"
    return value, f"indistinguishable from {', '.join(more['also'])}" if more.get("also") else ""


def _next(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    part = REMEDIES[more["of"]].format(name=claim["subject"]) if claim["subject"] else ""
    nodes = claim["next"] or (f"leave out {', '.join(more['exclude'])}" if more.get("exclude") else "")
    return nodes or part, part if nodes else ""


def within_text(claim: ClaimRow) -> str:
    """``1,021 of 1,024 nodes within 4 % of their class``; empty of other answers."""
    more = extras(claim)
    if "close" not in more or not more["nodes"]:
        return ""
    return f"{more['close']:,} of {plural(more['nodes'], 'node')} within {percent(more['within'])} of their class"


AUDITS = {"violated": "Violation", "also": "Also", "consistent": "Consistent", INCONCLUSIVE: "Could not tell"}
#: What a call is held against, unless it is a mock-up.
RIVALS = {"larger": "at twice the size", "split": "two calls of half the size", "fewer": "on all ranks"}


def name_calls(names: str) -> str:
    """``MPI_Scatter + MPI_Allgather`` of ``scatter+allgather``."""
    return " + ".join(f"MPI_{name.capitalize()}" for name in names.split("+"))


def name_rival(guideline: str) -> str:
    """What a guideline holds a call against: ``two calls of half the size``, ``MPI_Scatter + MPI_Allgather``."""
    return RIVALS.get(guideline) or name_calls(guideline)


def say_audit(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``MPI_Bcast, 64 KiB: 2.31x slower (95 % 2.20-2.43) than MPI_Scatter + MPI_Allgather``."""
    if name == "next":
        return Row(claim["id"], "Try", *_audit_next(claim, more), claim["next"])
    if name == "covered":
        left = [(name_calls(call), ", ".join(map(exact_bytes, sizes))) for call, sizes in more["left"]]
        return Row(claim["id"], "Left out", "; ".join(f"{call} at {sizes}" for call, sizes in left), "raise --time")
    tests = f"{plural(more['guidelines'], 'guideline')}, {plural(more['tests'], 'test')}"
    over = f"{tests} over {plural(more['launches'], 'launch')}"
    if claim["value"] is None:
        return Row(claim["id"], AUDITS[name], over, _audit_doubt(more))
    half = " on half of the ranks" if more["guideline"] == "fewer" else ""
    factor = faster_text(claim["value"], claim["low"], claim["high"], claim["coverage"])
    at = f"{name_calls(claim['subject'])}{half}, {exact_bytes(more['bytes'])}"
    value = f"{at}: {factor} than {name_rival(more['guideline'])}"
    times = f"{format_seconds(more['seconds'])} against {format_seconds(more['rival_s'])}"
    return Row(claim["id"], AUDITS[name], value, f"{times}; {len(more['sizes'])} of {plural(more['of_sizes'], 'size')}")


def _audit_doubt(more: dict[str, Any]) -> str:
    """What failed, or was measured too seldom; else how many tests exclude a factor of 2."""
    if more.get("failed"):
        return f"failed: {', '.join(map(name_calls, more['failed']))}"
    if more["launches"] < more.get("fewest", 0):
        return f"at least {plural(more['fewest'], 'launch')} needed"
    return f"a factor of 2 is excluded in {more['excluded']}" if "excluded" in more else ""


def _audit_next(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    ways = [f"{name_calls(more['mock_up'])} in its place"] if more.get("mock_up") else []
    ways += ["weft exec with the table of weft tune"] if more["tuned"] else []
    ways += [f"another algorithm: {more['knob']}"] if more.get("knob") else []
    known = f"known: {more['issue']}" if more.get("issue") else ""
    return f"{name_calls(claim['subject'])}: {'; '.join(ways) or 'report it to the library'}", known


PAIR_LABELS = {
    "node": "Slow node", "memory": "Slow memory", "link": "Slow link", "cable": "Slow cable", "switch": "Slow switch",
    "leaves": "Slow path", "route": "Slow path", "rank": "Slow rank", "pair": "Slow pair", "class": "Two groups",
}  # fmt: skip
PAIR_ROLES = {**ROLES, "both": "as sender and receiver"}
MODES = {"isolated": "one pair at a time", "node": "one pair per node at a time", "all": "all pairs at once"}


def say_pair_outlier(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """``leaf2 - spine0: 4.64x (1 MiB, one pair at a time)``, with what the same pairs cross."""
    return Row(claim["id"], PAIR_LABELS[name], *_outlier(claim, more))


def _outlier(claim: ClaimRow, more: dict[str, Any]) -> tuple[str, str]:
    factor = times_text(claim["value"], claim["low"], claim["high"])
    role = f" {PAIR_ROLES[more['role']]}" if more.get("role") in PAIR_ROLES else ""
    ways = f" and {plural(more['ways'] - 1, 'other way')}" if more["ways"] > 1 else ""
    where = f"{format_bytes(more['bytes'])}, {MODES[more['mode']]}{ways}; {plural(more['affected'], 'pair')}"
    also = f"indistinguishable from {', '.join(more['also'])} (same pairs)" if more.get("also") else ""
    return f"{claim['subject']}{role}: {factor} slower ({where})", "; ".join(filter(None, (more.get("detail"), also)))


def say_pairs(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """That there is no outlier, or that those seen are in doubt."""
    if name == "unmeasured":
        return Row(claim["id"], "Inconclusive", "no pair has been measured yet")
    if more.get("affected"):
        return Row(claim["id"], "Inconclusive", *_outlier(claim, more))
    label = "No outlier" if name == "no-outlier" else "Inconclusive"
    return Row(claim["id"], label, _counted(more), _spread(claim, more))


def _counted(more: dict[str, Any]) -> str:
    return f"{plural(more['pairs'], 'pair')} of {plural(more['ranks'], 'rank')} on {plural(more['nodes'], 'node')}"


def _spread(claim: ClaimRow, more: dict[str, Any]) -> str:
    if claim["value"] is None:
        return ""
    slow = f"{plural(more['slow'], 'pair')} at {PAIR_FACTOR:g}x of their class or more, " if more.get("slow") else ""
    return f"{slow}at most {times_text(claim['value'])}"


def say_latency(claim: ClaimRow, name: str, more: dict[str, Any]) -> Row:
    """Half a round trip of a hop class, or the rate of so many messages under way."""
    if window := more.get("window"):
        rate = rate_text(window * more["bytes"] / claim["value"]) if claim["value"] else ""
        under_way = f"{plural(window, 'message')} of {exact_bytes(more['bytes'])} under way, {MODES[more['mode']]}"
        return Row(claim["id"], claim["subject"].capitalize(), rate, under_way)
    time = seconds_text(claim["value"], claim["low"], claim["high"])
    size = exact_bytes(more["bytes"])
    return Row(claim["id"], claim["subject"].capitalize(), time, f"half a round trip of {size}, {MODES[more['mode']]}")
