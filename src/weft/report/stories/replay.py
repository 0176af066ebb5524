# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``replay``: one replay, or one for each way of placing the ranks, as bars."""

from weft.analyse.tables.times import holding_bound_s, timed
from weft.report.bars import Bar
from weft.report.stories.plain import PlainStory
from weft.report.view import RunView


class ReplayStory(PlainStory):
    """Every replay by its nodes."""

    def bars(self, view: RunView) -> list[Bar]:
        """Every replay by its nodes."""
        rows = sorted(timed(view.rows, phase="warm"), key=lambda row: (row["nodes"], row["ranks"]))
        return [Bar(f"N = {row['nodes']}", row["median_s"], holding_bound_s(row)) for row in rows]


STORY = ReplayStory
