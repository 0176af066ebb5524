# SPDX-License-Identifier: BSD-3-Clause
"""The common part of the stories of kernels that sweep over message sizes: their lines, and fields from them."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.tables.answers import CHANGES, SLOWER, ChangeRow
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
    """How many change-overs were found, and what made them: a recorded switch of the algorithm, or perhaps a knob.

    Of causes nothing is said at quality D. What the table lists besides, without a step, is counted too.
    """
    jumps = [change for line in lines for change in line.jumps]
    if not jumps:
        bends = sum(change["kind"] == "bend" for line in lines for change in line.changes)
        bent = f" at which the time steps, {bends} at which its slope changes" if bends else ""
        return f"no change-over point is found{bent}"
    found = f"{plural(len(jumps), 'change-over point')} {'is' if len(jumps) == 1 else 'are'} found"
    causes = [] if grade == "D" else _causes(jumps)
    told = f"{found}, {'; '.join(causes)}" if causes else found
    more = sum(len(line.changes) for line in lines) - len(jumps)
    return f"{told} ({more} more in the table without a step of the time)" if more else told


def _causes(jumps: Sequence[ChangeRow]) -> list[str]:
    """What made some change-overs, each cause with its number."""
    switched = sum(bool(each["algorithm_after"]) for each in jumps)
    confirmed = sum(bool(each["confirmed"]) for each in jumps)
    possible = sum(bool(each["knobs"]) for each in jumps) - confirmed
    unknown = len(jumps) - switched - confirmed - possible
    counts = {
        "{} where the algorithm changes": switched,
        "{} at a knob, confirmed by moving it": confirmed,
        "perhaps {} at a knob, none of them confirmed": possible,
        "{} at no knob that Weft knows": unknown,
    }
    if len(jumps) == 1:
        counts = {text.replace("none of them", "not"): count for text, count in counts.items()}
    return [
        " ".join(text.format("" if len(jumps) == 1 else "all" if count == len(jumps) else count).split())
        for text, count in counts.items()
        if count
    ]


def existing(tables: Sequence[Table | None]) -> list[Table]:
    """The tables that are not None."""
    return [table for table in tables if table is not None]
