# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``replay``: how long a traced application's calls take here, beside what they took there."""

from weft.analyse.tables.times import timed
from weft.format import measured_seconds
from weft.report.stories.plain import PlainStory
from weft.report.view import RunView


class ReplayStory(PlainStory):
    """The replay beside the trace."""

    def line(self, view: RunView) -> str:
        """The time here, and that of the traced application."""
        rows = timed(view.rows, phase="warm")
        if not rows:
            return "Not replayed"
        traced = view.plan.cell(rows[-1]["cell"]).parameters["traced_ns"] / 1e9
        return f"{measured_seconds(rows[-1]['median_s'])} here, {measured_seconds(traced)} where it was traced"

    def finding(self, view: RunView) -> str:
        """Time of the replay, of the traced application, and of what that spent between calls."""
        rows = timed(view.rows, phase="warm")
        if not rows:
            return "The trace was not replayed: no cell has a time."
        row = rows[-1]
        values = view.plan.cell(row["cell"]).parameters
        traced, computed = (values[name] / 1e9 for name in ("traced_ns", "computed_ns"))
        return (
            f"The calls of {row['ranks']} ranks take {measured_seconds(row['median_s'])} here; the traced application "
            f"took {measured_seconds(traced)}, of which {measured_seconds(computed)} were between calls."
        )


STORY = ReplayStory
