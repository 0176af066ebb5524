# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``bandwidth``: one-way message rate, and the library's eager limit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.analyse.tables.answers import ChangeRow, factor_text, knobs_in_words
from weft.analyse.tables.times import TimedRow
from weft.format import exact_bytes, format_rate, measured_rate
from weft.kernel.line_name import line_name
from weft.report.headline import Number
from weft.report.stories.sweep import SweepStory, changes_clause, existing
from weft.report.sweep_tables import CHANGES, MOVED, change_table, rate_table, slower_table, trial_table
from weft.report.sweeps import Line, size_of
from weft.report.tabular import Table
from weft.report.view import RunView

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure


class BandwidthStory(SweepStory):
    """Peak rate, eager limit, and the rate on both sides of it."""

    streams = True

    def finding(self, view: RunView) -> str:
        """The peak rate of each pattern, hot or cold; those with the same one together, then that from memory."""
        lines = self.lines(view)
        if not lines:
            return "No message size has a time: no bandwidth was measured."
        best: dict[str, Line] = {}
        for line in lines:
            best[_ends(line)] = max(best.get(_ends(line), line), line, key=lambda each: rate(peak(each)))
        alike: dict[tuple[str, str], list[str]] = {}
        for line in best.values():
            alike.setdefault(self._peak(line), []).append(line.name)
        told = [f"{top} {', and '.join(names)}, with messages of {size}" for (top, size), names in alike.items()]
        told += [
            f"{self._from_memory(line)} {_ends(line)} from memory, at {exact_bytes(size_of(line.rows[-1]))}"
            for line in self._twice(lines)
        ]
        return f"Two ranks reach {'; '.join(told)}."

    def _twice(self, lines: tuple[Line, ...]) -> list[Line]:
        """The cold line of each pair that was measured hot, too: what codes get whose data is in no cache."""
        hot = {_ends(line) for line in lines if _cache(line) == "hot"}
        return [line for line in lines if _cache(line) == "cold" and _ends(line) in hot]

    def _from_memory(self, line: Line) -> str:
        """The rate of the largest messages: of smaller ones some may still be in a cache."""
        return measured_rate(size_of(line.rows[-1]), line.rows[-1]["median_s"])

    def cause(self, view: RunView) -> str:
        """The step that is perhaps the eager limit's, or surely if its knob was moved."""
        lines = self.lines(view)
        return self._limit(lines, view.grade) if lines else ""

    def _peak(self, line: Line) -> tuple[str, str]:
        """The highest rate, and at which size; from where on all larger ones reach half, and whether it still rises."""
        best = peak(line)
        short = [size_of(row) for row in line.rows if rate(row) < rate(best) / 2 and size_of(row) < size_of(best)]
        half = min((size_of(row) for row in line.rows if size_of(row) > max(short, default=-1)), default=0)
        notes = [f"at least half of that from {exact_bytes(half)} on"] if half < size_of(best) else []
        notes += ["the largest measured: it may rise further"] if best is line.rows[-1] else []
        size = exact_bytes(size_of(best)) + (f" ({'; '.join(notes)})" if notes else "")
        return measured_rate(size_of(best), best["median_s"]), size

    def _limit(self, lines: tuple[Line, ...], grade: str) -> str:
        limits = [(line, change) for line in lines for change in line.changes if change["eager_limit"]]
        if not limits:
            text = changes_clause(lines, grade)
            return f"{text[0].upper()}{text[1:]}; no eager limit shows in the times."
        sentences: dict[str, str] = {}
        for line, change in limits:  # a pair has the same limit hot and cold: sentences once
            sentences.setdefault(
                str(line.cell.parameters["members"]), f"{line.name.capitalize()}: {limit_text(change)}"
            )
        return " ".join(list(sentences.values())[:2])

    def line(self, view: RunView) -> str:
        """The highest rate: over the network, if any was measured there."""
        lines = self.lines(view)
        if not lines:
            return "No bandwidth was measured"
        best, where = self._best(lines)
        return f"Two ranks reach {best} {where}{self._beside(lines)}"

    def numbers(self, view: RunView) -> list[Number]:
        """The highest rate, and the eager limit where one was found."""
        lines = self.lines(view)
        if not lines:
            return []
        limits = [change for line in lines for change in line.changes if change["eager_limit"]]
        limit = next(iter(sorted(limits, key=lambda change: not change["confirmed"])), None)
        found: list[Number] = []
        if limit:
            sure = (
                "the eager limit lies between"
                if limit["confirmed"]
                else "the time steps between, perhaps at the eager limit"
            )
            found = [(f"{exact_bytes(limit['lower'])} to {exact_bytes(limit['upper'])}", sure)]
        best, where = self._best(lines)
        return [(best, f"highest rate of two ranks {where}{self._beside(lines)}"), *found]

    def _beside(self, lines: tuple[Line, ...]) -> str:
        """The rate from memory, to stand beside that in cache; empty where only one of them was measured."""
        most = max(line.cell.nodes > 1 for line in lines)
        cold = [line for line in self._twice(lines) if (line.cell.nodes > 1) == most]
        return f", {self._from_memory(max(cold, key=lambda line: rate(line.rows[-1])))} from memory" if cold else ""

    def _best(self, lines: tuple[Line, ...]) -> tuple[str, str]:
        """The highest rate, and where: memory is faster than the network, which is what the question is about."""
        between = [line for line in lines if line.cell.nodes > 1]
        best = max((peak(line) for line in between or lines), key=rate)
        return measured_rate(size_of(best), best["median_s"]), "between nodes" if between else "on one node"

    def tables(self, view: RunView) -> list[Table]:
        """Rates by size and pattern, change-overs, sizes slower than their double."""
        lines = self.lines(view)
        names = [line.name for line in lines]
        if not lines:
            return []
        return existing(
            [
                change_table(
                    view.titled(CHANGES), lines, names, view.grade, modelled=view.plan.planned_fabric.is_model
                ),
                trial_table(view.titled(MOVED), lines, names),
                rate_table(view.titled(f"One-way rate, up to {_window(lines)} messages in flight"), lines, names),
                slower_table(view.titled("Messages slower than their double"), lines, names),
            ]
        )

    def figures(self, view: RunView) -> "list[Figure | Picture]":
        """Rate and time against size."""
        from weft.report.figures.sizes import KEY, RATE_KEY, Drawn, size_panel
        from weft.report.figures.theme import Figure

        drawn = [Drawn(line, line.name) for line in self.lines(view)]
        if not drawn:
            return []
        reading = self.finding(view)
        rates = size_panel(drawn, "rate", small=False)
        costs = size_panel(drawn, "time", small=False)
        said = changes_clause(self.lines(view), view.grade)
        key = (
            f"The reciprocal of the rate, with up to {_window(self.lines(view))} messages in flight: no latency. {KEY}"
        )
        return [
            Figure("bandwidth", view.titled("Bandwidth against message size"), RATE_KEY, reading, (rates,)),
            Figure(
                "message-time",
                view.titled("Time of a window over its messages"),
                key,
                f"{said[0].upper()}{said[1:]}.",
                (costs,),
            ),
        ]


