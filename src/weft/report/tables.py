# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a run: its kernel's, its most loaded links, what a simulated verdict depends on; printing them."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal

from weft.analyse.tables.breakdown import BOTTLENECKS, HOSTS, LOADS, SENSITIVITY, Load, LoadRow, SensitivityRow
from weft.analyse.tables.claims import ClaimRow, extras
from weft.analyse.tables.times import STARTUP, StartupRow
from weft.format import format_bytes, format_factor, format_rate, format_seconds, percent, plural, seconds_text
from weft.report.bars import bar_lines
from weft.report.card import card_of, print_card
from weft.report.export import as_csv, as_json, as_latex, export
from weft.report.intervals import interval_meaning
from weft.report.method import with_intervals
from weft.report.tabular import Table, Words, existing, make_table, markdown, terminal
from weft.report.view import RunView, load_view
from weft.text import console, markdown_text
from weft.words.answers import number_text
from weft.words.card import say

#: A table of more rows is shown with so many at either end: they come in twos, a time and its bound.
MOST_ROWS, AT_EITHER_END = 60, 20
MOST_FINDINGS, MOST_LINKS = 5, 8  # so many findings are printed without ``--all``, and so many links of a cell
STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}
Format = Literal["text", "md", "csv", "json", "latex", "osu", "reframe", "openmetrics"]


def meaning(views: Sequence[RunView], tables: Sequence[Table]) -> str:
    """What the numbers of some runs' tables are, and their marks: those alone that stand there."""
    rows = [row for view in views for row in with_intervals(view)]
    cells = [cell for table in tables for row in (table.columns, *table.rows) for cell in row]
    sentences = {
        "Median of the launches' medians.": any(row["launches"] > 1 for row in rows), interval_meaning(rows): True,
        "*: more ranks than cores.": any(cell.endswith(" *") for cell in cells),
        "At least: the lower bound and its cause.": any(cell.strip() == "at least" for cell in cells),
    }  # fmt: skip
    return " ".join(sentence for sentence, holds in sentences.items() if sentence and holds)


def all_tables(view: RunView) -> list[Table]:
    """Every table of a run, in reading order: its kernel's, loads of links, start-up, what a verdict rests on."""
    title = view.titled("What the verdict depends on: each fitted or assumed number over its plausible range")
    return [
        *view.story.tables(view), *(_load_table(view, *each) for each in drawn_cells(view)),
        *existing(_startup_table(view.titled("Start-up"), STARTUP.read(view.path))),
        *existing(sensitivity_table(SENSITIVITY.read(view.path), title)),
    ]  # fmt: skip


def render(view: RunView, format: Format = "text") -> str:
    """The tables of a run as text in one of the formats. Raises ValueError: the format is unknown."""
    makers = {"md": as_markdown, "csv": as_csv, "json": as_json}
    if format in makers:
        return makers[format](view)
    if format in ("osu", "reframe", "openmetrics"):
        return export(view, format)
    if format == "latex":
        return as_latex(view, tables := all_tables(view), meaning([view], tables))
    if format == "text":
        out = console(width=120)
        with out.capture() as captured:
            print_view(view, out)
        return captured.get()
    raise ValueError(f"no format {format}")


def show(folder: Any, out: Any = None, *, every: bool = False) -> None:
    """Print verdict, findings and the first table of a run, or ``every`` one, as wide as the terminal (or 120)."""
    print_view(folder if isinstance(folder, RunView) else load_view(folder), out or console(120), every=every)


def print_view(view: RunView, out: Any, *, every: bool = True) -> None:
    """Print a loaded run on a console (:func:`weft.text.console`)."""
    print_card(view, out)
    bars = bar_lines(view.story.bars(view), out.width)
    for line in ["", *bars] if bars else []:
        out.print(line)
    findings, found = view.claimed("finding"), all_tables(view)
    for claim in findings if every else findings[:MOST_FINDINGS]:
        row = say(claim)
        out.print()
        out.print(f"{row.label}: {row.value}", style=STYLES[row.label])
        out.print(f"  -> {row.note}")
        for other in others_of(view, claim) if every else ():
            out.print(f"     also {other}", style="dim")
    for table in found if every else map(shortened, found[:1]):
        out.print()
        second, *rest = table.rows
        both = zip(table.columns, second, strict=True)  # the second row of headings, which is its first row
        columns = tuple(type(first)("\n".join(filter(None, (first, more)))) for first, more in both)
        out.print(terminal(fitting(Table(table.title, columns, tuple(rest)), out.width), out.width))
    out.print(meaning([view], found), style="dim")
    if not every and (hidden := _hidden(view, found)):
        out.print(f"{hidden}: weft show {shlex.quote(str(view.path))} --all", style="dim")


