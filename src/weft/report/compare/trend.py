# SPDX-License-Identifier: BSD-3-Clause
"""The history of a study as a table and a picture: each run's time over the usual one, and where it changed."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from weft.analyse.compare.trend import Trend, trend
from weft.analyse.tables.claims import is_doubtful
from weft.format import format_factor, plural, times_text
from weft.report.card import print_rows
from weft.report.compare.load import Compare, sides_of, view_of
from weft.report.compare.page import again, differences, provenance
from weft.report.compare.tables import p_equals
from weft.report.figures import Figure
from weft.report.figures.theme import BLUE, GREY, RED, chart
from weft.report.html import figure_values, fill, write_figures, write_page
from weft.report.tabular import Table, Words, comma_separated, make_table, markdown, terminal
from weft.report.view import RunView
from weft.text import markdown_text
from weft.words.card import Card
from weft.words.comparisons import name_place
from weft.words.doubts import grade_text
from weft.words.row import Row

KEY = "A line a row of the study: its time over its median of all runs. Thick: their geometric mean. Dashed: a change."
MOST_LINES = 60


def card_of(found: Trend, runs: Compare | None = None) -> Card:
    """What the history shows: which runs, then a row for each change, and the runs that are doubtful."""
    rows = [*_rows(found), *(_doubts(runs) if runs else ())]
    spanned = f"{plural(len(found.sides), 'run')} from {day(found.times[0])} to {day(found.times[-1])}"
    return Card(f"History of {found.sides[0].study}", (spanned, plural(len(found.keys), "common row")), tuple(rows))


def _rows(found: Trend) -> list[Row]:
    if found.why:
        return [Row("trend.inconclusive", "Inconclusive", found.why)]
    if found.drift:
        text = f"{name_place(found.drift.key)}: {times_text(found.drift.factor)} in the last run"
        return [Row("trend.drift", "Drift", text, "over a straight line from the first run; no date")]
    rows: list[Row] = []
    for change in found.changes:
        others = f"; with it {change.rows - 1} of {plural(len(found.keys) - 1, 'other row')}" if change.rows > 1 else ""
        days = f"between {day(found.times[change.at - 1])} and {day(found.times[change.at])}"
        text = f"{name_place(change.key)}: {times_text(change.factor)} ({p_equals(change.p)})"
        since = f"{days}, from {found.sides[change.at].name} on{others}"
        rows.append(Row("trend.change", "Changed", text, since))
    return rows or [Row("trend.no-change", "No change shown", "")]


def _doubts(runs: Compare) -> list[Row]:
    return [
        Row("confidence", "Confidence", grade, f"{side.name}: {reason}")
        for side, view in zip(runs.sides, runs.views, strict=True)
        if is_doubtful(view.claims)
        for grade, reason in (grade_text(view.claimed("doubt")),)
    ]


def day(time: str) -> str:
    """An ISO time to the minute."""
    return time[:16].replace("T", " ")


def table(found: Trend) -> Table:
    """One row a run: when, its launches, its time over the usual one, and the slowest and fastest row of it."""
    overall, changed = found.overall(), {change.at for change in found.changes}
    return make_table(
        "History", range(len(found.sides)),
        (Words("Begun"), "UTC", lambda k: day(found.times[k])), (Words("Run"), "", lambda k: found.sides[k].name),
        ("Launches", "", lambda k: str(found.sides[k].launches)),
        ("Time", "over the usual", lambda k: format_factor(overall[k])),
        ("Rows", "fastest – slowest",
         lambda k: " – ".join(format_factor(float(end(found.relative[k]))) for end in (np.min, np.max))),
        (Words(""), "", lambda k: "changed" if k in changed else ""),
    )  # fmt: skip


def figure(found: Trend) -> Figure:
    """Relative times over the runs, with a stroke where they changed."""
    rows = {str(row): found.relative[:, row].tolist() for row in range(min(len(found.keys), MOST_LINES))}
    reading = "; ".join(f"{row.label}: {row.text}" for row in _rows(found))
    panel = draw_history(found.times, rows, found.overall(), [change.at for change in found.changes])
    return Figure("trend", "History of the times", KEY, reading, (panel,))


def draw_history(
    times: Sequence[str], rows: Mapping[str, Sequence[float]], mean: Sequence[float], steps: Sequence[int]
) -> Any:
    """A thin line for each row (nan where it has no time), a thick one for their mean, and strokes at ``steps``."""

    def points(own: Sequence[float], row: str = "") -> list[dict[str, Any]]:
        known = zip(times, own, strict=True)
        return [{"time": time, "row": row, "relative": value} for time, value in known if math.isfinite(value)]

    x = alt.X("time:T", title="begun (UTC)", scale=alt.Scale(type="utc"), axis=_days(times))
    y = alt.Y("relative:Q", title="time over the usual", scale=alt.Scale(zero=False))
    thin = chart(point for name, own in rows.items() for point in points(own, name)).encode(x=x, y=y)
    layers: list[Any] = [
        thin.mark_line(color=GREY, opacity=0.4, strokeWidth=1).encode(detail="row:N", tooltip=["row:N", "relative:Q"]),
        chart(points(mean)).mark_line(color=BLUE, strokeWidth=3, point=True).encode(x=x, y=y),
    ]
    if steps:
        strokes = chart({"time": times[at]} for at in steps)
        layers.append(strokes.mark_rule(color=RED, strokeDash=[6, 4], strokeWidth=2).encode(x=x))
    return alt.layer(*layers).properties(width=720, height=280)


def _days(times: Sequence[str]) -> alt.Axis:
    """An axis of some eight dates, with the time of the day where all runs are of a few days."""
    try:
        days = (datetime.fromisoformat(times[-1]) - datetime.fromisoformat(times[0])).days
    except (ValueError, TypeError):  # runs of others, whose time was not recorded or has no zone
        return alt.Axis()
    form, count = ("%b %d", alt.TimeIntervalStep("day", days // 8 + 1)) if days > 4 else ("%b %d %H:%M", 6)
    return alt.Axis(format=form, tickCount=count, labelOverlap="greedy", labelSeparation=8)


def load_trend(folders: Sequence[Any]) -> tuple[Compare, Trend]:
    """Load runs in the order of their times, and find the changes of their history."""
    views = sorted(map(view_of, folders), key=begun)
    names = [view.path.name for view in views]
    if len(set(names)) < len(names):
        names = [str(view.path) for view in views]
    sides = sides_of(views, names)
    return Compare(tuple(views), sides, ()), trend(sides, [begun(view) for view in views])


def begun(view: RunView) -> str:
    """ISO time at which a run was begun."""
    return str(view.meta.get("created", ""))


def render(found: Trend, format: str) -> str:
    """The history as ``md``, ``csv`` or ``json`` (weft-trend/1)."""
    if format == "md":
        rows = [f"- **{row.label}** {markdown_text(row.text)}" for row in card_of(found).rows]
        return "\n\n".join(["\n".join(rows), markdown(table(found))]) + "\n"
    if format == "csv":
        return comma_separated(table(found).columns, table(found).rows[1:])
    runs = [
        {"run": side.path, "begun": time, "launches": side.launches, "relative": value}
        for side, time, value in zip(found.sides, found.times, found.overall(), strict=True)
    ]
    changes = [
        {"from": found.sides[change.at].path, "after": found.times[change.at - 1], "by": found.times[change.at]}
        | {"factor": change.factor, "p": change.p, "rows": change.rows, "row": name_place(change.key)}
        for change in found.changes
    ]
    drift = found.drift and {"factor": found.drift.factor, "p": found.drift.p, "row": name_place(found.drift.key)}
    whole = {"schema": "weft-trend/1", "rows": len(found.keys), "runs": runs, "changes": changes, "drift": drift}
    return json.dumps(whole | {"why": found.why}, indent=1, ensure_ascii=False) + "\n"


def print_trend(found: Trend, out: Any) -> None:
    """Print what the history shows, and the table of its runs."""
    print_rows(card_of(found), "A", out)
    out.print()
    out.print(terminal(table(found), out.width))


def write(runs: Compare, found: Trend, path: Path, *, formats: Collection[str] = ()) -> None:
    """Write the page, and on request the picture beside it in some ``formats`` (``svg``, ``pdf``, ``png``)."""
    drawn = figure(found)
    page = fill(
        "compare.html",
        command=again(runs, "--trend"),
        title=f"History of {found.sides[0].study}",
        label=runs.label,
        cards=[(card_of(found, runs), max(view.grade for view in runs.views))],
        tables=[table(found)],
        gates=[],
        proof=figure_values(drawn.name, drawn),
        figures=[],
        runs=[{"name": side.name, "provenance": provenance(runs, k)} for k, side in enumerate(runs.sides)],
        differences=differences(runs),
        meaning="Time over the usual: geometric mean over rows of a run's time over the median of all runs.",
    )
    write_page(path, page)
    if formats:
        write_figures([drawn], path.parent / "figures", formats)
