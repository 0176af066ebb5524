# SPDX-License-Identifier: BSD-3-Clause
"""One offline page about a comparison: differences, figures, tables, and the provenance of the runs."""

import math
import shlex
from collections.abc import Callable, Collection, Sequence
from html import escape
from pathlib import Path

from weft.analyse.compare.claims import Verdict, choose_ratios, claim_gate
from weft.analyse.compare.comparison import Evidence
from weft.format import format_factor
from weft.report import method
from weft.report.compare import Compare
from weft.report.compare.figures import all_figures
from weft.report.compare.tables import MEANING, all_tables
from weft.report.figures import Figure, Picture
from weft.report.html import figure_values, fill, write_figures, write_page
from weft.report.view import RunView
from weft.words.card import say
from weft.words.comparisons import factor_text, name_place

MOST = 12
WIDE, LABEL, VALUE, ROW, TOP, RADIUS = 760, 270, 170, 34, 26, 6
NARROW = 1.05  # the axis reaches at least so far to both sides of 1
MARKS = {"slower": "hot-bar", "faster": "cool-bar"}
KEY = (
    "Time over the base's, logarithmic; bar: 95 % interval (of models: the range of what they leave out). "
    "Red: slower, blue: faster, hollow: no difference shown. Line: equal times."
)


def write(found: Compare, verdicts: Sequence[Verdict], path: Path, *, formats: Collection[str] = ()) -> Path:
    """Write the page, and its figures as files of some ``formats`` (svg, pdf, png) into ``figures/``; the path."""
    figures = all_figures(found)
    write_page(path, render(found, verdicts, figures))
    if formats:
        write_figures(figures, path.parent / "figures", formats)
    return path


def render(found: Compare, verdicts: Sequence[Verdict], figures: Sequence[Figure]) -> str:
    """The page's HTML."""
    return fill(
        "compare.html",
        command=again(found),
        title=found.title,
        label=found.label,
        cards=found.cards,
        tables=[table for each in found.comparisons for table in all_tables(each)],
        gates=[(say(claim_gate(each)), each.state) for each in verdicts],
        proof=figure_values("ratios", draw_ratios(found)),
        figures=[figure_values(figure.name, figure) for figure in figures],
        runs=[{"name": side.name, "provenance": provenance(view)} for side, view in found.runs],
        differences=differences(found),
        meaning=MEANING,
    )


def again(found: Compare, *options: str) -> str:
    """The command that compares the runs once more."""
    return shlex.join(["weft", "compare", *options, *(str(view.path) for view in found.views), "-o", "compare.html"])


def provenance(view: RunView) -> method.Facts:
    """Provenance of a run, with its settings."""
    return [*method.provenance(view), *((f"setting {name}", value) for name, value in method.settings(view))]


def differences(found: Compare) -> list[tuple[str, list[str]]]:
    """Facts in which the runs differ, which may be causes; folder, date and seed always differ and are left out."""
    runs = [dict(provenance(view)) for view in found.views]
    names = dict.fromkeys(name for run in runs for name in run)
    idle = {"Run folder", "Made", "Seed", "Timer"}
    listed = [(name, [run.get(name, "not set") for run in runs]) for name in names if name not in idle]
    return [(name, values) for name, values in listed if len(set(values)) > 1]


def draw_ratios(found: Compare) -> Picture:
    """The ratios that answer, at most `MOST`, of all comparisons on one axis."""
    several = len(found.comparisons) > 1
    chosen = [
        (f"{comparison.other.name}: " if several else "", each)
        for comparison in found.comparisons
        for each in choose_ratios(comparison)[: max(1, MOST // len(found.comparisons))]
    ]
    rows = [(name + name_place(each), each.evidence) for name, each in chosen]
    ends = [end for _, each in rows for end in (each.ratio, each.low or each.ratio, each.high or each.ratio)]
    low, high = math.log(min(1 / NARROW, *ends)), math.log(max(NARROW, *ends))
    room, span = WIDE - LABEL - VALUE, high - low

    def place(ratio: float) -> float:
        return LABEL + 18 + (room - 36) * (math.log(ratio) - low) / span

    tall = TOP + ROW * len(rows) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {tall}" class="proof">',
        f'<path d="M{place(1):.1f} {TOP - 8}V{tall - 22}" class="whisker" stroke-dasharray="5 4"/>',
        f'<text x="{place(1):.1f}" y="{TOP - 12}" text-anchor="middle" class="d">1x</text>',
        *(
            f'<text x="{place(end):.1f}" y="{tall - 6}" text-anchor="middle" class="d">{format_factor(end)}x</text>'
            for end in sorted({min(ends), max(ends)})
            if abs(math.log(end)) > 0.02
        ),
    ]
    for index, (name, each) in enumerate(rows):
        y = TOP + ROW * index + ROW / 2
        shown = escape(name if len(name) <= 40 else f"{name[:39]}…")
        parts.append(f'<text x="{LABEL}" y="{y + 5:.0f}" text-anchor="end">{shown}<title>{escape(name)}</title></text>')
        parts += _mark(each, place, y)
        parts.append(f'<text x="{WIDE - VALUE + 14}" y="{y + 5:.0f}">'
                     f"{escape(factor_text(each.ratio, each.low, each.high))}</text>")  # fmt: skip
    title = found.titled("Ratios")
    return Picture("ratios", title, KEY, f"{rows[0][0]}: {factor_text(rows[0][1].ratio)}.", "".join([*parts, "</svg>"]))


def _mark(each: Evidence, place: Callable[[float], float], y: float) -> list[str]:
    kind = MARKS.get(each.outcome, "box")
    circle = f'<circle cx="{place(each.ratio):.1f}" cy="{y:.0f}" r="{RADIUS}" class="{kind}"/>'
    if each.low is None or each.high is None:
        return [circle]
    one, two = place(each.low), place(each.high)
    whisker = f"M{one:.1f} {y:.0f}H{two:.1f}M{one:.1f} {y - 5:.0f}v10M{two:.1f} {y - 5:.0f}v10"
    return [f'<path d="{whisker}" class="whisker"/>', circle]
