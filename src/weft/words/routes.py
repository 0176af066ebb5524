# SPDX-License-Identifier: BSD-3-Clause
"""Routes in words: what the failure of a cable does."""

from weft.analyse.tables.claims import ClaimRow, extras
from weft.fabric.nodeset import fold_for_people
from weft.format import plural
from weft.words.row import Row, factor_text

LABELS = {"cuts-off": "Cuts off hosts", "slows": "Slows most", "harmless": "Harmless", "bound": "At best"}


def say_failure(claim: ClaimRow) -> Row:
    """``Slows most   leaf0:19->spine0:1: all-to-all 1.99x slower   17 more cables alike``."""
    name, more = claim["id"].partition(".")[2], extras(claim)
    label, factor = LABELS[name], factor_text(claim["value"])
    if name == "harmless":
        return Row(claim["id"], label, f"no failure of {plural(more['cables'], 'cable')} slows an all-to-all")
    if name == "bound":
        return Row(claim["id"], label, factor, f"lower bound for any tables then: {more['cut']}", claim["next"])
    alike = f"{more['alike']:,} more alike" if more["alike"] else ""
    if name == "slows":
        return Row(claim["id"], label, f"{claim['subject']}: all-to-all {factor}", alike)
    hosts = f"{plural(len(more['hosts']), 'host')}, {fold_for_people(more['hosts'])}" if more["hosts"] else ""
    return Row(claim["id"], label, f"{claim['subject']}: {hosts or plural(more['pairs'], 'pair')}", alike)
