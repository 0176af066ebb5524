# SPDX-License-Identifier: BSD-3-Clause
"""The common part of the stories of kernels that sweep over message sizes: their lines, and fields from them."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.tables.answers import CHANGES, SLOWER
from weft.analyse.tables.trials import TRIALS
from weft.format import plural
from weft.report.story import Story
from weft.report.sweeps import Line, lines_of
from weft.report.tabular import Table
from weft.report.view import RunView


class SweepStory(Story):
    """Base of the stories of ``collective`` and ``bandwidth``. A view has one story, which reads its lines once."""

    _lines: tuple[Line, ...] | None = None

    def lines(self, view: RunView) -> tuple[Line, ...]:
        """Every line of the run."""
        if self._lines is None:
            self._lines = tuple(lines_of(view))
        return self._lines

    def fields(self, view: RunView) -> dict[str, Any]:
        """``change_overs``, ``knob_trials`` and ``slower_than_double``."""
        tables = {"change_overs": CHANGES, "knob_trials": TRIALS, "slower_than_double": SLOWER}
        return {name: table.read(view.path) for name, table in tables.items()}


def changes_clause(lines: Sequence[Line], grade: str) -> str:
    """How many change-overs were found, and how many a knob explains, of which nothing is said at quality D."""
    jumps = [change for line in lines for change in line.jumps]
    if not jumps:
        bends = sum(change["kind"] == "bend" for line in lines for change in line.changes)
        bent = f" at which the time steps, {bends} at which its slope changes" if bends else ""
        return f"no change-over point is found{bent}"
    if grade == "D":
        return f"{plural(len(jumps), 'change-over point')} {'is' if len(jumps) == 1 else 'are'} found"
    named = sum(bool(each["knobs"]) for each in jumps)
    if len(jumps) == 1:
        return f"1 change-over point is found, {'' if named else 'not '}at a known knob"
    explained = "none" if not named else "all" if named == len(jumps) else f"{named}"
    return f"{len(jumps)} change-over points are found, {explained} of them at a known knob"


def existing(tables: Sequence[Table | None]) -> list[Table]:
    """The tables that are not None."""
    return [table for table in tables if table is not None]
