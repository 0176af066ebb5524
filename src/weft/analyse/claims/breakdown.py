# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown of each all-to-all: hardware, messages, contention, algorithm, arrival."""

from weft.analyse.claims.known import Known
from weft.analyse.tables.breakdown import BreakdownRow
from weft.analyse.tables.claims import ClaimRow, make_claim


def find_claims(known: Known) -> list[ClaimRow]:
    """A claim for each step of each call, from the floor up; calls of ranks that share cores come last."""
    rows = list(enumerate(known.breakdown))
    rows.sort(key=lambda each: known.plan.cell(each[1]["cell"]).oversubscribed)
    return [_step(index, row) for index, row in rows]


def _step(index: int, row: BreakdownRow) -> ClaimRow:
    first = row["factor"] is None
    value, unit = (row["seconds"], "seconds") if row["factor"] is None else (row["factor"], "factor")
    ends = (row["low"], row["high"]) if first else (row["factor_low"], row["factor_high"])
    return make_claim(
        f"breakdown.{row['step']}", "breakdown", row["name"], value, unit, ends, cell=row["cell"], call=row["call"],
        evidence=[f"breakdown:{index}"], seconds=row["seconds"], mover=row["mover"], effect=row["effect"],
    )  # fmt: skip
