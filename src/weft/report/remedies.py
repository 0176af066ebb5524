# SPDX-License-Identifier: BSD-3-Clause
"""What would help, as a table: after the verdict on every page."""

from itertools import groupby

from weft.analyse.tables.remedies import REMEDIES, RemedyRow
from weft.format import format_seconds
from weft.report.tabular import Table
from weft.report.view import RunView
from weft.report.why import call_title

MOST = 12
#: What saves less than this share of the time is not worth a sentence.
WORTH = 0.01
NOTHING = "Nothing in this run says what would help."
AT_D = "Nothing is advised: at quality D no cause is named."


def remedy_sentence(view: RunView, cell: str, call: str) -> str:
    """What would save most of a call's time, as something to try; empty where nothing is known."""
    own = [row for row in REMEDIES.read(view.path) if (row["cell"], row["call"]) == (cell, call)]
    if not own:
        return ""
    best = max(own, key=lambda row: row["saves_s"])
    if best["saves_s"] < WORTH * best["seconds"]:
        return ""
    return f"To try: {best['remedy']} (saves at most {100 * best['saves_s'] / best['seconds']:.0f} %)."


def remedy_table(view: RunView) -> Table | None:
    """Remedies of the slowest call of each cell, and every confirmed setting, what saves most of its time first.

    None where none is known, or the run is too doubtful to name a cause. Calls of ranks that shared cores come last, as
    verdicts leave them out.
    """
    if view.grade == "D":
        return None
    slowest: list[RemedyRow] = []
    for _, group in groupby(REMEDIES.read(view.path), key=lambda row: row["cell"]):
        found = list(group)
        plain = [row for row in found if not row["setting"]]
        longest = max(plain or found, key=lambda row: row["seconds"])["call"]
        slowest += [row for row in found if row["call"] == longest or row["setting"]]
    slowest.sort(key=lambda row: (view.plan.cell(row["cell"]).oversubscribed, -row["saves_s"] / row["seconds"]))
    rows = [
        (
            row["remedy"],
            call_title(view, row["cell"], row["call"]),
            format_seconds(row["seconds"]),
            f"{format_seconds(row['saves_s'])} ({100 * row['saves_s'] / row['seconds']:.0f} %)",
            row["basis"],
            row["why"],
        )
        for row in slowest[:MOST]
    ]
    if not rows:
        return None
    columns = ("change", "call", "takes", "saves at most", "known how", "because")
    units = ("", "", "", "", "", "")
    return Table(view.titled("What would help"), columns, (units, *rows), frozenset({0, 1, 4, 5}))
