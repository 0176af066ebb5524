# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a run, and their output formats.

JSON is of schema weft-show/1, described field by field in docs/dev/show-json.md: fields may be added within a version;
none is renamed, removed or changed in meaning.
"""

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from weft.analyse.tables.breakdown import SENSITIVITY
from weft.analyse.tables.claims import ClaimRow, extras
from weft.files.reading import is_list, is_table
from weft.format import plural
from weft.report.bars import bar_lines
from weft.report.card import card_of, print_card
from weft.report.common import common_tables, link_fields
from weft.report.export import as_latex, export
from weft.report.intervals import interval_meaning
from weft.report.method import with_intervals
from weft.report.tabular import Table, comma_separated, markdown, terminal
from weft.report.view import RunView, load_view
from weft.text import console, markdown_text
from weft.words.say import say

SCHEMA = "weft-show/1"
FIELDS = (
    "cell", "kernel", "series", "nodes", "ranks_per_node", "ranks", "n", "m", "call", "phase", "status", "reason",
    "median_s", "low_s", "high_s", "coverage", "min_s", "p5_s", "p95_s", "p99_s", "max_s", "mean_s", "samples",
    "discarded", "disturbed", "lost_s", "lost_by", "launches", "launch_low_s", "launch_high_s", "interval", "batch",
    "definition", "ended_by", "algorithm", "bound_s", "bound", "block_bytes", "local_bytes", "array_bytes",
    "oversubscribed",
)  # fmt: skip


def show_object(view: RunView) -> dict[str, Any]:
    """The printed object as plain data."""
    plan = view.plan
    head = {"schema": SCHEMA, "run": str(view.path), "study": plan.study, "title": plan.title, "fabric": plan.fabric}
    head |= {"kind": plan.fabric_kind, "mpi": view.mpi, "simulated": plan.is_model}
    ends = {"start": "from", "end": "to"}
    return head | {
        "virtual": plan.planned_fabric.is_emulated,
        "headline": view.headline,
        "card": [row._asdict() for row in card_of(view).rows],
        "claims": [{**claim, "more": extras(claim)} for claim in view.claims],
        "quality": {"grade": view.grade, "doubts": view.quality},
        "rows": [{name: row[name] for name in FIELDS} for row in view.rows],
        "verdicts": [{ends.get(key, key): value for key, value in row.items()} for row in view.verdicts],
        "sensitivity": SENSITIVITY.read(view.path),
        "floor": view.floor,
        "findings": view.findings,
        **link_fields(view),
        **view.story.fields(view),
    }


def as_json(view: RunView) -> str:
    """The object as text; a number that JSON cannot represent becomes null (and an error among the findings)."""
    return json.dumps(_finite(show_object(view)), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_table(value):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if is_list(value) else value


#: A table of more rows is shown with so many at either end: they come in twos, a time and its bound.
MOST_ROWS, AT_EITHER_END = 60, 20
#: So many findings are printed without ``--all``.
MOST_FINDINGS = 5
STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}
Format = Literal["text", "md", "csv", "json", "latex", "osu", "reframe", "openmetrics"]


def meaning(views: Sequence[RunView], tables: Sequence[Table]) -> str:
    """What the numbers of some runs' tables are, and their marks: those alone that stand there."""
    rows = [row for view in views for row in with_intervals(view)]
    several = any(row["launches"] > 1 for row in rows)
    cells = [cell for table in tables for row in (table.columns, *table.rows) for cell in row]
    sentences = [
        "Median of the launches' medians." if several else "",
        interval_meaning(rows),
        "*: more ranks than cores." if any(cell.endswith(" *") for cell in cells) else "",
        "At least: the lower bound and its cause." if any(cell.strip() == "at least" for cell in cells) else "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def all_tables(view: RunView) -> list[Table]:
    """Every table of a run, in reading order."""
    return [*view.story.tables(view), *common_tables(view)]


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
    _print_findings(view, out, every)
    found = all_tables(view)
    for table in found if every else map(shortened, found[:1]):
        out.print()
        out.print(terminal(fitting(headed(table), out.width), out.width))
    out.print(meaning([view], found), style="dim")
    if not every and (hidden := _hidden(view, found)):
        out.print(f"{hidden}: weft show {shlex.quote(str(view.path))} --all", style="dim")


def _hidden(view: RunView, found: Sequence[Table]) -> str:
    """What of a run's findings and tables is not printed without ``--all``, in words."""
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


def _print_findings(view: RunView, out: Any, every: bool) -> None:
    """A line a finding, the most severe first; with ``every`` each place of it."""
    found = view.claimed("finding")
    for claim in found if every else found[:MOST_FINDINGS]:
        row = say(claim)
        out.print()
        out.print(f"{row.label}: {row.value}", style=STYLES[row.label])
        out.print(f"  -> {row.note}")
        for other in others_of(view, claim) if every else ():
            out.print(f"     also {other}", style="dim")


def others_of(view: RunView, claim: ClaimRow) -> list[str]:
    """The further places of a finding."""
    rows = [view.findings[int(each.partition(":")[2])] for each in claim["evidence"][1:]]
    return [f"{row['where']}: {row['what']}" for row in rows]


def headed(table: Table) -> Table:
    """The table with its second row of headings, which is its first row, below the first."""
    second, *rows = table.rows
    both = zip(table.columns, second, strict=True)
    columns = tuple(type(first)("\n".join(filter(None, (first, more)))) for first, more in both)
    return Table(table.title, columns, tuple(rows))


def fitting(table: Table, width: int) -> Table:
    """The table with each interval (and each bound's name) on its own line, if it is too wide otherwise."""
    columns = zip(table.columns, *table.rows, strict=True)
    longest = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    if sum(longest) + 2 * len(longest) <= width:
        return table
    # ``52.1 ms (51.8–52.9)`` and ``1.2 s, memory copy`` over two lines; numbers such as ``1,024 kB`` over one
    broken = (tuple(cell.replace(" (", "\n(").replace(", ", "\n") for cell in row[1:]) for row in table.rows)
    rows = tuple((row[0], *cells) for row, cells in zip(table.rows, broken, strict=True))
    return replace(table, rows=rows)


def as_markdown(view: RunView) -> str:
    """Verdict, tables and findings in Markdown."""
    tables = all_tables(view)
    card = card_of(view)
    rows = [markdown_text(f"- **{row.label}** {row.text}") for row in card.rows]
    parts = [
        f"# {markdown_text(view.titled(view.name))}",
        markdown_text(" · ".join(card.facts)),
        "\n".join(rows),
        *(markdown(table) for table in tables),
        meaning([view], tables),
    ]
    found = [
        markdown_text(f"- **{extras(claim)['level']}** {row.value}. {row.note}.")
        for claim in view.claimed("finding")
        for row in [say(claim)]
    ]
    return "\n\n".join([*parts, *(["\n".join(found)] if found else [])]) + "\n"


def as_csv(view: RunView) -> str:
    """One line per cell, call and phase, in seconds and bytes, unrounded: the fields of the JSON's rows."""
    rows = ([row[name] for name in FIELDS] for row in view.rows)
    return comma_separated(FIELDS, [[" ".join(each) if is_list(each) else each for each in row] for row in rows])
