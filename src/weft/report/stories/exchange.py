# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``exchange``: whether all-to-all scales, with the papers' tables and figures."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from weft.analyse.tables.answers import by_weight, main_verdict
from weft.analyse.tables.times import MEDIANS, CallRow, timed
from weft.format import UNKNOWN, format_bytes, plural
from weft.plan.records import PlannedSeries
from weft.report.bars import Bar, bar_of
from weft.report.figures import Figures
from weft.report.intervals import bound_text, interval_heading, time_text
from weft.report.plan_tables import memory_tables
from weft.report.tables import held_back_table
from weft.report.tabular import Table, existing
from weft.report.view import CALLS, RunView, Story, m_text
from weft.store.tables import grouped
from weft.words import name_call

MOST_SHOWN = 24  # series with figures and tables: with more, a page is no longer read; the table of times has all


class ExchangeStory(Story):
    """Tables 4.1 to 4.6 and Figures 3.1, 4.1 and 4.2 of the tara papers, from a run."""

    def bars(self, view: RunView) -> list[Bar]:
        main = main_verdict(view.verdicts) or next(iter(by_weight(view.verdicts)), None)
        if main is None:
            return []
        rows = [row for row in timed(view.rows, view.main_call, "warm") if main["series"] in row["series"]]
        rows.sort(key=lambda row: (row["nodes"], row["ranks"]))
        if len({row[main["axis"]] for row in rows}) < len(rows):
            return [bar_of(f"N = {row['nodes']}, p = {row['ranks']}", row) for row in rows]
        return [bar_of(plural(row[main["axis"]], main["axis"].rstrip("s")), row) for row in rows]

    def bars_of(self, view: RunView) -> str:
        sizes = sorted({cell.local_bytes for cell in view.plan.measured if cell.local_bytes})
        return name_call(view.main_call) + (f", {format_bytes(sizes[-1])} per rank" if len(sizes) == 1 else "")

    def proof(self, view: RunView, figures: Figures) -> Figures:
        """The links with their load, and the times of the series that answers."""
        from weft.report.bars import draw_times
        from weft.report.figures.proof import draw_loads

        return [each for each in (draw_loads(view), draw_times(view)) if each is not None]

    def tables(self, view: RunView) -> list[Table]:
        shown, others = _shown_series(view)
        memory = memory_tables(view.plan, [series.name for series in shown])
        memory = [replace(table, title=view.titled(table.title)) for table in memory]
        calls = [_call_table(view, series) for series in shown if len(view.calls_of(series)) > 1]
        calls = _naming_others(calls, others, "weft show --format csv")
        memory = _naming_others(memory, others, "weft plan")
        return [*time_tables(view), *existing(held_back_table(view)), *calls, *memory]

    def figures(self, view: RunView) -> Figures:
        from weft.report.figures.scaling import calls_figure, scaling_figure
        from weft.report.figures.spread import schematic_figure, spread_figure

        medians = MEDIANS.read(view.path)
        shown, others = _shown_series(view)
        drawn = [figure for series in shown if (figure := scaling_figure(view, series, medians))]
        if others and drawn:
            drawn[-1] = replace(drawn[-1], key=f"{drawn[-1].key} {others:,} other series are in the tables alone.")
        calls = (calls_figure(view, series) for series in view.plan.series[:1])
        return [*drawn, *(each for each in (*calls, schematic_figure(view), spread_figure(view)) if each is not None)]


def _shown_series(view: RunView) -> tuple[list[PlannedSeries], int]:
    """The `MOST_SHOWN` series with the most cells, in their order, and the number of the others."""
    cells = Counter(name for cell in view.plan.measured for name in cell.series)
    names = {series.name for series in sorted(view.plan.series, key=lambda each: -cells[each.name])[:MOST_SHOWN]}
    return [series for series in view.plan.series if series.name in names], max(0, len(view.plan.series) - len(names))


def _naming_others(tables: Sequence[Table], others: int, where: str) -> list[Table]:
    """The tables; the last one's title says where those of other series are."""
    more = f"; {where} has those of {others:,} other series"
    return [*tables[:-1], replace(tables[-1], title=tables[-1].title + more)] if others and tables else [*tables]


def time_tables(view: RunView) -> list[Table]:
    """Times of the main call (Tables 4.2, 4.4, 4.5): series with the same columns share a table."""
    found = [(series, own) for series in view.plan.series if (own := view.of_series(series, view.main_call))]
    alike = grouped(found, lambda each: tuple((row["nodes"], row["ranks"]) for row in each[1]))
    return [_time_table(view, group) for group in alike.values()]


def _time_table(view: RunView, group: Sequence[tuple[PlannedSeries, list[CallRow]]]) -> Table:
    columns, ranks = _heading(group[0][1])
    rows = [ranks]
    for series, own in group:
        rows.append((f"{m_text(series)} ({series.name})", *map(time_text, own)))
        if any(row["bound_s"] for row in own):
            rows.append(("   at least", *map(bound_text, own)))
        if any(row["samples"] > 1 for row in own):
            rows.append(("   samples", *(f"{row['samples']:,}" if row["samples"] else UNKNOWN for row in own)))
    heading = interval_heading([row for _, own in group for row in own])
    return Table(view.titled(f"Time of {CALLS.get(view.main_call, view.main_call)}, {heading}"), columns, tuple(rows))


def _call_table(view: RunView, series: PlannedSeries) -> Table:
    """The calls of a series, cold and warm (Table 4.6)."""
    calls = view.calls_of(series)
    columns, ranks = _heading(view.of_series(series, calls[0]))
    found = ((call, phase, view.of_series(series, call, phase)) for call, phase in product(calls, ("cold", "warm")))
    rows = [(f"{CALLS.get(call, call)}, {phase}", *map(time_text, own)) for call, phase, own in found if own]
    title = f"{series.name}, {m_text(series)}: first call on fresh connections (cold) and steady state (warm)"
    return Table(view.titled(title), columns, (ranks, *rows))


def _heading(rows: Sequence[CallRow]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    ranks = tuple(f"{row['ranks']:,}{' *' if row['oversubscribed'] else ''}" for row in rows)
    return ("Nodes N", *(f"{row['nodes']:,}" for row in rows)), ("Processes p", *ranks)


STORY = ExchangeStory
