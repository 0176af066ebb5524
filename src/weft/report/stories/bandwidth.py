# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``bandwidth``: one-way message rate, and the library's eager limit."""

from typing import TYPE_CHECKING

from weft.analyse.tables.answers import ChangeRow
from weft.analyse.tables.times import TimedRow
from weft.format import exact_bytes, format_rate, measured_factor, measured_rate
from weft.kernel.line_name import line_name
from weft.report.headline import Number
from weft.report.stories.sweep import SweepStory, changes_clause, existing
from weft.report.sweep_tables import CHANGES, MOVED, change_table, rate_table, slower_table, trial_table
from weft.report.sweeps import Line, cause, size_of
from weft.report.tabular import Table
from weft.report.view import RunView

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure


class BandwidthStory(SweepStory):
    """Peak rate, eager limit, and the rate on both sides of it."""

    def finding(self, view: RunView) -> str:
        """The peak rate of each pattern, hot or cold; those with the same one together."""
        lines = self.lines(view)
        if not lines:
            return "No message size has a time: no bandwidth was measured."
        best: dict[str, Line] = {}
        for line in lines:
            ends = line_name(line.call, {**line.cell.parameters, "cache": ""})
            best[ends] = max(best.get(ends, line), line, key=lambda each: rate(peak(each)))
        alike: dict[tuple[str, str], list[str]] = {}
        for line in best.values():
            alike.setdefault(self._peak(line), []).append(line.name)
        told = [f"{top} {', and '.join(names)}, with messages of {size}" for (top, size), names in alike.items()]
        return f"Two ranks reach {'; '.join(told)}."

    def cause(self, view: RunView) -> str:
        """The eager limit, if found."""
        lines = self.lines(view)
        return self._limit(lines, view.grade) if lines else ""

    def _peak(self, line: Line) -> tuple[str, str]:
        """The highest rate, and at which size."""
        best = peak(line)
        half = next(row for row in line.rows if rate(row) >= rate(best) / 2)
        size = exact_bytes(size_of(best))
        size += f" (half of that from {exact_bytes(size_of(half))})" if size_of(half) < size_of(best) else ""
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
        return f"Two ranks reach {best} {where}"

    def numbers(self, view: RunView) -> list[Number]:
        """The highest rate, and the eager limit where one was found."""
        lines = self.lines(view)
        if not lines:
            return []
        limit = next((change for line in lines for change in line.changes if change["eager_limit"]), None)
        found = (
            [(f"{exact_bytes(limit['lower'])} to {exact_bytes(limit['upper'])}", "the eager limit lies between")]
            if limit
            else []
        )
        best, where = self._best(lines)
        return [(best, f"highest rate of two ranks {where}"), *found]

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
                change_table(view.titled(CHANGES), lines, names, named=view.grade != "D"),
                trial_table(view.titled(MOVED), lines, names),
                rate_table(view.titled("One-way rate, many messages in flight"), lines, names),
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
        return [
            Figure("bandwidth", view.titled("Bandwidth against message size"), RATE_KEY, reading, (rates,)),
            Figure("message-time", view.titled("Time of one message"), KEY, f"{said[0].upper()}{said[1:]}.", (costs,)),
        ]


def rate(row: TimedRow) -> float:
    """Bytes per second of a row."""
    return size_of(row) / row["median_s"]


def peak(line: Line) -> TimedRow:
    """The row with the highest rate."""
    return max(line.rows, key=rate)


def limit_text(change: ChangeRow) -> str:
    """The eager limit in words: where, by which knob, and how time and rate change."""
    step = "grows" if change["factor"] > 1 else "falls"
    before, after = (
        f"at {format_rate(each)}" if each else "free" for each in (change["before_rate"], change["after_rate"])
    )
    text = f"the eager limit is found between {exact_bytes(change['lower'])} and {exact_bytes(change['upper'])}, "
    text += f"{cause(change)}; there the time of a message {step} by a factor of "
    text += measured_factor(change["factor"], change["low"], change["high"])
    return text + f"; each further byte goes {after}, before it {before}."


STORY = BandwidthStory
