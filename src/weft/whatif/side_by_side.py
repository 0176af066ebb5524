# SPDX-License-Identifier: BSD-3-Clause
"""Variants side by side: a table, a sentence, and JSON; each number with its level and that level's known error."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.format import format_seconds, measured_seconds, plural
from weft.report.tabular import Table
from weft.whatif.levels import COMPUTATION, Level
from weft.whatif.variants import Variant

ALONE = 0.02
"""Differences below this are called none: a model's own roundness, and the drawing of rounds."""


@dataclass(frozen=True)
class Outcome:
    """A variant, its time in s (or a bound of it), where that comes from, and why it was not simulated, if so."""

    variant: Variant
    folder: Path
    seconds: float
    level: Level
    reason: str = ""
    low_s: float | None = None
    high_s: float | None = None
    """Range of what the machine's model leaves out; None if it leaves out nothing."""

    @property
    def simulated_s(self) -> float | None:
        """The time if it is one and no bound."""
        return None if self.level.at_least else self.seconds


@dataclass(frozen=True)
class SideBySide:
    """The answers of one question.

    Attributes
    ----------
    ranks, fabric
        Number of the application's ranks, and the machine's name.
    outcomes
        Today's first.
    least
        Time that no network could improve on, in s.
    """

    ranks: int
    fabric: str
    outcomes: list[Outcome]
    least: float

    def table(self) -> Table:
        """One row for each variant, and what no network could improve on."""
        today = self.outcomes[0].simulated_s
        named = [(each.variant.words, each.seconds, each.level, _time(each)) for each in self.outcomes]
        none = ("no network at all", self.least, COMPUTATION, f"at least {format_seconds(self.least)}")
        rows = [
            (words, time, _against(seconds, today, level), level.name, level.error)
            for words, seconds, level, time in (*named, none)
        ]
        title = f"What if: {plural(self.ranks, 'rank')} on {self.fabric} (simulated)"
        columns = ("what is changed", "time", "against today", "from", "known error")
        return Table(title, columns, tuple(rows), words=frozenset({0, 3, 4}))

    def sentence(self) -> str:
        """What helps most, by how much."""
        today = self.outcomes[0].simulated_s
        known = [(each.simulated_s, each.variant.words) for each in self.outcomes[1:] if each.simulated_s is not None]
        if today == 0:
            return "Nothing is shown: the replay takes no time, for the trace has no calls that are replayed."
        if today is None or not known:
            return "Nothing is shown: today's replay, or every other one, was not simulated."
        best, _ = min(known)
        words = " or ".join(words for seconds, words in known if seconds < (1 + ALONE) * best)
        most = f"No network could save more than {max(0.0, 1 - self.least / today):.0%}."
        if any(each.high_s is not None for each in self.outcomes):
            most += (
                " In brackets stand ranges of what the model leaves out: where two overlap, the network may turn their "
                "order."
            )
        if best > (1 - ALONE) * today:
            return f"Nothing that was tried saves {ALONE:.0%}. {most}"
        return f"What helps most: {words}, {1 - best / today:.0%} less time (simulated). {most}"

    def as_tree(self) -> dict[str, Any]:
        """The numbers for JSON (schema ``weft-whatif/1``)."""
        rows = [
            {"variant": each.variant.name, "changed": each.variant.words, **_tree(each.seconds, each.level),
             "low_s": each.low_s, "high_s": each.high_s, "run": each.folder.name}
            for each in self.outcomes
        ]  # fmt: skip
        bound = _tree(self.least, COMPUTATION)
        return {"schema": "weft-whatif/1", "ranks": self.ranks, "variants": rows, "bound": bound}


def _time(each: Outcome) -> str:
    if each.high_s is None:
        return f"{'at least ' if each.level.at_least else ''}{format_seconds(each.seconds)}"
    return measured_seconds(each.seconds, each.low_s, each.high_s)


def _against(seconds: float, today: float | None, level: Level) -> str:
    return f"{'at least ' if level.at_least else ''}{seconds / today:.3f}" if today else "–"


def _tree(seconds: float, level: Level) -> dict[str, Any]:
    return {"seconds": seconds, "at_least": level.at_least, "level": level.name, "known_error": level.error}
