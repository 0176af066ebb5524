# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``probe``: the times from which `weft tune --probe` finds the numbers of the cost model."""

from weft.analyse.tables.times import TimedRow, timed
from weft.format import exact_bytes, measured_seconds, plural
from weft.kernel.sizes import split_op
from weft.report.stories.plain import PlainStory
from weft.report.view import RunView


class ProbeStory(PlainStory):
    """The short message, and how to get the rest."""

    def line(self, view: RunView) -> str:
        """The time of the short message."""
        found = _trip(view)
        return f"{measured_seconds(found[0]['median_s'])} one way" if found else "No message was timed"

    def finding(self, view: RunView) -> str:
        """Time of a short message one way, between as many nodes as there are."""
        found = _trip(view)
        if found is None:
            return "No message was timed: this run tells nothing of the cost model."
        row, size = found
        return (
            f"A message of {exact_bytes(size)} takes {measured_seconds(row['median_s'])} one way, half of a round "
            f"trip, on {plural(row['nodes'], 'node')}. `weft tune --probe` makes the model's numbers of these times."
        )


def _trip(view: RunView) -> tuple[TimedRow, int] | None:
    """Row and size in bytes of the short message between the most nodes."""
    found = (
        (row, size)
        for row in timed(view.rows, phase="warm")
        if row["call"].startswith("trip") and (size := split_op(row["call"])[1]) is not None
    )
    return max(found, key=lambda each: each[0]["nodes"], default=None)


STORY = ProbeStory
