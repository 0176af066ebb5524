# SPDX-License-Identifier: BSD-3-Clause
"""Traces in words: where the ranks' time goes."""

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, extras
from weft.format import capital, format_seconds, percent, plural
from weft.words.row import Row

NAMES = {
    "waiting": "waiting for others", "moving": "moving data", "file": "file calls",
    "unknown": "unknown, in MPI", "computing": "computing",
}  # fmt: skip


def say(claim: ClaimRow) -> Row:
    """``Waiting for others: 41 % of the time   4 ranks on 2 nodes, 1.2 s``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", "no MPI call was recorded")
    share = f"{percent(claim['value'] or 0)} of the time"
    where = f"{plural(more['ranks'], 'rank')} on {plural(more['nodes'], 'node')}, {format_seconds(more['seconds'])}"
    if name == INCONCLUSIVE:
        return Row(claim["id"], "Inconclusive", f"{NAMES[more['what']]} {share}", where)
    return Row(claim["id"], capital(NAMES[name]), share, where)


def say_share(claim: ClaimRow) -> Row:
    """``Moving data: 20 % of the time``."""
    name = claim["id"].partition(".")[2]
    return Row(claim["id"], capital(NAMES[name]), f"{percent(claim['value'] or 0)} of the time")
