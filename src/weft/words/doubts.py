# SPDX-License-Identifier: BSD-3-Clause
"""Doubts about a run in words, and the confidence that they leave."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.tables.claims import ClaimRow, extras
from weft.format import percent, plural, times_text
from weft.words import Row, Said

TEXTS = {
    "wrong": "statistics contradict each other in {who}",
    "failed": "{who} failed",
    "bound": "samples are below their lower bound in {who}",
    "launches": "launch medians vary by more than 25 % in {who}, at most {worst}",
    "floor": "times are below the noise floor in {who}",
    "steal": "CPU steal in {who}",
    "swap": "memory was swapped to disk in {who}",
    "core": "two ranks share a core in {who}",
    "host": "several nodes are one host in {who}",
    "load": "other work on {who} at the start",
    "lost": "time lost to other work may have lengthened medians in {who}",
    "oversubscribed": "more ranks than cores in {who}",
    "precision": "intervals are wider than asked for in {who}",
    "kernel": "the kernel warned in {who}",
    "model": "no number of this machine was fitted to measurements: each time is a range",
    "fitted": "simulated with fitted numbers; {error}",
    "latency": "a message between nodes takes {worst} its network's latency",
    "trace": "{who}",
    "trace-oversubscribed": "more ranks than cores: {who}",
    "trace-core": "bound to the same cores: {who}",
    "trace-lost": "ranks waited for a core for {who} of their time",
    "trace-load": "other processes used {who} of the ranks' cores",
    "trace-steal": "CPU steal took {who} of the hosts' cores",
    "trace-tracer": "the tracer took {who} of the time",
    "trace-partial": "{who} of the ranks have a partial trace",
    "trace-unmeasured": "lost time was not recorded for {who} of the ranks",
}
NEXT = {
    "wrong": "Report it with the run folder.",
    "bound": "Check the rates in the fabric file.",
    "floor": "Use larger blocks.",
    "swap": "Use smaller blocks, or stop other work.",
    "core": "Pin one rank per core.",
    "host": "Check the placement of ranks.",
    "oversubscribed": "Set ranks_per_node to leave such rows out.",
    "kernel": "See the findings.",
    "trace": "Trace again without what disturbed the trace.",
    "latency": "Check network.latency and overheads in the fabric file.",
    "model": "Fit the machine to a run: weft fabric fit.",
    "trace-oversubscribed": "Start fewer ranks per node.",
    "trace-core": "Bind each rank to its own core: --bind-to core",
    "trace-lost": "Stop other work on these nodes, and trace again.",
    "trace-load": "Stop other work on these nodes, and trace again.",
    "trace-steal": "Trace on dedicated nodes.",
    "trace-tracer": "Compare with a run without weft trace.",
    "trace-partial": "Trace a run that ends with MPI_Finalize.",
    "trace-unmeasured": "Trace with weft trace.",
}


def say(claim: ClaimRow) -> Row:
    """``launch medians vary by more than 25 % in 10 of 15 rows``."""
    more = extras(claim)
    worst = more.get("worst")
    error = f"error on cells left out {percent(worst)}" if worst else "error on other cells unknown"
    most = times_text(worst) if worst else "–"
    text = TEXTS[claim["subject"]].format(who=_who(claim, more), worst=most, error=error)
    text = f"{more['run']}: {text}" if more.get("run") else text
    note = f"could turn the answer: {more['turns']}" if more.get("turns") else ""
    return Row(claim["id"], claim["confidence"], text, note, claim["next"])


def _who(claim: ClaimRow, more: dict[str, Any]) -> str:
    if claim["subject"] == "load":
        return f"{percent(claim['value'] or 0)} of the cores"
    if claim["subject"].startswith("trace"):
        return more.get("noun") or percent(claim["value"] or 0)
    if claim["subject"] == "failed":
        return f"{more['count']:,} of {plural(more['of'], 'cell')}"
    return f"{more['count']:,} of {more['of']:,} {more.get('noun', '')}".rstrip()


def grade_text(claims: Sequence[ClaimRow]) -> tuple[str, str]:
    """The worst grade of some doubts, and its reason with the number of others."""
    if not claims:
        return "A", "no disturbance was recorded"
    more = f" (and {plural(len(claims) - 1, 'other doubt')})" if len(claims) > 1 else ""
    return claims[0]["confidence"], f"{say(claims[0]).value}{more}"


def model_text(claim: ClaimRow | None) -> str:
    """``Confidence B: simulated with fitted numbers; error on cells left out 2.2 %``; empty of a real machine."""
    return f"Confidence {claim['confidence']}: {say(claim).value}" if claim else ""


def say_finding(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``launch medians vary ... : A warm, N = 2 (and 12 others)``."""
    count = int(claim["value"] or 1)
    others = f" (and {plural(count - 1, 'other')})" if count > 1 else ""
    return more["level"], f"{claim['subject']}: {more['what']}{others}", more["remedy"]
