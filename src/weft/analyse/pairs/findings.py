# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the times of pairs: what is slow, inconsistent, or only sampled."""

from collections import Counter
from pathlib import Path

from weft.analyse.checks import make_finding
from weft.analyse.outliers.matched import matched_rounds
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.pairs import CLASSES, NAMES, OUTLIERS, largest
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
    unknown, ranks = names[0]["unknown"], sum(row["on_node"] for row in names)
    found = [make_finding("no-routes", "all pairs", unknown=unknown)] if unknown and len(names) > 1 else []
    pairs, unjudged = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for row in classes:
        if row["broken"]:  # METHOD 20 for every pair
            where = f"{format_bytes(row['bytes'])}, {row['mode']}, {row['class']}"
            broken = plural(row["broken"], "pair")
            found.append(make_finding("self-check.pairs", where, broken=broken, pairs=row["pairs"]))
        pairs[row["bytes"], row["mode"]] += row["pairs"]
        if row["slow"] is None:  # pairs of ranks were too many to judge each
            unjudged[row["bytes"], row["mode"]] += row["pairs"]
    possible = 0 if matched_rounds(plan) else ranks * (ranks - 1)  # a check means to measure few
    for (size, mode), count in sorted(pairs.items()):
        if count < possible:
            found.append(make_finding("sample", f"{format_bytes(size)}, {mode}", count=count, possible=possible))
    if unjudged:
        found.append(make_finding("by-nodes", "all pairs", pairs=plural(max(unjudged.values()), "pair")))
    return found


def standing_outlier(root: Path) -> bool:
    """Whether a run answers with a cause of slow pairs that CPU steal could not have made."""
    every = NAMES.read(root)
    return bool(every) and any(not row["doubted"] for row in largest(OUTLIERS.read(root), every))
