# SPDX-License-Identifier: BSD-3-Clause
"""The papers' tables of a run: memory, times by N and m, the calls cold and warm; and what they are printed as."""

import sys
from collections.abc import Sequence
from typing import Any, Literal

from weft.analyse.checks import condensed
from weft.plan import PlannedSeries
from weft.plan_tables import memory_tables
from weft.report.numbers import interval_text, seconds_text
from weft.report.view import CALLS, Row, RunView, load_view, m_text
from weft.tabular import Table, comma_separated, markdown, terminal

Format = Literal["text", "md", "csv", "json", "latex"]

MEANING = "Median (95 % interval) over all launches; * more ranks than cores; at least: the lower bound and its cause."


def all_tables(view: RunView) -> list[Table]:
    """Every table of a run, in the order it is read."""
    memory = [_titled(view, table) for table in memory_tables(view.plan)]
    return [*time_tables(view), *call_tables(view), *memory]


def _titled(view: RunView, table: Table) -> Table:
    return Table(view.titled(table.title), table.columns, table.rows, table.words)


def time_tables(view: RunView) -> list[Table]:
    """Times of the main call (Tables 4.2, 4.4, 4.5): series with the same columns share a table."""
    groups: dict[tuple[tuple[int, int], ...], list[PlannedSeries]] = {}
    for series in view.plan.series:
        points = tuple((row["nodes"], row["ranks"]) for row in view.of_series(series, view.main_call))
        if points:
            groups.setdefault(points, []).append(series)
    return [_time_table(view, group) for group in groups.values()]


def _time_table(view: RunView, group: Sequence[PlannedSeries]) -> Table:
    columns, ranks = _heading(view.of_series(group[0], view.main_call))
    rows = [ranks]
    for series in group:
        own = view.of_series(series, view.main_call)
        name = f"{m_text(series)} ({series.name})"
        rows.append((name, *(time_text(row) for row in own)))
        if any(row["bound_s"] for row in own):
            rows.append(("   at least", *(bound_text(row) for row in own)))
    call = CALLS.get(view.main_call, view.main_call)
    return Table(view.titled(f"Time of {call}"), columns, tuple(rows))


def call_tables(view: RunView) -> list[Table]:
    """The calls of each series, cold and warm (Table 4.6)."""
    return [_call_table(view, series) for series in view.plan.series if len(view.calls_of(series)) > 1]


def _call_table(view: RunView, series: PlannedSeries) -> Table:
    calls = view.calls_of(series)
    columns, ranks = _heading(view.of_series(series, calls[0]))
    rows = [ranks]
    for call in calls:
        for phase in ("cold", "warm"):
            own = view.of_series(series, call, phase)
            if own:
                rows.append((f"{CALLS.get(call, call)}, {phase}", *(time_text(row) for row in own)))
    title = f"{series.name}, {m_text(series)}: first call on fresh connections (cold) and steady state (warm)"
    return Table(view.titled(title), columns, tuple(rows))


def _heading(rows: Sequence[Row]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Nodes as the columns' names, ranks as the first row."""
    ranks = tuple(f"{row['ranks']:,}{' *' if row['oversubscribed'] else ''}" for row in rows)
    return ("Nodes N", *(f"{row['nodes']:,}" for row in rows)), ("Processes p", *ranks)


def time_text(row: Row) -> str:
    """A time with its interval, or the status of a row that has none."""
    return interval_text(row["median_s"], row["low_s"], row["high_s"]) if row["status"] == "ok" else row["status"]


def bound_text(row: Row) -> str:
    """The lower bound and what it comes from."""
    return f"{seconds_text(row['bound_s'])}, {row['bound']}" if row["bound_s"] else "–"


def render(view: RunView, format: Format = "text") -> str:
    """The tables of a run as text in one of the formats; ``text`` is `show`'s without colours.

    Raises
    ------
    ValueError
        There is no such format.
    """
    if format == "md":
        return as_markdown(view)
    if format == "csv":
        return as_csv(view)
    if format == "json":
        from weft.report.show_json import as_json

        return as_json(view)
    if format == "latex":
        from weft.report.latex import as_latex

        return as_latex(view)
    if format == "text":
        from rich.console import Console

        console = Console(width=120, highlight=False)
        with console.capture() as captured:
            print_view(view, console)
        return captured.get()
    raise ValueError(f"no format {format}")


def show(folder: Any, console: Any = None) -> None:
    """Print verdict, tables and findings of a run for people, as wide as the terminal (120 columns without one)."""
    from rich.console import Console

    if console is None:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    print_view(folder if isinstance(folder, RunView) else load_view(folder), console)


def print_view(view: RunView, console: Any) -> None:
    """Print a loaded run on a rich console."""
    console.print(view.titled(f"{view.name}: {view.plan.title}"), style="bold", markup=False)
    console.print(view.headline, markup=False)
    for table in all_tables(view):
        console.print()
        console.print(terminal(fitting(table, console.width)))
    console.print(MEANING, style="dim", markup=False)
    styles = {"error": "bold red", "warning": "yellow", "note": "dim"}
    for finding in condensed(view.findings):
        console.print()
        console.print(f"{finding.level}: {finding.where}: {finding.what}", style=styles[finding.level], markup=False)
        console.print(f"  -> {finding.remedy}", markup=False)


def fitting(table: Table, width: int) -> Table:
    """The table with each interval (and each bound's name) on a line of its own, where it is too wide otherwise."""
    longest = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    if sum(longest) + 2 * len(longest) <= width:
        return table
    broken = tuple((row[0], *(_broken(cell) for cell in row[1:])) for row in table.rows)
    return Table(table.title, table.columns, broken, table.words)


def _broken(cell: str) -> str:
    """``52.1 ms (51.8–52.9)`` and ``1.2 s, memory copy`` over two lines; numbers such as ``1,024 kB`` over one."""
    return cell.replace(" (", "\n(").replace(", ", "\n")


def as_markdown(view: RunView) -> str:
    """Verdict, tables and findings in Markdown."""
    parts = [f"# {view.titled(view.name)}", view.headline, *(markdown(table) for table in all_tables(view)), MEANING]
    found = [
        f"- **{finding.level}** {finding.where}: {finding.what}. {finding.remedy}."
        for finding in condensed(view.findings)
    ]
    return "\n\n".join([*parts, *(["\n".join(found)] if found else [])]) + "\n"


def as_csv(view: RunView) -> str:
    """One line a cell, call and phase, in seconds and bytes, unrounded: the fields of the JSON's rows."""
    from weft.report.show_json import FIELDS

    def plain(value: Any) -> Any:
        return " ".join(value) if isinstance(value, list) else value

    return comma_separated(FIELDS, [[plain(row[name]) for name in FIELDS] for row in view.rows])
