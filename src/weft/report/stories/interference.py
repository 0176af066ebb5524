# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``interference``: a tile for each call beside each kind of traffic; a table with tails and causes."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.tables.answers import IMPACTS, ImpactRow
from weft.format import exact_bytes, format_seconds, measured_factor, times_text
from weft.report.figures import Figure, Figures
from weft.report.tabular import Table, Words, existing, make_table
from weft.report.view import RunView, Story
from weft.words.answers import PLACES, VICTIMS

KEY = "Number and colour: time beside the traffic of the other job over the time alone, medians in turns of one launch."
BESIDE = "beside / alone"
MOST = 4.0  # times and more have the darkest colour


class InterferenceStory(Story):
    """Impact by victim and aggressor."""

    def tables(self, view: RunView) -> list[Table]:
        return existing(make_table(
            view.titled("Impact of another job"), IMPACTS.read(view.path),
            (Words("call"), "", lambda row: _labels(row)[0]), (Words("beside"), "", lambda row: _labels(row)[1]),
            (Words("place"), "", lambda row: PLACES[row["place"]]),
            ("alone", "median", lambda row: format_seconds(row["alone_s"])),
            ("median", BESIDE, lambda row: times_text(row["factor"], row["low"], row["high"])),
            ("p95", BESIDE, lambda row: times_text(row["p95"], row["p95_low"], row["p95_high"])),
            ("p99", BESIDE, lambda row: times_text(row["p99"], row["p99_low"], row["p99_high"])),
            ("predicted", "model", lambda row: times_text(row["predicted"])),
            (Words("both use"), "fullest cable", _link),
        ))  # fmt: skip

    def figures(self, view: RunView) -> Figures:
        rows = IMPACTS.read(view.path)
        places = dict.fromkeys(row["place"] for row in rows)
        panels = tuple(_panel(PLACES[place], [row for row in rows if row["place"] == place]) for place in places)
        title = view.titled("Slow-down of a job beside another one")
        return [Figure("impact", title, KEY, view.headline, panels)] if panels else []


def _labels(row: ImpactRow) -> tuple[str, str]:
    strength = "" if row["percent"] == 100 else f" {row['percent']} %"
    return f"{VICTIMS[row['victim']]}, {exact_bytes(row['bytes'])}, {row['ranks']} ranks", row["aggressor"] + strength


def _link(row: ImpactRow) -> str:
    return "not known" if row["link"] is None else row["link"] or "none"


def _panel(title: str, found: Sequence[ImpactRow]) -> Any:
    import altair as alt

    from weft.report.figures.theme import ORANGE, chart

    rows = [
        dict(zip(("call", "beside"), _labels(row), strict=True))
        | {"factor": row["factor"], "text": measured_factor(row["factor"]), "link": _link(row)}
        for row in found
    ]
    calls, besides = (list(dict.fromkeys(_labels(row)[k] for row in found)) for k in (0, 1))
    x = alt.X("beside:N", sort=besides, title=None, axis=alt.Axis(labelAngle=-40, labelOverlap=False))
    base = chart(rows).encode(x=x, y=alt.Y("call:N", sort=calls, title=None))
    scale = alt.Scale(domain=[1, MOST], range=["#f3f4f6", ORANGE], clamp=True, interpolate="rgb")
    colour = alt.Color("factor:Q", legend=None, scale=scale)
    tooltip = [alt.Tooltip(f"{field}:N") for field in ("call", "beside", "text", "link")]
    heading = alt.TitleParams(title, fontSize=12, anchor="middle")
    return alt.layer(
        base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip),
        # a colour of its own: ink turns light in dark mode, and tiles do not
        base.mark_text(fontSize=11, fontWeight="bold", color="#111").encode(text="text:N"),
    ).properties(width=max(180, 56 * len(besides)), height=max(40, 30 * len(calls)), title=heading)


STORY = InterferenceStory
