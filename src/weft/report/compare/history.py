# SPDX-License-Identifier: BSD-3-Clause
"""The history of a study's runs, and of the nights of ``weft watch``: card, table, picture, page, OpenMetrics."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from weft.analyse.compare.nights import FEWEST, Alarm, find_alarms, new_parts, relative_times
from weft.analyse.compare.trend import Trend, trend
from weft.analyse.tables.claims import is_doubtful
from weft.files.atomic import write_atomic
from weft.format import format_factor, plural, times_text
from weft.report.card import print_rows
from weft.report.compare import Compare, sides_of, view_of
from weft.report.compare.page import again, differences, provenance
from weft.report.compare.tables import p_equals
from weft.report.export import escaped, gauge
from weft.report.figures import Figure, Picture
from weft.report.figures.theme import BLUE, FONT, GREY, INK, RED, chart
from weft.report.html import figure_values, fill, write_figures, write_page
from weft.report.tabular import Table, Words, comma_separated, make_table, markdown, terminal
from weft.text import markdown_text
from weft.words import Row
from weft.words.card import Card, grade_text
from weft.words.comparisons import name_place

MOST_LINES, MOST_OF_NIGHTS, SHOWN_ALARMS, SHOWN_NIGHTS = 60, 12, 20, 60
CELL, LATE = 9, 10  # pixels; nights by which times may show a part later than the run that first names it
KEY = "A line a row of the study: its time over its median of all runs. Thick: their geometric mean. Dashed: a change."
LINES = "A line a row: its time over its median of all nights. Thick: their mean. Dashed: a change."
CALENDAR = "Rows: nodes, columns: nights, oldest first. Blue: visited; red: the run of that night names it as slow."


def card_of(found: Trend, runs: Compare | None = None) -> Card:
    """What the history shows: which runs, then a row for each change, and the runs that are doubtful."""
    rows = _rows(found)
    for side, view in runs.runs if runs else ():
        if is_doubtful(view.claims):
            grade, reason = grade_text(view.claimed("doubt"))
            rows.append(Row("confidence", "Confidence", grade, f"{side.name}: {reason}"))
    spanned = f"{plural(len(found.sides), 'run')} from {day(found.times[0])} to {day(found.times[-1])}"
    facts, grade = (spanned, plural(len(found.keys), "common row")), "A" if runs is None else runs.grade
    return Card(f"History of {found.sides[0].study}", facts, tuple(rows), grade)


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
        rows.append(Row("trend.change", "Changed", text, f"{days}, from {found.sides[change.at].name} on{others}"))
    return rows or [Row("trend.no-change", "No change shown", "")]


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

    axis = alt.Axis()  # of runs of others, whose time was not recorded or has no zone
    with suppress(ValueError, TypeError):
        days = (datetime.fromisoformat(times[-1]) - datetime.fromisoformat(times[0])).days
        form, count = ("%b %d", alt.TimeIntervalStep("day", days // 8 + 1)) if days > 4 else ("%b %d %H:%M", 6)
        axis = alt.Axis(format=form, tickCount=count, labelOverlap="greedy", labelSeparation=8)
    x = alt.X("time:T", title="begun (UTC)", scale=alt.Scale(type="utc"), axis=axis)
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


def load_trend(folders: Sequence[Any]) -> tuple[Compare, Trend]:
    """Load runs in the order of their times, and find the changes of their history."""
    views = sorted(map(view_of, folders), key=lambda view: str(view.meta.get("created", "")))
    names = [view.path.name for view in views]
    if len(set(names)) < len(names):
        names = [str(view.path) for view in views]
    sides = sides_of(views, names)
    return Compare(tuple(views), sides, ()), trend(sides, [str(view.meta.get("created", "")) for view in views])


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
    print_rows(card_of(found), out, terminal(table(found), out.width))


def write(runs: Compare, found: Trend, path: Path, *, formats: Collection[str] = ()) -> None:
    """Write the page, and on request the picture beside it in some ``formats`` (``svg``, ``pdf``, ``png``)."""
    drawn = figure(found)
    page = fill(
        "compare.html",
        command=again(runs, "--trend"),
        title=f"History of {found.sides[0].study}",
        label=runs.label,
        cards=[card_of(found, runs)],
        tables=[table(found)],
        gates=[],
        proof=figure_values(drawn.name, drawn),
        figures=[],
        runs=[{"name": side.name, "provenance": provenance(view)} for side, view in runs.runs],
        differences=differences(runs),
        meaning="Time over the usual: geometric mean over rows of a run's time over the median of all runs.",
    )
    write_page(path, page)
    if formats:
        write_figures([drawn], path.parent / "figures", formats)


class Nights:
    """Nights (`weft.run.nightly.Night`, oldest first) and their alarms; ``hosts``: all; ``precision``: relative."""

    def __init__(self, study: str, fabric: str, nights: Sequence[Any], precision: float, hosts: Sequence[str]) -> None:
        self.study, self.fabric, self.nights, self.hosts = study, fabric, nights, hosts
        self.rows = sorted({name for night in nights for name in night.seconds})
        logs = [[np.log(night.seconds.get(name, np.nan)) for name in self.rows] for night in nights]
        self.logs = np.array(logs, float).reshape(len(nights), len(self.rows))
        rounds = -(-len(hosts) // max(1, len(nights[-1].hosts)))  # nights in which every node has its turn
        self.new = new_parts([night.slow for night in nights], max(FEWEST, 2 * rounds))
        self.alarms = find_alarms(self.logs, float(np.log1p(precision)), self.new)

    @property
    def last_alarm(self) -> Alarm | None:
        """The alarm that the last night gave."""
        return next((alarm for alarm in self.alarms if alarm.seen == len(self.nights) - 1), None)

    def row_name(self, alarm: Alarm) -> str:
        """The row that shows an alarm best."""
        return self.rows[alarm.row] if alarm.row >= 0 else "mean of all rows"

    def causes(self, alarm: Alarm) -> list[str]:
        """What changed with an alarm: parts that the runs name, versions, and nodes that came or went."""
        before, after = self.nights[max(0, alarm.at - 1)], self.nights[alarm.at : alarm.seen + 1]
        new = set[str]().union(*self.new[max(0, alarm.at - LATE) : alarm.seen + 1])
        named = dict.fromkeys(name for night in after for name in night.slow)
        found = [f"slow: {name}" for name in named if name in new]
        found += [f"{name}: {' -> '.join(values)}" for name, values in self.differences(alarm)]
        others = [host for host in after[0].hosts if host not in before.hosts]
        # in turn every night has other nodes: they are a cause only where nothing else is
        return found or ([f"other nodes: {', '.join(others[:8])}"] if others else [])

    def differences(self, alarm: Alarm) -> list[tuple[str, list[str]]]:
        """Versions of the night before a change and of the first after it, where they differ."""
        before, after = self.nights[max(0, alarm.at - 1)].facts, self.nights[alarm.at].facts
        both = [(name, [before.get(name, "unknown"), after.get(name, "unknown")]) for name in {**before, **after}]
        return [(name, values) for name, values in both if values[0] != values[1]]

    def card(self) -> Card:
        """The last alarms, newest first, or that there is none."""
        span = f"{plural(len(self.nights), 'night')} from {day(self.nights[0].begun)} to {day(self.nights[-1].begun)}"
        rows = tuple(map(self._row, reversed(self.alarms[-5:]))) or (Row("watch.no-change", "No change shown", ""),)
        return Card(f"{self.study} on {self.fabric}", (span, plural(len(self.rows), "row")), rows, "B")

    def _row(self, alarm: Alarm) -> Row:
        text, since = f"{self.row_name(alarm)}: {times_text(alarm.factor)}", day(self.nights[alarm.at].begun)
        label, text = ("Changed", f"{text} since {since}") if alarm.seen else ("Slow", f"from the first night, {since}")
        causes = "; ".join(self.causes(alarm)) or "nothing else changed that Weft records"
        return Row("watch.change", label, text, causes)

    def alarm_table(self) -> Table:
        """The last alarms, newest first."""
        return make_table(
            "Last alarms", self.alarms[-SHOWN_ALARMS:][::-1],
            (Words("Since"), "UTC", lambda alarm: day(self.nights[alarm.at].begun)),
            (Words("Found"), "UTC", lambda alarm: day(self.nights[alarm.seen].begun)),
            (Words("Row"), "", self.row_name), ("Factor", "", lambda alarm: format_factor(alarm.factor)),
            (Words("What changed with it"), "", lambda alarm: "; ".join(self.causes(alarm))),
        )  # fmt: skip

    def night_table(self) -> Table:
        """The last nights, newest first."""
        _, overall = relative_times(self.logs)
        times = [format_factor(float(each)) if np.isfinite(each) else "–" for each in overall]
        rows = [
            (day(night.begun), night.run, str(len(night.hosts)), times[place], ", ".join(night.slow))
            for place, night in reversed(list(enumerate(self.nights))[-SHOWN_NIGHTS:])
        ]
        heading = (Words("Begun"), Words("Run"), "Nodes", "Time", Words("Slow"))
        return Table("Nights", heading, (("UTC", "", "", "over the usual", ""), *rows))

    def figure(self) -> Figure:
        """Relative times over the nights, with a stroke where they changed."""
        relative, overall = relative_times(self.logs)
        rows = {name: relative[:, place].tolist() for place, name in enumerate(self.rows[:MOST_OF_NIGHTS])}
        steps = [alarm.at for alarm in self.alarms]
        panel = draw_history([night.begun for night in self.nights], rows, overall.tolist(), steps)
        reading = "; ".join(f"{row.label}: {row.text}" for row in self.card().rows)
        return Figure("nights", "History", LINES, reading, (panel,))

    def calendar(self) -> Picture:
        """Which night visited which node."""
        nights = self.nights[-365:]
        left = 8 + 7 * max((len(host) for host in self.hosts), default=4)
        width, height = left + CELL * len(nights) + 8, CELL * len(self.hosts) + 8
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="{escape(FONT, quote=True)}" font-size="9" fill="{INK}">'
        ]
        step = max(1, -(-len(self.hosts) // 64))
        for place, host in enumerate(self.hosts):
            if place % step == 0:
                parts.append(f'<text x="{left - 4}" y="{CELL * place + 8}" text-anchor="end">{escape(host)}</text>')
            for column, night in enumerate(nights):
                if host in night.hosts:
                    colour = RED if any(host in name.split() for name in night.slow) else BLUE
                    parts.append(
                        f'<rect x="{left + CELL * column}" y="{CELL * place}" width="{CELL - 1}" height="{CELL - 1}" '
                        f'fill="{colour}"><title>{escape(host)}, {day(night.begun)}</title></rect>'
                    )
        last = {host: number for number, night in enumerate(self.nights) for host in night.hosts}
        never = [host for host in self.hosts if host not in last]
        yet = f"; not yet: {', '.join(never[:12])}{' ...' if len(never) > 12 else ''}" if never else ""
        reading = f"{plural(len(last), 'node')} of {len(self.hosts)} visited{yet}."
        return Picture("calendar", "Calendar of nodes", CALENDAR, reading, "".join([*parts, "</svg>"]))

    def metrics(self) -> str:
        """The last night as version 1.0 of OpenMetrics: the textfile that a node exporter reads."""
        where = f'study="{escaped(self.study)}",fabric="{escaped(self.fabric)}"'
        night, alarm = self.nights[-1], self.last_alarm
        factor = alarm.factor if alarm else 1.0
        rows = [(f'{where},row="{escaped(name)}"', value) for name, value in night.seconds.items()]
        lines: list[str] = []
        for name, unit, words, samples in (
            ("seconds", "seconds", "Median of a row in the last night.", rows),
            ("alarm", "", "Whether the last night gave an alarm.", [(where, int(alarm is not None))]),
            ("factor", "", "Time after over time before, of the last alarm.", [(where, factor)]),
            ("nights", "", "Nights in the history.", [(where, len(self.nights))]),
            ("last_night_seconds", "seconds", "When the last night was begun.", [(where, night.at.timestamp())]),
        ):
            lines += gauge(f"weft_watch_{name}", unit, words, samples)
        return "\n".join([*lines, "# EOF"]) + "\n"


def write_nights(found: Nights, folder: Path) -> Path:
    """Write ``index.html`` and ``metrics.prom`` beside the nights; returns the page."""
    page = folder / "index.html"
    figure, calendar = found.figure(), found.calendar()
    at = found.alarms[-1].at if found.alarms else len(found.nights)
    shown = found.nights[max(0, at - 1) : at + 1]
    text = fill(
        "compare.html",
        command=f"weft watch {found.study} --on {found.fabric}",
        title=f"{found.study} on {found.fabric}, night by night",
        label="",
        cards=[found.card()],
        tables=[found.alarm_table(), found.night_table()],
        gates=[],
        proof=figure_values(figure.name, figure),
        figures=[figure_values(calendar.name, calendar)],
        runs=[{"name": night.run, "provenance": list(night.facts.items())} for night in shown],
        differences=found.differences(found.alarms[-1]) if found.alarms else [],
        meaning="Time over the usual: geometric mean over rows of a night's time over the median of all nights.",
    )
    write_page(page, text)
    write_atomic(folder / "metrics.prom", found.metrics().encode())
    return page
