# SPDX-License-Identifier: BSD-3-Clause
"""A kernel without questions of its own: how many of its times were measured."""

from weft.analyse.claims.known import Known
from weft.analyse.tables.claims import ClaimRow, make_claim


def find_claims(known: Known) -> list[ClaimRow]:
    """One claim: the number of times."""
    timed = sum(row["status"] == "ok" and bool(row["samples"]) for row in known.rows)
    return [make_claim("plain.measured", "answer", known.plan.kernel, timed, "count", of=len(known.rows))]
