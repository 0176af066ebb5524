# SPDX-License-Identifier: BSD-3-Clause
"""The common part of the stories of kernels that sweep over message sizes: their lines, and fields from them."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.tables.answers import CHANGES, SLOWER
from weft.analyse.tables.sweeps import Line, lines_of
from weft.analyse.tables.trials import TRIALS
from weft.report.story import Story
from weft.report.tabular import Table
from weft.report.view import RunView


class SweepStory(Story):
    """Base of the stories of ``collective`` and ``bandwidth``. A view has one story, which reads its lines once."""

    _lines: tuple[Line, ...] | None = None

    def lines(self, view: RunView) -> tuple[Line, ...]:
        """Every line of the run."""
        if self._lines is None:
            self._lines = tuple(lines_of(view.path, view.plan, view.rows))
        return self._lines

    def fields(self, view: RunView) -> dict[str, Any]:
        """``change_overs``, ``knob_trials`` and ``slower_than_double``."""
        tables = {"change_overs": CHANGES, "knob_trials": TRIALS, "slower_than_double": SLOWER}
        return {name: table.read(view.path) for name, table in tables.items()}


def existing(tables: Sequence[Table | None]) -> list[Table]:
    """The tables that are not None."""
    return [table for table in tables if table is not None]