def rate(row: TimedRow) -> float:
    """Bytes per second of a row."""
    return size_of(row) / row["median_s"]


def peak(line: Line) -> TimedRow:
    """The row with the highest rate."""
    return max(line.rows, key=rate)


def _window(lines: Sequence[Line]) -> int:
    """Messages in flight, at most."""
    return max(line.cell.parameters["window"] for line in lines)


def _cache(line: Line) -> str:
    return str(line.cell.parameters.get("cache", ""))


def _ends(line: Line) -> str:
    """The name of a line's pair, from cache or from memory."""
    return line_name(line.call, {**line.cell.parameters, "cache": ""})


def limit_text(change: ChangeRow) -> str:
    """The step at an eager limit in words: where, perhaps or surely by which knob, how time and rate change."""
    step = "grows" if (change["factor"] or 0) > 1 else "falls"
    before, after = (
        f"at {format_rate(each)}" if each else "free" for each in (change["before_rate"], change["after_rate"])
    )
    knobs = knobs_in_words(change)
    made = f"at the eager limit {knobs}, confirmed" if change["confirmed"] else f"perhaps at the eager limit {knobs}"
    text = f"between {exact_bytes(change['lower'])} and {exact_bytes(change['upper'])}, {made}, the time of a message "
    text += f"{step} to {factor_text(change)} times what smaller sizes lead to expect"
    return text + f"; each further byte goes {after}, before it {before}."


STORY = BandwidthStory
