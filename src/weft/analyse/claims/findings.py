# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the numbers as claims: those of one rule together, with their count and the worst of them."""

from weft.analyse.claims.known import Known
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.claims import ClaimRow, make_claim


def find_claims(known: Known) -> list[ClaimRow]:
    """A claim for each rule and level, the most severe first."""
    groups: dict[tuple[str, str], list[tuple[int, FindingRow]]] = {}
    for index, row in enumerate(known.findings):
        groups.setdefault((row["level"], row["rule"]), []).append((index, row))
    return [_finding(found) for found in groups.values()]


def _finding(found: list[tuple[int, FindingRow]]) -> ClaimRow:
    worst = found[0][1]
    return make_claim(
        f"finding.{worst['rule']}", "finding", worst["where"], len(found), "count",
        evidence=[f"findings:{index}" for index, _ in found], level=worst["level"], what=worst["what"],
        remedy=worst["remedy"],
    )  # fmt: skip
