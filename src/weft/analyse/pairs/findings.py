# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the times of pairs: what is slow, inconsistent, or only sampled."""

from pathlib import Path

from weft.analyse.checks import finding
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.pairs import BLAME, CLASSES, NAMES, BlameRow, ClassRow, NameRow, largest
from weft.format import format_bytes, plural

REMEDIES = {
    "node": "check its adapter and cable (ibstat, perfquery, ethtool -S) and other load on it; "
    "placement.nodes in the study can leave it out",
    "memory": "compare its memory and processor frequency with its neighbours' (dmidecode, cpupower)",
    "link": "read the counters of both its ports (perfquery, ethtool -S) and swap the cable",
    "cable": "read the counters of both its ports (perfquery, ethtool -S) and swap the cable",
    "switch": "read its counters and temperature; all slow pairs cross it",
    "leaves": "check the routes between the two (weft fabric show) and the cables that they share",
    "route": "check the route between the two (weft fabric show)",
    "rank": "check what else runs on its core",
    "pair": "measure it again; check what only these two nodes share",
    "class": "pin the ranks another way, or measure with one rank on each socket, and see whether the groups follow",
}
AGAIN = "measure again on dedicated nodes, or with more launches"


def pair_findings(root: Path, *, named: bool = True) -> list[FindingRow]:
    """Findings of the largest placement, from the tables of pairs of a run; none where no pair was measured.

    Parameters
    ----------
    root
        The run folder.
    named
        Whether the run may name who is slow: at quality D it may not.
    """
    every = NAMES.read(root)
    if not every:
        return []
    names, blame = largest(every, every), largest(BLAME.read(root), every) if named else []
    classes = largest(CLASSES.read(root), every)
    return [*_blamed(blame, names), *_broken(classes), *_sampled(classes, sum(row["on_node"] for row in names))]


def standing_culprit(root: Path) -> bool:
    """Whether a run answers with a cause of slow pairs that stolen time could not have made."""
    every = NAMES.read(root)
    return bool(every) and any(not row["doubted"] for row in largest(BLAME.read(root), every))


def _blamed(blame: list[BlameRow], names: list[NameRow]) -> list[FindingRow]:
    found: list[FindingRow] = []
    for row in blame:
        where, _, what = row["statement"].partition(": ")
        level = "note" if row["kind"] == "class" or row["doubted"] else "warning"
        remedy = AGAIN if row["doubted"] else REMEDIES[row["kind"]]
        found.append(finding(level, f"slow-{row['kind']}", where, what, remedy))
    unknown = names[0]["unknown"]
    if unknown and len(names) > 1:
        what = f"hops and links are unknown: {unknown}"
        found.append(finding("note", "no-routes", "all pairs", what, "describe the network in the fabric file"))
    return found


def _broken(classes: list[ClassRow]) -> list[FindingRow]:
    """METHOD 20 for every pair."""
    remedy = "do not use these numbers; please report them with the run folder"
    return [
        finding(
            "error",
            "self-check",
            f"{format_bytes(row['bytes'])}, {row['mode']}, {row['class']}",
            f"{plural(row['broken'], 'pair')} of {row['pairs']:,} have quantiles out of order, or no samples",
            remedy,
        )
        for row in classes
        if row["broken"]
    ]


def _sampled(classes: list[ClassRow], ranks: int) -> list[FindingRow]:
    """Modes that measured only a sample of the pairs."""
    possible = ranks * (ranks - 1)
    found: list[FindingRow] = []
    for size, mode in sorted({(row["bytes"], row["mode"]) for row in classes}):
        count = sum(row["pairs"] for row in classes if (row["bytes"], row["mode"]) == (size, mode))
        if count < possible:
            what = f"{count:,} of {possible:,} pairs were measured"
            remedy = (
                "raise pairs.sample_rounds (pairs.sample_pairs, of one pair at a time) or the budget to measure more"
            )
            found.append(finding("note", "sample", f"{format_bytes(size)}, {mode}", what, remedy))
    return found
