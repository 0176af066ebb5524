# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``collective``: time against size and process count, and where the library switches algorithm."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.tables.answers import GUIDELINES, OVERLAPS, WINNERS, GuidelineRow, OverlapRow
from weft.analyse.tables.sweeps import Line, common_rows, find_stretches, largest_lines, most_saved, own_lines
from weft.analyse.tables.times import TimedRow, timed
from weft.format import exact_bytes, format_seconds, percent, times_text
from weft.mpi.algorithms import DEFAULT
from weft.report.bars import Bar, bar_of
from weft.report.figures import Figure, Figures
from weft.report.intervals import interval_heading, time_text
from weft.report.sweep_tables import SweepStory, change_tables, time_table, winner_table
from weft.report.tabular import Table, Words, existing, make_table
from weft.report.view import RunView
from weft.words.checks import name_calls, name_rival

TIMES = "collectives"  # name of the figure of times against size


class CollectiveStory(SweepStory):
    """Times by size and process count, change-overs, and the fastest algorithms."""

    def bars(self, view: RunView) -> list[Bar]:
        """Every algorithm where the best saves most; else every call at their largest common size; with bounds."""
        if found := find_stretches(WINNERS.read(view.path)):
            at = most_saved(found[0])
            place = at["call"], at["nodes"], at["ranks"]
            lines = [line for line in self.lines(view) if (line.call, line.cell.nodes, line.cell.ranks) == place]
            raced = [(line, row) for line in lines if (row := line.at(at["bytes"]))]
            raced.sort(key=lambda each: each[1]["median_s"])
            return [bar_of(line.algorithm, row) for line, row in raced]
        return [bar_of(line.name, row) for line, row in common_rows(largest_lines(own_lines(self.lines(view))))]

    def tables(self, view: RunView) -> list[Table]:
        lines, winners = own_lines(self.lines(view)), WINNERS.read(view.path)
        raced = {call: [each for each in winners if each["call"] == call] for call in (row["call"] for row in winners)}
        titles = {call: view.titled(f"Fastest algorithm of MPI_{call.capitalize()}") for call in raced}
        return existing(
            _guideline_table(view.titled("Performance guidelines"), GUIDELINES.read(view.path)),
            _overlap_table(view.titled("Hidden behind computation"), OVERLAPS.read(view.path)),
            *(winner_table(titles[call], rows) for call, rows in raced.items()),
            *change_tables(view, lines, [f"{line.name}, {line.place}" for line in lines]),
            *(time_table(view.titled(f"Time of {name}"), group) for name, group in by_name(lines).items()),
            self._barrier(view),
        )

    def _barrier(self, view: RunView) -> Table:
        cells = {cell.id: cell for cell in view.plan.measured}
        best: dict[tuple[int, int], TimedRow] = {}
        for row in timed(view.rows, "barrier", "warm"):
            if cells[row["cell"]].parameters.get("algorithm", DEFAULT) == DEFAULT:
                shape = (row["ranks"], row["nodes"])
                best[shape] = min(best.get(shape, row), row, key=lambda each: each["median_s"])
        found = [best[shape] for shape in sorted(best)]
        columns = ("Floor", *(f"N = {row['nodes']}, p = {row['ranks']}" for row in found))
        rows = ("", *(interval_heading([row]) for row in found)), ("MPI_Barrier", *map(time_text, found))
        return Table(view.titled("An empty exchange: MPI_Barrier"), columns, rows if found else ())

    def proof(self, view: RunView, figures: Figures) -> Figures:
        """The map of winners where an algorithm beats the library's own choice, and times against size."""
        won = any(each["id"] == "collective.faster-algorithm" for each in view.claimed("answer"))
        maps = [each for each in figures if won and each.name == "winners"]
        others = sorted((each for each in figures if each not in maps), key=lambda each: each.name != TIMES)
        return [*maps, *super().proof(view, others)]

    def figures(self, view: RunView) -> Figures:
        from weft.report.figures.sizes import KEY, size_panel, winner_figure

        groups, panels = by_name(own_lines(self.lines(view))), list[Any]()
        for name, group in groups.items():
            drawn = [(line, f"p = {line.cell.ranks}{' *' if line.cell.oversubscribed else ''}") for line in group]
            panels.append(size_panel(drawn, "time", small=len(groups) > 1, title=name))
        title = view.titled("Time of collective calls against message size")
        winners = winner_figure(view.titled("Fastest algorithm by size and process count"), WINNERS.read(view.path))
        found: Figures = [Figure(TIMES, title, KEY, view.headline, tuple(panels))] if panels else []
        return [*found, *([winners] if winners else [])]

    def fields(self, view: RunView) -> dict[str, Any]:
        return super().fields(view) | {"winners": WINNERS.read(view.path)}


def _guideline_table(title: str, rows: Sequence[GuidelineRow]) -> Table:
    return make_table(
        title, sorted(rows, key=lambda row: (not row["violated"], -row["factor"])),
        (Words("call"), "", lambda row: name_calls(row["collective"])),
        ("size", "per block", lambda row: exact_bytes(row["bytes"])),
        (Words("no slower than"), "", lambda row: name_rival(row["guideline"])),
        ("time", "of the call", lambda row: format_seconds(row["seconds"])),
        ("time", "of the other", lambda row: format_seconds(row["rival_s"])),
        ("factor", "95 %", lambda row: times_text(row["factor"], row["low"], row["high"])),
        ("p", "Holm", lambda row: f"{row['chance']:.2g}" if row["chance"] < 1 else "1"),
        (Words("verdict"), "error 1 %", lambda row: "violated" if row["violated"] else ""),
    )  # fmt: skip


def _overlap_table(title: str, rows: Sequence[OverlapRow]) -> Table:
    ways = {"wait": "MPI_Wait", "test": "MPI_Test in between", "persistent": "persistent (share saved)"}
    return make_table(
        title, rows,
        (Words("call"), "", lambda row: f"MPI_I{row['collective']}"),
        ("size", "per block", lambda row: exact_bytes(row["bytes"])), ("ranks", "", lambda row: str(row["ranks"])),
        ("alone", "", lambda row: format_seconds(row["alone_s"])),
        (Words("way"), "", lambda row: ways[row["way"]] + (", progress thread" if row["thread"] else "")),
        ("hidden", "share", lambda row: _share(row["share"])), ("at least", "95 %", lambda row: _share(row["low"])),
        ("at most", "95 %", lambda row: _share(row["high"])),
    )  # fmt: skip


def _share(value: float) -> str:
    """A share that launches which scatter may put beyond any sense."""
    return percent(value) if abs(value) <= 1 else "over 100 %" if value > 0 else "under -100 %"


def by_name(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Lines by their names in order, those of one name by process count, then nodes."""
    ordered = sorted(lines, key=lambda line: (line.cell.ranks, line.cell.nodes))
    names = dict.fromkeys(line.name for line in lines)
    return {name: [line for line in ordered if line.name == name] for name in names}


STORY = CollectiveStory
