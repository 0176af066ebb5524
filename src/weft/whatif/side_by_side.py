# SPDX-License-Identifier: BSD-3-Clause
"""Variants side by side: a table, bars, and JSON; each number with its level and that level's known error."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.analyse.tables.claims import QualityRow, grade_of
from weft.fabric.model import Fabric
from weft.fabric.presets import SHEET_ERRORS
from weft.format import format_seconds, measured_seconds, plural
from weft.report.bars import Bar, draw_bars
from weft.report.figures import Picture
from weft.report.tabular import Table, Words
from weft.whatif.variants import Variant


@dataclass(frozen=True)
class Level:
    """How a number was produced."""

    name: str  # ``simulated``, ``static loads`` or ``closed form``
    error: str  # what is known of its error, in words
    at_least: bool  # whether the true time may be any longer one
    share: float | None = None  # the largest known error as a share of the time; None where it is not known

    def text(self, number: str) -> str:
        """A time or a ratio, as a lower bound if it is one."""
        return f"at least {number}" if self.at_least else number

    def tree(self, seconds: float) -> dict[str, Any]:
        """A time for JSON."""
        return {"seconds": seconds, "at_least": self.at_least, "level": self.name, "known_error": self.error}


TRACED = Level("measured", "none: the traced run itself", False)  # the time where the application was traced
COMPUTATION = Level("closed form", "a lower bound: the busiest rank's computation", True)
"""The time that no network could improve on."""
STATIC = Level("static loads", "a lower bound: all-to-alls simulated on tara took 1.03 to 1.77 times as long", True)
"""The fullest link under the traced messages, or the busiest rank's computation if that is longer."""
FITTED = "3.5 % at most on all-to-alls of tara, fitted to three of them"
FITTED_ERROR, SHEET_ERROR = 0.035, 0.79


def simulated(fabric: Fabric) -> Level:
    """A replay on a machine: its error depends on whether numbers of the machine were fitted to measured times."""
    if any(source.startswith("fitted") for source in fabric.sources.values()):
        return Level("simulated", FITTED, at_least=False, share=FITTED_ERROR)
    model = fabric.simulation.model if fabric.simulation else "fair"
    return Level("simulated", f"not fitted: {SHEET_ERRORS[model]} (tara)", at_least=False, share=SHEET_ERROR)


ROUNDED = 0.005
"""By so much a simulated time may be below its bound: times of computing are rounded to ns, rates by the simulator."""


@dataclass(frozen=True)
class Outcome:
    """A variant, its time in s (or a bound of it), where that comes from, and why it was not simulated, if so."""

    variant: Variant
    folder: Path
    seconds: float
    level: Level
    reason: str = ""
    low_s: float | None = None
    high_s: float | None = None  # range of what the machine's model leaves out; None if it leaves out nothing
    bound_s: float = 0.0  # the longest lower bound of this variant: the busiest rank's computation, or its fullest link
    # of an unfitted machine: the range without that of its numbers, which all variants share
    own_s: tuple[float, float] | None = None

    @property
    def simulated_s(self) -> float | None:
        """The time if it is one and no bound, and no bound contradicts it."""
        return None if self.level.at_least or self.contradicted else self.seconds

    @property
    def contradicted(self) -> bool:
        """Whether it was simulated in less time than its bound, so that one of the two is wrong."""
        return not self.level.at_least and self.seconds < (1 - ROUNDED) * self.bound_s

    @property
    def range_s(self) -> tuple[float, float]:
        """From the least to the most that the model leaves open; the time twice where it leaves out nothing."""
        low_s, high_s = (self.seconds if end is None else end for end in (self.low_s, self.high_s))
        return low_s, high_s


@dataclass(frozen=True)
class SideBySide:
    """The answers of one question."""

    ranks: int  # of the application
    fabric: str  # the machine's name
    outcomes: list[Outcome]  # that of the unchanged machine first
    least: float  # time that no network could improve on, in s
    on: str = ""  # what was given as the machine, for commands that follow
    nothing_played: bool = False  # whether no call of the trace is replayed
    traced_s: float = 0.0  # what the application took where it was traced
    is_traced_machine: bool = False  # whether that was on this machine; only then the unchanged one is called today's
    doubts: tuple[QualityRow, ...] = ()  # those of the trace and of the machine

    @property
    def simulated(self) -> list[Outcome]:
        """The changed machines that have a simulated time."""
        return [each for each in self.outcomes[1:] if each.simulated_s is not None]

    def table(self) -> Table:
        """One row for each variant, and what no network could improve on."""
        unchanged = self.outcomes[0].simulated_s

        def row(words: str, seconds: float, level: Level, time: str = "") -> tuple[str, ...]:
            against = level.text(f"{seconds / unchanged:.3f}") if unchanged else "–"
            return words, time or level.text(format_seconds(seconds)), against, level.name, level.error

        rows = [row("as traced", self.traced_s, TRACED)] if self.traced_s else []
        for place, each in enumerate(self.outcomes):
            words = "today, simulated" if self.is_traced_machine and not place else each.variant.words
            ranged = measured_seconds(each.seconds, each.low_s, each.high_s) if each.high_s is not None else ""
            rows.append(row(words, each.seconds, each.level, ranged))
        rows.append(row("no network at all", self.least, COMPUTATION))
        title = f"What if: {plural(self.ranks, 'rank')} on {self.fabric} (simulated)"
        columns = (Words("what is changed"), "time", "against unchanged", Words("from"), Words("known error"))
        return Table(title, columns, tuple(rows))

    def draw(self) -> Picture:
        """Bars of all times, the shortest alternative marked; whiskers for a model's range, or its known error."""
        best = min((each.seconds for each in self.simulated), default=None)
        bars = [_bar(each, best=index > 0 and each.seconds == best) for index, each in enumerate(self.outcomes)]
        bars.append(Bar("no network at all", self.least, None, at_least=True))
        key = "Outlined: a lower bound. Whiskers: the range of the model, or its known error. Mark: lower bound."
        title = f"Time of {plural(self.ranks, 'rank')} on {self.fabric}, simulated"
        return draw_bars("whatif-bars", title, key, bars)

    def contradictions(self) -> list[str]:
        """A line for each variant that was simulated in less time than it can take."""
        return [
            f"{each.variant.words}: simulated in {format_seconds(each.seconds)}, and by its bound it takes "
            f"{format_seconds(each.bound_s)} at least: one of the two is wrong, so nothing is concluded from it"
            for each in self.outcomes
            if each.contradicted
        ]

    def as_tree(self) -> dict[str, Any]:
        """The numbers for JSON (schema ``weft-whatif/2``)."""
        rows = [
            {"variant": each.variant.name, "changed": each.variant.words, **each.level.tree(each.seconds),
             "low_s": each.low_s, "high_s": each.high_s, "run": each.folder.name}
            for each in self.outcomes
        ]  # fmt: skip
        return {
            "schema": "weft-whatif/2", "ranks": self.ranks, "traced_s": self.traced_s,
            "is_traced_machine": self.is_traced_machine, "confidence": grade_of(self.doubts), "variants": rows,
            "bound": COMPUTATION.tree(self.least),
        }  # fmt: skip


def _bar(each: Outcome, *, best: bool) -> Bar:
    error, low, high = each.level.share, each.low_s, each.high_s
    if high is None and error is not None:
        low, high = each.seconds * (1 - error), each.seconds * (1 + error)
    bound = each.bound_s if not each.level.at_least else None
    return Bar(each.variant.words, each.seconds, bound, low, high, at_least=each.level.at_least, best=best)
