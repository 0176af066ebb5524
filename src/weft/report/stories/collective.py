# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``collective``: time against size and process count, and where the library switches algorithm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from weft.analyse.tables.answers import FEWEST_LAUNCHES, WINNERS, WinnerRow
from weft.analyse.tables.times import TimedRow, holding_bound_s, reach, timed
from weft.format import exact_bytes, measured_seconds, plural
from weft.kernel.sizes import in_all
from weft.mpi.algorithms import DEFAULT
from weft.report.bars import Bar
from weft.report.headline import Number
from weft.report.intervals import interval_heading
from weft.report.numbers import time_text
from weft.report.stories.sweep import SweepStory, changes_clause, existing
from weft.report.sweep_tables import CHANGES, MOVED, change_table, slower_table, time_table, trial_table
from weft.report.sweeps import Line, all_sizes
from weft.report.tabular import Table
from weft.report.view import RunView
from weft.report.winners import winner_table
from weft.report.won import stretches, too_few, won_advice, won_finding, won_line, won_numbers

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure


class CollectiveStory(SweepStory):
    """Times by size and process count, change-overs, and the fastest algorithms."""

    def own(self, view: RunView) -> list[Line]:
        """The lines under the library's own choice of algorithms; without any, all of them."""
        lines = list(self.lines(view))
        return [line for line in lines if line.algorithm == DEFAULT] or lines

    def won(self, view: RunView) -> list[WinnerRow]:
        """The winners, if algorithms were measured beside the library's own choice."""
        return WINNERS.read(view.path)

    def few(self, view: RunView) -> int:
        """In how many launches algorithms were timed, if those are too few to name a winner; else 0."""
        rivals = {line.algorithm for line in self.lines(view)}
        if self.won(view) or DEFAULT not in rivals or len(rivals) < 2:
            return 0
        launches = min(row["launches"] for line in self.lines(view) for row in line.rows)
        return launches if launches < FEWEST_LAUNCHES else 0

    def finding(self, view: RunView) -> str:
        """Who wins where, if algorithms were measured; else the slowest call at the largest common size and count."""
        if won := self.won(view):
            return won_finding(won)
        few = self.few(view)
        return too_few(few) if few else self._slowest_call(view)

    def _slowest_call(self, view: RunView) -> str:
        largest = self._largest(view)
        if not largest:
            return "No call has a time: nothing was measured."
        cell = largest[0].cell
        text = f"With {plural(cell.ranks, 'process')} on {plural(cell.nodes, 'node')} "
        found = self._slowest(view)
        if found is None:
            return text + "the calls have no size in common."
        line, row, size = found
        time = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
        if rivals := self._rivals(view):
            told = (
                f"{each.name}: {measured_seconds(own['median_s'], own['low_s'], own['high_s'])}" for each, own in rivals
            )
            others = f"{text}the slowest calls at {exact_bytes(size)} are {line.name}: {time}, and {', '.join(told)}"
            return f"{others}; their ranges overlap, so which is slower is not shown."
        if len(largest) == 1:
            return f"{text}{line.name} takes {time} at {exact_bytes(size)}."
        return f"{text}the slowest call at {exact_bytes(size)} is {line.name}: {time}."

    def cause(self, view: RunView) -> str:
        """The change-overs, and how many sizes take longer than their double."""
        return "" if self.won(view) or self.few(view) else self._changes(view)

    def _changes(self, view: RunView) -> str:
        lines = self.own(view)
        if not lines:
            return ""
        said = changes_clause(lines, view.grade)
        slower = sum(len(line.slower) for line in lines)
        text = f"{said[0].upper()}{said[1:]}"
        verb = "takes longer than its" if slower == 1 else "take longer than their"
        return text + (f"; {plural(slower, 'size')} {verb} double." if slower else ".")

    def line(self, view: RunView) -> str:
        """What to take, if algorithms were measured; else the slowest call."""
        if won := self.won(view):
            return won_line(won)
        if self.few(view):
            return "No winner is named"
        found = self._slowest(view)
        if found is None:
            return "The calls have no size in common" if self._largest(view) else "No call has a time"
        line, row, size = found
        if rivals := self._rivals(view):
            names = [line.name, *(each.name for each, _ in rivals)]
            return f"{', '.join(names[:-1])} or {names[-1]} is the slowest call"
        if len(self._largest(view)) > 1:
            return f"{line.name} is the slowest call"
        return f"{line.name} takes {measured_seconds(row['median_s'])} at {exact_bytes(size)}"

    def answers(self, view: RunView) -> bool:
        """Whether winners can be named, or calls have a size in common."""
        return not self.few(view) and self._slowest(view) is not None

    def advice(self, view: RunView) -> str:
        """How to take the algorithm that saves most, or how to get winners."""
        if self.few(view):
            return f"To try: the same command with --launches {FEWEST_LAUNCHES}."
        return won_advice(self.won(view), view.mpi)

    def numbers(self, view: RunView) -> list[Number]:
        """What the best algorithm takes; else the time of the slowest call, and how many change-overs there are."""
        if won := self.won(view):
            return won_numbers(won)
        if self.few(view):
            return []
        found = self._slowest(view)
        if not found:
            return []
        line, row, size = found
        jumps = sum(len(each.jumps) for each in self.own(view))
        where = f"{line.name} at {exact_bytes(size)}, {line.place}"
        return [
            (measured_seconds(row["median_s"]), where),
            (f"{jumps}", "change-over point" if jumps == 1 else "change-over points"),
        ]

    def _largest(self, view: RunView) -> list[Line]:
        """The lines of the largest process count."""
        lines = self.own(view)
        most = max(((line.cell.ranks, line.cell.nodes) for line in lines), default=None)
        return [line for line in lines if (line.cell.ranks, line.cell.nodes) == most]

    def _slowest(self, view: RunView) -> tuple[Line, TimedRow, int] | None:
        """Line, row and size of the slowest call at the largest size that all of them have."""
        largest = self._largest(view)
        size = max(in_all(all_sizes([line]) for line in largest), default=None) if largest else None
        rows = [(line, row, size) for line in largest if size is not None and (row := line.at(size))]
        return max(rows, key=lambda each: each[1]["median_s"], default=None)

    def _rivals(self, view: RunView) -> list[tuple[Line, TimedRow]]:
        """Other calls that may take as long as the slowest one: their intervals or ranges overlap."""
        found = self._slowest(view)
        if found is None:
            return []
        slowest, row, size = found
        others = [(line, own) for line in self._largest(view) if line is not slowest and (own := line.at(size))]
        overlap = [(line, own) for line, own in others if reach(own)[1] >= reach(row)[0]]
        return sorted(overlap, key=lambda each: -each[1]["median_s"])

    def bars(self, view: RunView) -> list[Bar]:
        """Every algorithm where the best saves most; else every call at the size of the slowest; with bounds."""
        if own := stretches(self.won(view)):
            return self._raced(view, own[0].best)
        found = self._slowest(view)
        if not found:
            return []
        rows = [(line, row) for line in self._largest(view) if (row := line.at(found[2]))]
        return [Bar(line.name, row["median_s"], holding_bound_s(row)) for line, row in rows]

    def _raced(self, view: RunView, at: WinnerRow) -> list[Bar]:
        lines = [line for line in self.lines(view) if line.call == at["call"]]
        lines = [line for line in lines if (line.cell.nodes, line.cell.ranks) == (at["nodes"], at["ranks"])]
        rows = [(line, row) for line in lines if (row := line.at(at["bytes"]))]
        rows.sort(key=lambda each: each[1]["median_s"])
        return [Bar(line.algorithm, row["median_s"], holding_bound_s(row)) for line, row in rows]

    def tables(self, view: RunView) -> list[Table]:
        """Winners, change-overs, a table of times for each call, sizes slower than their double, the floor."""
        lines = self.own(view)
        names = [line.name for line in lines]
        places = [f"{name}, {line.place}" for name, line in zip(names, lines, strict=True)]
        groups: dict[str, list[Line]] = {}
        for line, name in zip(lines, names, strict=True):
            groups.setdefault(name, []).append(line)
        return existing(
            [
                *self._winner_tables(view),
                change_table(
                    view.titled(CHANGES), lines, places, view.grade, modelled=view.plan.planned_fabric.is_model
                ),
                trial_table(view.titled(MOVED), lines, places),
                slower_table(view.titled("Messages slower than their double"), lines, places),
                *(time_table(view.titled(f"Time of {name}"), ordered(group)) for name, group in groups.items()),
                self._barrier(view),
            ]
        )

    def _winner_tables(self, view: RunView) -> list[Table | None]:
        found = WINNERS.read(view.path)
        calls = list(dict.fromkeys(winner["call"] for winner in found))
        return [
            winner_table(
                view.titled(f"Fastest algorithm of MPI_{call.capitalize()}"),
                [each for each in found if each["call"] == call],
            )
            for call in calls
        ]

    def _barrier(self, view: RunView) -> Table | None:
        cells = {cell.id: cell for cell in view.plan.measured}
        best: dict[tuple[int, int], TimedRow] = {}
        for row in timed(view.rows, "barrier", "warm"):
            if cells[row["cell"]].parameters.get("algorithm", DEFAULT) == DEFAULT:
                shape = (row["nodes"], row["ranks"])
                best[shape] = min(best.get(shape, row), row, key=lambda each: each["median_s"])
        if not best:
            return None
        shapes = sorted(best, key=lambda shape: (shape[1], shape[0]))
        columns = ("Floor", *(f"N = {nodes}, p = {ranks}" for nodes, ranks in shapes))
        heading = ("", *(interval_heading([best[shape]]) for shape in shapes))
        return Table(
            view.titled("An empty exchange: MPI_Barrier"),
            columns,
            (heading, ("MPI_Barrier", *(time_text(best[shape]) for shape in shapes))),
        )

    def figures(self, view: RunView) -> "list[Figure | Picture]":
        """Time against size, a panel for each call; the map of winners."""
        from weft.report.figures.sizes import KEY, Drawn, size_panel
        from weft.report.figures.theme import Figure
        from weft.report.figures.winners import winner_figure

        groups: dict[str, list[Line]] = {}
        for line in self.own(view):
            groups.setdefault(line.name, []).append(line)
        alone = len(groups) == 1
        panels = tuple(
            size_panel([Drawn(line, label(line)) for line in ordered(group)], "time", small=not alone, title=name)
            for name, group in groups.items()
        )
        found: list[Figure | Picture | None] = [
            winner_figure(view.titled("Fastest algorithm by size and process count"), WINNERS.read(view.path))
        ]
        if panels:
            title = view.titled("Time of collective calls against message size")
            result = f"{self._slowest_call(view)} {self._changes(view)}"
            found.insert(0, Figure("collectives", title, KEY, result, panels))
        return [figure for figure in found if figure is not None]

    def fields(self, view: RunView) -> dict[str, Any]:
        """The fields of any sweep, and ``winners``."""
        return super().fields(view) | {"winners": WINNERS.read(view.path)}


def ordered(lines: Sequence[Line]) -> list[Line]:
    """Lines by process count, then nodes."""
    return sorted(lines, key=lambda line: (line.cell.ranks, line.cell.nodes))


def label(line: Line) -> str:
    """A line's name in a panel: ``p = 16``."""
    return f"p = {line.cell.ranks}{' *' if line.cell.oversubscribed else ''}"


STORY = CollectiveStory
