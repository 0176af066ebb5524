# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``replay``: how long a traced application takes here, beside what it took there, and in what."""

from weft.analyse.tables.times import TimedRow, holding_bound_s, timed
from weft.format import format_seconds, measured_factor, measured_seconds, plural
from weft.report.bars import Bar
from weft.report.headline import Number
from weft.report.links import held_back_sentence
from weft.report.stories.plain import PlainStory
from weft.report.view import RunView

#: A replay this close to the trace took the same time.
SAME = 0.005
#: From this share of the time on, computation is what most of it goes to.
MOST = 0.5


class ReplayStory(PlainStory):
    """The replay beside the trace: one cell, or one for each way of placing the ranks."""

    def line(self, view: RunView) -> str:
        """The time here, and that of the traced application."""
        row = _fastest(view)
        if row is None:
            return "Not replayed"
        time = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
        return f"{time} here, {format_seconds(_traced_s(view, row))} where it was traced"

    def finding(self, view: RunView) -> str:
        """Time of the replay beside that of the traced application; of several, the fastest and the slowest."""
        row, rows = _fastest(view), timed(view.rows, phase="warm")
        if row is None:
            return "The trace was not replayed: no cell has a time."
        time = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
        text = f"The application's {plural(row['ranks'], 'rank')} take {time} here, {_beside(view, row)}"
        if len(rows) == 1:
            return f"{text}."
        slowest = max(rows, key=lambda each: each["median_s"])
        return (
            f"{text}, placed on {plural(row['nodes'], 'node')}; the slowest of {len(rows)} replays takes "
            f"{measured_seconds(slowest['median_s'], slowest['low_s'], slowest['high_s'])} "
            f"on {plural(slowest['nodes'], 'node')}."
        )

    def answers(self, view: RunView) -> bool:
        """Whether a cell has a time."""
        return _fastest(view) is not None

    def cause(self, view: RunView) -> str:
        """What of the time is computation, what calls take here and there, and the busiest link if any was counted."""
        row = _fastest(view)
        if row is None:
            return ""
        computed, there = _computed_s(view, row), _traced_s(view, row) - _computed_s(view, row, as_traced=True)
        here = max(row["median_s"] - computed, 0.0)
        if not computed:
            told = f"All of it is spent in MPI calls, which took {format_seconds(there)} where it was traced."
        elif computed > MOST * row["median_s"]:
            told = f"{_share(computed, row)} of it is computation between calls, which no network shortens."
        else:
            told = f"{_share(here, row)} of it, {format_seconds(here)}, is spent in MPI calls, which took "
            told += f"{format_seconds(there)} where it was traced."
        return f"{told} {held_back_sentence(view)}".strip()

    def advice(self, view: RunView) -> str:
        """The verb that tries one change at a time, unless most of the time is computation."""
        row = _fastest(view)
        if row is None:
            return ""
        if _computed_s(view, row) > MOST * row["median_s"]:
            return "To try: `weft replay ... --compute 0.5`, which shows what processors of twice the speed would give."
        return (
            "To try: `weft whatif TRACE --on FABRIC`, which changes one thing of a simulated machine at a time: "
            "placement, links, adapters, the all-to-all."
        )

    def numbers(self, view: RunView) -> list[Number]:
        """The time beside the traced one, and the share of the calls."""
        row = _fastest(view)
        if row is None:
            return []
        here = max(row["median_s"] - _computed_s(view, row), 0.0)
        traced_s = _traced_s(view, row)
        ends = [value / traced_s if value is not None else None for value in (row["low_s"], row["high_s"])]
        return [
            (measured_factor(row["median_s"] / traced_s, *ends, what="times"), "the time where it was traced"),
            (_share(here, row), "of the time here is spent in MPI calls"),
        ]

    def bars(self, view: RunView) -> list[Bar]:
        """Every replay by its nodes."""
        rows = sorted(timed(view.rows, phase="warm"), key=lambda row: (row["nodes"], row["ranks"]))
        return [Bar(f"N = {row['nodes']}", row["median_s"], holding_bound_s(row)) for row in rows]


def _fastest(view: RunView) -> TimedRow | None:
    return min(timed(view.rows, phase="warm"), key=lambda row: row["median_s"], default=None)


def _traced_s(view: RunView, row: TimedRow) -> float:
    return view.plan.cell(row["cell"]).parameters["traced_ns"] / 1e9


def _computed_s(view: RunView, row: TimedRow, *, as_traced: bool = False) -> float:
    """What a rank computes between calls on average, at the speed of the replay or of the trace."""
    values = view.plan.cell(row["cell"]).parameters
    return values["computed_ns"] / 1e9 * (1.0 if as_traced else values["compute"])


def _beside(view: RunView, row: TimedRow) -> str:
    """``2.81 times as long as where it was traced (10.0 ms)``."""
    traced = _traced_s(view, row)
    ends = [(value or row["median_s"]) / traced for value in (row["low_s"], row["median_s"], row["high_s"])]
    low, ratio, high = min(ends), row["median_s"] / traced, max(ends)
    if low - SAME <= 1 <= high + SAME:
        told = "as long as"
    elif ratio > 1:
        told = f"{measured_factor(ratio)} times as long as"
    else:
        told = f"{measured_factor(1 / ratio)} times as fast as"
    return f"{told} where it was traced ({format_seconds(traced)})"


def _share(seconds: float, row: TimedRow) -> str:
    return f"{100 * seconds / row['median_s']:.0f} %"


STORY = ReplayStory