def _hidden(view: RunView, found: Sequence[Table]) -> str:
    findings = max(len(view.claimed("finding")) - MOST_FINDINGS, 0)
    rows = sum(len(table.rows) - 2 * AT_EITHER_END for table in found[:1] if len(table.rows) > MOST_ROWS)
    counts = {"more finding": findings, "more row": rows, "more table": len(found) - 1}
    *parts, last = [plural(count, what) for what, count in counts.items() if count > 0] or [""]
    return f"{', '.join(parts)} and {last}" if parts else last


def shortened(table: Table) -> Table:
    """A table with its first and its last rows, if it is long."""
    if len(table.rows) <= MOST_ROWS:
        return table
    left_out = ("...", *("" for _ in table.columns[1:]))
    return replace(table, rows=(*table.rows[:AT_EITHER_END], left_out, *table.rows[-AT_EITHER_END:]))


def others_of(view: RunView, claim: ClaimRow) -> list[str]:
    """The further places of a finding."""
    rows = [view.findings[int(each.partition(":")[2])] for each in claim["evidence"][1:]]
    return [f"{row['where']}: {row['what']}" for row in rows]


def fitting(table: Table, width: int) -> Table:
    """The table with each interval (and each bound's name) on its own line, if it is too wide otherwise."""
    columns = zip(table.columns, *table.rows, strict=True)
    longest = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    if sum(longest) + 2 * len(longest) <= width:
        return table
    # ``52.1 ms (51.8–52.9)`` and ``1.2 s, memory copy`` over two lines; numbers such as ``1,024 kB`` over one
    rows = ((row[0], *(cell.replace(" (", "\n(").replace(", ", "\n") for cell in row[1:])) for row in table.rows)
    return replace(table, rows=tuple(rows))


def as_markdown(view: RunView) -> str:
    """Verdict, tables and findings in Markdown."""
    tables, card = all_tables(view), card_of(view)
    rows = [markdown_text(f"- **{row.label}** {row.text}") for row in card.rows]
    parts = [f"# {markdown_text(view.titled(view.name))}", markdown_text(" · ".join(card.facts)), "\n".join(rows)]
    parts += [*map(markdown, tables), meaning([view], tables)]
    said = [(extras(claim)["level"], say(claim)) for claim in view.claimed("finding")]
    found = [markdown_text(f"- **{level}** {row.value}. {row.note}.") for level, row in said]
    return "\n\n".join([*parts, *(["\n".join(found)] if found else [])]) + "\n"


def _startup_table(title: str, rows: Sequence[StartupRow]) -> Table:
    return make_table(
        title, rows,
        ("N", "nodes", lambda row: f"{row['nodes']:,}"), ("p", "processes", lambda row: f"{row['ranks']:,}"),
        ("launches", "", lambda row: f"{row['launches']:,}"),
        ("MPI_Init", "slowest rank", lambda row: seconds_text(row["init_s"], row["init_low_s"], row["init_high_s"])),
        (Words("first all-to-all"), "on fresh connections",
         lambda row: f"{seconds_text(row['first_s'], row['first_low_s'], row['first_high_s'])} {row['call']}"
         if row["first_s"] else "–"),
        (Words("waits"), "component that only sleeps", lambda row: row["waits"] or "–"),
    )  # fmt: skip


def drawn_cells(view: RunView) -> list[tuple[int, int, str, list[LoadRow]]]:
    """Nodes, ranks, name and loads of a cell a number of nodes above one: of the stated bottleneck, or most loaded."""
    floors = {cell.id for cell in view.plan.floors}
    stated = {each["nodes"]: each["cell"] for each in BOTTLENECKS.read(view.path)}.values()
    cells = [list(group) for _, group in groupby(LOADS.read(view.path), key=lambda load: load["cell"])]
    best: dict[int, list[LoadRow]] = {}
    for found in sorted(cells, key=lambda each: (each[0]["cell"] in stated, each[0]["moved_bytes"]), reverse=True):
        if found[0]["nodes"] > 1 and found[0]["cell"] not in floors:
            best.setdefault(found[0]["nodes"], found)
    return [(nodes, found[0]["ranks"], found[0]["cell"], found) for nodes, found in sorted(best.items())]


