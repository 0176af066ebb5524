# SPDX-License-Identifier: BSD-3-Clause
"""Remedies in words: one thing to try, and how much it saves at most."""

from typing import Any

from weft.analyse.tables.claims import ClaimRow, extras
from weft.bound.terms import LINK
from weft.format import format_seconds, percent, times_text
from weft.words.row import Row, name_part

TEXTS = {
    "cheaper-messages": "lower per-message cost: check {subject}",
    "placement": "another placement or other routes",
    "rank-order": "another order of ranks on the node",
    "plain-rounds": "another algorithm: plain rounds ({subject}) are faster",
    "late-ranks": "remove the late arrival of ranks",
    "algorithm": "the algorithm {subject}",
    "algorithms": 'compare the algorithms of {subject}: algorithms = "each" in its study',
    "second-cable": "a second cable for the {link}",
    "faster-adapter": "an adapter twice as fast",
    "spread-ranks": "half as many ranks per node on twice the nodes",
    "node-messages": 'one message per node: weft exec --force "{subject}"',
    "half-overhead": "half the processor time per message{stated}",
    "half-gap": "half the adapter time per message{stated}",
    "half-latency": "half the latency{stated}",
    "network": "a better network",
    "memory": "faster memory within the node",
    "balance": "an even share of computing",
    "all-to-all": "a faster all-to-all",
    "table": "the selection table {subject}",
    "knob": "set {subject}",
    "fewer-messages": "fewer and larger messages",
    "fewer-senders": "fewer ranks that send at once",
    "tune": "tune the calls of your application",
    "whatif": "change one thing of a simulated machine at a time",
    "faster-processors": "faster processors: the network has little left to save",
}
BASES = {"measured": "measured", "simulated": "simulated", "only bounded": "upper bound"}


def say(claim: ClaimRow) -> Row:
    """``a second cable leaf0-spine0: saves at most 36 %``."""
    more, name = extras(claim), claim["id"].partition(".")[2]
    text = TEXTS.get(name, "{subject}").format(
        subject=claim["subject"], stated=_stated(claim["subject"]), link=name_part(f"{LINK}{claim['subject']}")
    )
    most = "" if claim["bound"] is None else "at most "
    saves = f": saves {most}{percent(claim['value'])}" if claim["value"] is not None else ""
    return Row(claim["id"], "Try", f"{text}{saves}", _reason(more), claim["next"])


def _stated(keys: str) -> str:
    return f" ({keys})" if keys else ""


def _reason(more: dict[str, Any]) -> str:
    if "computing_s" in more:
        moving = f" and transfers of {format_seconds(more['moving_s'])}" if more["moving_s"] else ""
        return f"at least {format_seconds(more['computing_s'])} of computing{moving} remain"
    if more.get("floor_s"):
        return f"the bound becomes {format_seconds(more['floor_s'])}, {name_part(more['floor'])}"
    if more.get("ratio"):
        return f"{BASES[more['basis']]}: {times_text(more['ratio'])} the time"
    return BASES.get(more.get("basis", ""), "")
