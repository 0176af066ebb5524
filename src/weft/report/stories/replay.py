# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``replay``: one replay, or one for each way of placing the ranks, as bars."""

from weft.analyse.tables.times import timed
from weft.format import plural
from weft.report.bars import Bar, bar_of
from weft.report.view import RunView, Story


class ReplayStory(Story):
    """Every replay by its nodes."""

    def bars(self, view: RunView) -> list[Bar]:
        rows = sorted(timed(view.rows, phase="warm"), key=lambda row: (row["nodes"], row["ranks"]))
        return [bar_of(f"{plural(row['nodes'], 'node')}", row) for row in rows]


STORY = ReplayStory