def held_back_table(view: RunView) -> Table:
    """The bottleneck of each shape; empty if no link was counted."""
    return make_table(
        view.titled("Bottlenecks"), BOTTLENECKS.read(view.path),
        ("N", "nodes", lambda row: f"{row['nodes']:,}"), ("p", "processes", lambda row: f"{row['ranks']:,}"),
        (Words("bottleneck"), "", lambda row: (HOSTS if row["name"] == "injection" else row["name"]) or "no link"),
        (Words("busiest link"), "share of its rate", lambda row: _load_text(row["busiest"])),
        (Words("busiest of the others"), "share of its rate", lambda row: _load_text(row["other"])),
        (Words("time over its bound"), "",
         lambda row: f"{format_factor(row['bound_ratio'])} x {row['bound']}" if row["bound_ratio"] else "–"),
    )  # fmt: skip


def _load_text(load: Load | None) -> str:
    return "–" if load is None or load["share"] is None else f"{load['link']} {percent(load['share'])}"


def _load_table(view: RunView, nodes: int, ranks: int, cell: str, found: Sequence[Load]) -> Table:
    # the traffic of idle links (an ARP request) would only fill the table
    shown = [load for load in found[:MOST_LINKS] if load["bytes"] > found[0]["bytes"] / 100]
    less = f", the {len(shown)} busiest of {len(found)}" if len(found) > len(shown) else ""
    return make_table(
        view.titled(f"Load of the links at N = {nodes}, p = {ranks} ({cell}{less})"), shown,
        (Words("link"), "", lambda load: load["link"]), (Words("cable"), "", lambda load: load["cable"]),
        ("carried", "bytes per launch", lambda load: format_bytes(round(load["bytes"]))),
        ("share of rate", "while calls ran", lambda load: "–" if load["share"] is None else percent(load["share"])),
        ("rate", "each way", lambda load: format_rate(load["rate"]) if load["rate"] else "–"),
        ("dropped", "packets", lambda load: f"{load['drops']:,}"),
    )  # fmt: skip


def reading(view: RunView) -> str:
    """The result of the drawing of the links in one sentence."""
    if not (cells := drawn_cells(view)):
        return ""
    nodes, _, _, found = cells[-1]
    busiest = found[0]
    other = next((load for load in found if load["host_link"] != busiest["host_link"]), None)
    text = f"At N = {nodes} the busiest link is {busiest['link']}: {format_bytes(round(busiest['bytes']))} per launch"
    if busiest["share"] is not None:
        text += f", {percent(busiest['share'])} of its rate while the calls run"
        if other is not None and other["share"] is not None:
            others = HOSTS if other["host_link"] else "the links between switches"
            text += f"; {others} at most {percent(other['share'])}"
    dropped = sum(load["drops"] for load in found)
    return text + (f". {plural(dropped, 'packet')} dropped at full queues." if dropped else ".")


def sensitivity_table(rows: Iterable[SensitivityRow], title: str) -> Table:
    """Each assumed or fitted number with what it does to the verdict and to the last time; empty without rows."""
    return make_table(
        title, rows,
        ("series", "", lambda row: row["series"]), ("number", "key", lambda row: row["key"]),
        ("value (plausible)", "from where",
         lambda row: f"{number_text(row['value'], row['unit'])} ({number_text(row['low'], row['unit'])} to "
         f"{number_text(row['high'], row['unit'])}), {row['standing']}"),
        (Words("verdict"), "and where it flips", lambda row: _flip_text(row) if row["flips"] else row["verdict"]),
        ("time at the last point", "as the number moves",
         lambda row: f"{format_seconds(row['seconds'])} ({format_seconds(row['least_s'])} to "
         f"{format_seconds(row['most_s'])}), N = {row['at']}, {row['basis']}"),
    )  # fmt: skip


def _flip_text(row: SensitivityRow) -> str:
    """``FLIPS from 18 KiB on: still scales at N = 576``, or ``FLIPS with network.eager_overhead = 0 ns, from ...``."""
    given = ""
    if row["given_value"] is not None:  # only where another number has another value, too
        given = f"with {row['given_key']} = {number_text(row['given_value'], row['given_unit'])}, "
    if row["flips_at"] is None:
        return f"FLIPS {given}"
    where = "on" if row["flips_at"] >= row["value"] else "down"
    return f"FLIPS {given}from {number_text(row['flips_at'], row['unit'])} {where}: {row['becomes']}"
