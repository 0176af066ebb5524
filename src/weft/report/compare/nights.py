# SPDX-License-Identifier: BSD-3-Clause
"""The history of the nights of ``weft watch``: its card, one page, and its numbers as OpenMetrics."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from weft.analyse.compare.nights import FEWEST, Alarm, find_alarms, new_parts, relative_times
from weft.files.atomic import write_atomic
from weft.format import format_factor, plural, times_text
from weft.report.compare.trend import day, draw_history
from weft.report.export import escaped
from weft.report.figures import Figure, Picture
from weft.report.figures.theme import BLUE, FONT, INK, RED
from weft.report.html import figure_values, fill, write_page
from weft.report.tabular import Table, Words, make_table
from weft.words.card import Card
from weft.words.row import Row

MOST_LINES = 12
SHOWN_ALARMS, SHOWN_NIGHTS = 20, 60
LINES = "A line a row: its time over its median of all nights. Thick: their mean. Dashed: a change."
CALENDAR = "Rows: nodes, columns: nights, oldest first. Blue: visited; red: the run of that night names it as slow."
CELL = 9
LATE = 10
"""Nights by which times may show a part later than the run that first names it."""


class Nights:
    """A history of nights with its alarms.

    ``nights``: oldest first, each a `weft.run.nightly.Night`; ``precision``: relative, as the study asked for: no
    smaller change counts; ``hosts``: all nodes of the fabric.
    """

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
        found += [f"{name}: {was} -> {now}" for name, (was, now) in self.differences(alarm)]
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
        return Card(f"{self.study} on {self.fabric}", (span, plural(len(self.rows), "row")), rows)

    def _row(self, alarm: Alarm) -> Row:
        text, since = f"{self.row_name(alarm)}: {times_text(alarm.factor)}", day(self.nights[alarm.at].begun)
        causes = "; ".join(self.causes(alarm)) or "nothing else changed that Weft records"
        label, text = ("Changed", f"{text} since {since}") if alarm.seen else ("Slow", f"from the first night, {since}")
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
        rows = {name: relative[:, place].tolist() for place, name in enumerate(self.rows[:MOST_LINES])}
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
        reading = f"{plural(len(last), 'node')} of {len(self.hosts)} visited"
        reading += f"; not yet: {', '.join(never[:12])}{' ...' if len(never) > 12 else ''}." if never else "."
        return Picture("calendar", "Calendar of nodes", CALENDAR, reading, "".join([*parts, "</svg>"]))

    def metrics(self) -> str:
        """The last night as version 1.0 of OpenMetrics: the textfile that a node exporter reads."""
        where = f'study="{escaped(self.study)}",fabric="{escaped(self.fabric)}"'
        night, alarm = self.nights[-1], self.last_alarm
        lines = ["# TYPE weft_watch_seconds gauge", "# UNIT weft_watch_seconds seconds"]
        lines.append("# HELP weft_watch_seconds Median of a row in the last night.")
        for name, value in night.seconds.items():
            lines.append(f'weft_watch_seconds{{{where},row="{escaped(name)}"}} {value:.9g}')
        for name, words, value in (
            ("alarm", "Whether the last night gave an alarm.", int(alarm is not None)),
            ("factor", "Time after over time before, of the last alarm.", alarm.factor if alarm else 1.0),
            ("nights", "Nights in the history.", len(self.nights)),
            ("last_night_seconds", "When the last night was begun.", night.at.timestamp()),
        ):
            lines.append(f"# TYPE weft_watch_{name} gauge")
            lines += ["# UNIT weft_watch_last_night_seconds seconds"] if name.endswith("_seconds") else []
            lines += [f"# HELP weft_watch_{name} {words}", f"weft_watch_{name}{{{where}}} {value:.9g}"]
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
        cards=[(found.card(), "B")],
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
