# SPDX-License-Identifier: BSD-3-Clause
"""What to change, one thing at a time, and the variants side by side: numbers with level and known error."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.analyse.tables.claims import QualityRow, grade_of
from weft.errors import StudyError
from weft.fabric.importing import as_toml
from weft.fabric.model import Fabric
from weft.fabric.presets import SHEET_ERRORS
from weft.format import format_seconds, measured_seconds, plural
from weft.report.bars import Bar, draw_bars
from weft.report.figures import Picture
from weft.report.tabular import Table, Words
from weft.trace.replay import Asked

ROUNDED = 0.005  # share of its bound that a time may be below it: computing is rounded to ns, rates by the simulator


@dataclass(frozen=True)
class Variant:
    """One thing changed."""

    name: str  # a word for its folder
    words: str  # what is changed, for a reader
    fabric: Fabric
    asked: Asked  # the replay


def refuse_real(fabric: Fabric) -> None:
    """StudyError for a fabric that is not simulated: real ones cannot be changed."""
    if not fabric.is_model:
        raise StudyError(
            f"{fabric.name} is of kind {fabric.kind}: its uplinks cannot be doubled",
            "describe it (weft fabric fit, weft fabric presets), or take a simulated one: --on tara",
        )


def variants(fabric: Fabric, ranks: int, nodes: int, alltoalls: int) -> tuple[list[Variant], list[str]]:
    """A machine's variants, unchanged first, and what was left out, why; StudyError as of :func:`refuse_real`."""
    refuse_real(fabric)
    asked, each, left_out = Asked(nodes), ranks // nodes, list[str]()
    found = [Variant("unchanged", "simulated, unchanged", fabric, asked)]
    if nodes == 1:
        left_out.append("other nodes, links, adapters and tables: on one node no message uses the network")
    elif nodes < len(fabric.hosts):
        found.append(Variant("placement", "the best nodes by the routes", fabric, replace(asked, place="best")))
    else:
        left_out.append("another placement: the application takes all nodes")
    if not alltoalls:
        left_out.append("a node-aware all-to-all: the trace has none that is replayed")
    elif each > 1 and nodes > 1:
        spec = f"node.multi{{nl={each}}}"
        found.append(Variant("all-to-all", f"all-to-alls by {spec}", fabric, replace(asked, alltoall=spec)))
    else:
        left_out.append("a node-aware all-to-all: it needs several ranks on each of several nodes")
    found += _machines(fabric, asked, left_out) if nodes > 1 else []
    if each % 2:
        left_out.append(f"half the ranks on a node: {plural(each, 'rank')} on each cannot be halved")
    elif 2 * nodes > len(fabric.hosts):
        left_out.append(f"half the ranks on a node: that takes {2 * nodes} nodes of {len(fabric.hosts)}")
    else:
        found.append(Variant("spread", "half the ranks on a node", fabric, replace(asked, nodes=2 * nodes)))
    return found, left_out


def _machines(fabric: Fabric, asked: Asked, left_out: list[str]) -> list[Variant]:
    network, found = fabric.network, list[Variant]()
    if network and (tree := network.tree):
        changed = {"uplinks": 2 * tree.uplinks, "spines": 2 * tree.spines if tree.spines else None}
        if tree.pod_uplinks:
            changed |= {"pod_uplinks": 2 * tree.pod_uplinks, "cores": 2 * tree.cores if tree.cores else None}
        doubled = with_network(fabric, "uplinks", tree=tree.model_copy(update=changed))
        found.append(Variant("uplinks", "twice the uplinks", doubled, asked))
    else:
        left_out.append("twice the uplinks: the network is no tree of the fabric file")
    if network and network.adapter_rate:
        faster = with_network(fabric, "adapter", adapter_rate=2 * network.adapter_rate)
        found.append(Variant("adapter", "adapters of twice the rate", faster, asked))
    else:
        left_out.append("a faster adapter: the fabric states no adapter_rate")
    return found


def with_network(fabric: Fabric, variant: str, **changes: Any) -> Fabric:
    """The machine with another network, and the text of a file that describes it, as its run keeps it."""
    section = fabric.network
    assert section is not None
    if (dump := changes.get("dump", section.dump)) is not None:
        beside = fabric.path.parent.resolve()
        files = {key: str(beside / name) for key in ("file", "tables", "names") if (name := getattr(dump, key))}
        changes["dump"] = dump.model_copy(update=files)
    sources = fabric.sources | {f"network.{key}": f"changed by weft whatif: {variant}" for key in changes}
    network, name = section.model_copy(update=changes), f"{fabric.name[:60]}-{variant}"
    changed = fabric.model_copy(update={"name": name, "network": network, "sources": sources})
    return changed.read_from(fabric.path, as_toml(changed))


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
        bars: list[Bar] = []
        for index, each in enumerate(self.outcomes):
            least, error, low, high = each.level.at_least, each.level.share, each.low_s, each.high_s
            if high is None and error is not None:
                low, high = each.seconds * (1 - error), each.seconds * (1 + error)
            bound, is_best = None if least else each.bound_s, index > 0 and each.seconds == best
            bars.append(Bar(each.variant.words, each.seconds, bound, low, high, at_least=least, best=is_best))
        bars.append(Bar("no network at all", self.least, None, at_least=True))
        key = "Outlined: a lower bound. Whiskers: the range of the model, or its known error. Mark: lower bound."
        return draw_bars("whatif-bars", f"Time of {plural(self.ranks, 'rank')} on {self.fabric}, simulated", key, bars)

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
