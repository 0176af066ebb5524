# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the times of pairs: what is slow, inconsistent, or only sampled."""

from pathlib import Path

from weft.analyse.checks import make_finding
from weft.analyse.outliers.matched import matched_rounds
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.pairs import CLASSES, NAMES, OUTLIERS, ClassRow, NameRow, largest
from weft.format import format_bytes, plural
from weft.plan.records import Plan

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


def pair_findings(root: Path, plan: Plan) -> list[FindingRow]:
    """Findings of the largest placement, from the tables of pairs of a run; none where no pair was measured."""
    every = NAMES.read(root)
    if not every:
        return []
    names, classes = largest(every, every), largest(CLASSES.read(root), every)
    ranks = sum(row["on_node"] for row in names)
    sampled = [] if matched_rounds(plan) else _sampled(classes, ranks)  # a check means to measure few
    return [*_unknown(names), *_broken(classes), *sampled, *_by_nodes(classes)]


def standing_outlier(root: Path) -> bool:
    """Whether a run answers with a cause of slow pairs that CPU steal could not have made."""
    every = NAMES.read(root)
    return bool(every) and any(not row["doubted"] for row in largest(OUTLIERS.read(root), every))


def _unknown(names: list[NameRow]) -> list[FindingRow]:
    """That no link can be named."""
    unknown = names[0]["unknown"]
    if not unknown or len(names) < 2:
        return []
    return [make_finding("no-routes", "all pairs", unknown=unknown)]


def _broken(classes: list[ClassRow]) -> list[FindingRow]:
    """METHOD 20 for every pair."""
    return [
        make_finding(
            "self-check.pairs",
            f"{format_bytes(row['bytes'])}, {row['mode']}, {row['class']}",
            broken=plural(row["broken"], "pair"),
            pairs=row["pairs"],
        )
        for row in classes
        if row["broken"]
    ]


def _by_nodes(classes: list[ClassRow]) -> list[FindingRow]:
    """That pairs of ranks were too many to judge each."""
    counts: dict[tuple[int, str], int] = {}
    for row in classes:
        if row["slow"] is None:
            counts[row["bytes"], row["mode"]] = counts.get((row["bytes"], row["mode"]), 0) + row["pairs"]
    return [make_finding("by-nodes", "all pairs", pairs=plural(max(counts.values()), "pair"))] if counts else []


def _sampled(classes: list[ClassRow], ranks: int) -> list[FindingRow]:
    """Modes that measured only a sample of the pairs."""
    possible = ranks * (ranks - 1)
    found: list[FindingRow] = []
    for size, mode in sorted({(row["bytes"], row["mode"]) for row in classes}):
        count = sum(row["pairs"] for row in classes if (row["bytes"], row["mode"]) == (size, mode))
        if count < possible:
            where = f"{format_bytes(size)}, {mode}"
            found.append(make_finding("sample", where, count=count, possible=possible))
    return found
