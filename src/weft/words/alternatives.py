# SPDX-License-Identifier: BSD-3-Clause
"""Alternatives of one machine in words: which of them helps, and by how much."""

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, extras
from weft.format import percent, plural
from weft.words.row import Row, factor_text

REASONS = {
    "nothing-replayed": "the trace has no call that is replayed",
    "not-simulated": "the unchanged machine, or every alternative, has no simulated time",
}
LABELS = {"helps": "Helps most", INCONCLUSIVE: "Inconclusive", "nothing-helps": "Nothing helps"}


def say(claim: ClaimRow) -> Row:
    """``Helps most   twice the uplinks: 2x faster (simulated)``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", REASONS[more["reason"]])
    tried = f"{plural(more['simulated'], 'alternative')} simulated"
    tried += f", {more['of'] - more['simulated']} only bounded" if more["of"] > more["simulated"] else ""
    if claim["value"] is None:
        return Row(claim["id"], LABELS[name], f"no alternative saves {percent(more['least_share'])} of the time", tried)
    also = "the ranges overlap; " if more.get("overlaps") else ""
    value = factor_text(claim["value"], claim["low"], claim["high"])
    return Row(claim["id"], LABELS[name], f"{claim['subject']}: {value}", f"{also}{tried}")


def say_alternative(claim: ClaimRow) -> Row:
    """``Alternative   twice the uplinks: 2x faster``."""
    value = factor_text(claim["value"], claim["low"], claim["high"])
    return Row(claim["id"], "Alternative", f"{claim['subject']}: {value}")
