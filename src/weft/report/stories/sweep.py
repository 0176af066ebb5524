# SPDX-License-Identifier: BSD-3-Clause
"""What the stories of kernels that sweep over message sizes have in common: findings and fields from their lines."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from weft.analyse.checks import Finding, by_gravity
from weft.analyse.scaling import times
from weft.report.numbers import plural, seconds_text, size_text
from weft.report.story import Story
from weft.report.sweeps import Line, NamedChange, lines_of
from weft.report.view import RunView
from weft.tabular import Table


class SweepStory(Story):
    """Base of the stories of ``collective`` and ``bandwidth``. A view has one story, which reads its lines once."""

    _lines: tuple[Line, ...] | None = None

    def lines(self, view: RunView) -> tuple[Line, ...]:
        """Every line of the run."""
        if self._lines is None:
            self._lines = tuple(lines_of(view))
        return self._lines

    def name(self, line: Line) -> str:
        """A line's name in tables and findings."""
        return line.name

    def findings(self, view: RunView) -> list[Finding]:
        """The checks of any run, the change-overs and the sizes slower than their double."""
        told = [finding for line in self.lines(view) for finding in self._told(line)]
        return by_gravity([*super().findings(view), *told])

    def _told(self, line: Line) -> list[Finding]:
        where = f"{self.name(line)}, {line.place}"
        found = [Finding("note", "change-over", where, change_text(named), remedy(named)) for named in line.jumps]
        for slow in line.slower:
            what = f"{size_text(slow.size)} take {seconds_text(slow.seconds)}, {size_text(slow.double)} only "
            what += seconds_text(slow.double_seconds)
            cure = "the library changes its protocol or algorithm too late here: see the change-over points"
            found.append(Finding("note", "slower-than-double", where, what, cure))
        return found

    def fields(self, view: RunView) -> dict[str, Any]:
        """``change_overs`` and ``slower_than_double``."""
        lines = self.lines(view)
        shape = {line.cell.id: {"nodes": line.cell.nodes, "ranks": line.cell.ranks} for line in lines}
        changes = [named.as_json() for line in lines for named in line.changes]
        slower = [asdict(slow) for line in lines for slow in line.slower]
        for row in slower:
            row["call"] = row.pop("name")
        return {
            "change_overs": [row | shape[row["cell"]] for row in changes],
            "slower_than_double": [row | shape[row["cell"]] for row in slower],
        }


def change_text(named: NamedChange) -> str:
    """A change-over in words: where, how much, by which knob."""
    change = named.change
    span = f"between {size_text(change.lower)} and {size_text(change.upper)}"
    if change.kind == "bend":
        return f"what a byte costs changes {span}: {named.cause()}"
    way = "up" if change.factor > 1 else "down"
    factor = f"{times(change.factor)} ({times(change.low)}–{times(change.high)})"
    return f"the time steps {way} by a factor of {factor} {span}: {named.cause()}"


def remedy(named: NamedChange) -> str:
    """What to turn."""
    if named.knob:
        return f"{named.knob.names[0]}: {named.knob.what}; measure again with another value to see which side is better"
    return f"try {named.usual}" if named.usual else "look for thresholds in the library's manual"


def changes_clause(lines: Sequence[Line]) -> str:
    """How many change-overs were found, and how many a knob explains; empty for none."""
    jumps = [named for line in lines for named in line.jumps]
    if not jumps:
        return "no change-over point is found"
    named = sum(each.knob is not None for each in jumps)
    explained = "none of them at a known knob" if not named else f"{named} of them at a known knob"
    return f"{plural(len(jumps), 'change-over point')} {'is' if len(jumps) == 1 else 'are'} found, {explained}"


def existing(tables: Sequence[Table | None]) -> list[Table]:
    """The tables that there are."""
    return [table for table in tables if table is not None]
