# SPDX-License-Identifier: BSD-3-Clause
"""What would help, and how much at most: of the cell that answers first, then of the slowest call of each cell."""

from itertools import groupby

from weft.analyse.claims.known import Known
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.remedies import RemedyRow


def find_claims(known: Known, cell: str, call: str) -> list[ClaimRow]:
    """Remedies of a call, then those of the slowest call of each cell and every confirmed setting.

    What saves most comes first; calls of ranks that share cores come last.
    """
    listed = list(enumerate(known.remedies))
    chosen: list[tuple[int, RemedyRow]] = []
    for _, group in groupby(listed, key=lambda each: each[1]["cell"]):
        found = list(group)
        plain = [row for _, row in found if not row["setting"]]
        longest = max(plain or [row for _, row in found], key=lambda row: row["seconds"])["call"]
        chosen += [each for each in found if each[1]["call"] in (longest, call) or each[1]["setting"]]

    def order(each: tuple[int, RemedyRow]) -> tuple[bool, bool, float]:
        row = each[1]
        main = (row["cell"], row["call"]) == (cell, call)
        return not main, known.plan.cell(row["cell"]).oversubscribed, -row["saves_s"] / row["seconds"]

    return [_remedy(index, row) for index, row in sorted(chosen, key=order)]


def _remedy(index: int, row: RemedyRow) -> ClaimRow:
    return make_claim(
        f"remedy.{row['id']}", "remedy", row["subject"], row["saves_s"] / row["seconds"], "share", bound=row["saves_s"],
        cell=row["cell"], call=row["call"], evidence=[f"remedies:{index}"], seconds=row["seconds"], basis=row["basis"],
        floor_s=row["floor_s"], floor=row["floor"], ratio=row["ratio"], setting=row["setting"], nodes=row["nodes"],
        confidence="B" if row["setting"] else "A",
    )  # fmt: skip
