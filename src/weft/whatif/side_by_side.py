# SPDX-License-Identifier: BSD-3-Clause
"""Variants side by side: a table, a sentence, and JSON; each number with its level and that level's known error."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.analyse.tables.quality import Grade
from weft.fabric.model import Fabric
from weft.fabric.presets import SHEET_ERRORS
from weft.format import format_seconds, measured_seconds, plural
from weft.report.tabular import Table, Words
from weft.whatif.variants import Variant


@dataclass(frozen=True)
class Level:
    """How a number was produced."""

    name: str  # ``simulated``, ``static loads`` or ``closed form``
    error: str  # what is known of its error, in words
    at_least: bool  # whether the true time may be any longer one


TRACED = Level("measured", "none: it is the traced run itself", False)  # the time where the application was traced
COMPUTATION = Level("closed form", "a lower bound: the busiest rank's computation as traced, nothing modelled", True)
"""The time that no network could improve on."""
STATIC = Level(
    "static loads",
    "a lower bound: the fullest link's bytes; simulated all-to-alls on tara took 1.03 to 1.77 times as long",
    True,
)
"""The fullest link under the traced messages, or the busiest rank's computation if that is longer."""
FITTED = "3.5% at most on tara's all-to-alls, the machine fitted to three of them; else not known"


def simulated(fabric: Fabric) -> Level:
    """A replay on a machine: its error depends on whether numbers of the machine were fitted to measured times."""
    if any(source.startswith("fitted") for source in fabric.sources.values()):
        return Level("simulated", FITTED, at_least=False)
    model = fabric.simulation.model if fabric.simulation else "fair"
    error = f"not fitted: {SHEET_ERRORS[model]} on tara's all-to-alls, from data sheets alone"
    return Level("simulated", error, at_least=False)


ALONE = 0.02  # differences below this are called none: a model's own roundness, and the drawing of rounds


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
        return (
            self.seconds if self.low_s is None else self.low_s,
            self.seconds if self.high_s is None else self.high_s,
        )


@dataclass(frozen=True)
class SideBySide:
    """The answers of one question."""

    # ranks, fabric: number of the application's ranks, and the machine's name
    ranks: int
    fabric: str
    outcomes: list[Outcome]  # that of the unchanged machine first
    least: float  # time that no network could improve on, in s
    nothing_played: bool = False  # whether no call of the trace is replayed
    traced_s: float = 0.0  # what the application took where it was traced
    is_traced_machine: bool = False  # whether that was on this machine; only then the unchanged one is called today's
    # confidence, because: those that the trace leaves to its replays
    confidence: Grade = "A"
    because: str = ""

    def table(self) -> Table:
        """One row for each variant, and what no network could improve on."""
        unchanged = self.outcomes[0].simulated_s
        named = [(each.variant.words, each.seconds, each.level, _time(each)) for each in self.outcomes]
        if self.is_traced_machine:
            named[0] = ("today, simulated", *named[0][1:])
        if self.traced_s:
            named.insert(0, ("as traced", self.traced_s, TRACED, format_seconds(self.traced_s)))
        none = ("no network at all", self.least, COMPUTATION, f"at least {format_seconds(self.least)}")
        rows = [
            (words, time, _against(seconds, unchanged, level), level.name, level.error)
            for words, seconds, level, time in (*named, none)
        ]
        title = f"What if: {plural(self.ranks, 'rank')} on {self.fabric} (simulated)"
        columns = (Words("what is changed"), "time", "against unchanged", Words("from"), Words("known error"))
        return Table(title, columns, tuple(rows))

    def sentence(self) -> str:
        """What helps most, by how much."""
        unchanged = self.outcomes[0].simulated_s
        known = [each for each in self.outcomes[1:] if each.simulated_s is not None]
        if self.nothing_played:
            return "Nothing is shown: the trace has no calls that are replayed."
        if not unchanged or not known:
            return "Nothing is shown: the replay on the unchanged machine, or every other one, has no simulated time."
        if self.confidence == "D":
            return f"Inconclusive: confidence D ({self.because})."
        best = min(known, key=lambda each: each.seconds)
        if best.seconds > (1 - ALONE) * unchanged:
            tried = "was tried" if len(known) + 1 == len(self.outcomes) else "was simulated"
            return " ".join((f"Nothing that {tried} saves {ALONE:.0%}.", *self._around(unchanged)))
        words = " or ".join(each.variant.words for each in known if each.seconds <= (1 + ALONE) * best.seconds)
        most = "What helps most" if len(known) + 1 == len(self.outcomes) else "Of what was simulated, helps most"
        saved = f"{most}: {words}, {1 - best.seconds / unchanged:.0%} less time (simulated)."
        if best.range_s[1] > self.outcomes[0].range_s[0]:
            saved += " By the ranges of what the model leaves out it may as well save nothing."
        return " ".join((saved, "How far such shares are off is not known.", *self._around(unchanged)))

    def _around(self, unchanged: float) -> list[str]:
        said: list[str] = []
        if self.confidence != "A":
            said.append(f"Confidence: {self.confidence} ({self.because}).")
        if self.least > 0:
            said.append(f"No network could save more than {max(0.0, 1 - self.least / unchanged):.0%}.")
        if any(each.high_s is not None for each in self.outcomes):
            said.append(
                "In brackets: the range of what the model leaves out, and of numbers that were not fitted. "
                "Where two ranges overlap, their order is open."
            )
        return said

    def contradictions(self) -> list[str]:
        """A line for each variant that was simulated in less time than it can take."""
        return [
            f"{each.variant.words}: simulated in {format_seconds(each.seconds)}, and by its bound it takes "
            f"{format_seconds(each.bound_s)} at least: one of the two is wrong, so nothing is concluded from it"
            for each in self.outcomes
            if each.contradicted
        ]

    def as_tree(self) -> dict[str, Any]:
        """The numbers for JSON (schema ``weft-whatif/1``)."""
        rows = [
            {"variant": each.variant.name, "changed": each.variant.words, **_tree(each.seconds, each.level),
             "low_s": each.low_s, "high_s": each.high_s, "run": each.folder.name}
            for each in self.outcomes
        ]  # fmt: skip
        bound = _tree(self.least, COMPUTATION)
        return {
            "schema": "weft-whatif/1", "ranks": self.ranks, "traced_s": self.traced_s,
            "is_traced_machine": self.is_traced_machine, "confidence": self.confidence, "because": self.because,
            "variants": rows, "bound": bound,
        }  # fmt: skip


def _time(each: Outcome) -> str:
    if each.high_s is None:
        return f"{'at least ' if each.level.at_least else ''}{format_seconds(each.seconds)}"
    return measured_seconds(each.seconds, each.low_s, each.high_s)


def _against(seconds: float, unchanged: float | None, level: Level) -> str:
    return f"{'at least ' if level.at_least else ''}{seconds / unchanged:.3f}" if unchanged else "–"


def _tree(seconds: float, level: Level) -> dict[str, Any]:
    return {"seconds": seconds, "at_least": level.at_least, "level": level.name, "known_error": level.error}
