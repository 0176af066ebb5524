# SPDX-License-Identifier: BSD-3-Clause
"""The look that all figures share, and the labels of logarithmic axes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import altair as alt
from altair.utils import schemapi

from weft.format import SECONDS, seconds_unit
from weft.text import plain_tree
from weft.units import RATES, SIZES

Chart: TypeAlias = Any
# Okabe and Ito's palette: distinguishable with all common kinds of colour blindness, and in grey.
BLUE, ORANGE, GREEN, RED, GREY, INK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#6b7280", "#1f2937"
#: Words in these colours are too faint on white paper (a contrast below 4.5): they are written in a darker shade.
DARKER = {ORANGE: "#8f6200", GREEN: "#007a59", RED: "#b85100"}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
WIDTH, HEIGHT = 620, 320
COLUMNS = 3
OF_THE_WHOLE = ("$schema", "config", "datasets")  # keys of a specification that its panels do not have

# Whether a chart follows Vega-Lite's schema does not depend on the data: the tests validate each figure
# (tests/conftest.py turns this on again), so no user waits for it.
schemapi.disable_debug_mode()


def _as_it_is(part: Any, _: Any) -> Any:
    return part


# Altair copies every part of a chart several times on its way to JSON, which took half of the time of a report. These
# parts are never changed once they are made.
NEVER_CHANGED: tuple[Any, ...] = (alt.Axis, alt.InlineData, alt.Legend, alt.MarkDef, alt.Scale, alt.Tooltip)
for each in NEVER_CHANGED:
    each.__deepcopy__ = _as_it_is

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "white",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 8, "labelColor": INK,
        "titleColor": INK, "gridColor": "#e5e7eb", "domainColor": "#9ca3af", "tickColor": "#9ca3af",
    },
    "title": {
        "fontSize": 15, "subtitleFontSize": 12, "anchor": "start", "color": INK, "subtitleColor": GREY, "offset": 12,
    },
    "text": {"fontSize": 12, "color": INK},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": INK, "titleColor": INK},
    "header": {"labelColor": INK, "titleColor": INK},
}  # fmt: skip


def beside(panels: Sequence[Mapping[str, Any]], columns: int, spacing: int) -> dict[str, Any]:
    """Specifications side by side as one."""
    parts = [{key: value for key, value in panel.items() if key not in OF_THE_WHOLE} for panel in panels]
    datasets = {name: rows for panel in panels for name, rows in panel.get("datasets", {}).items()}
    shared = {key: panels[0][key] for key in OF_THE_WHOLE if key in panels[0]}
    return {"concat": parts, "columns": columns, "spacing": spacing} | shared | {"datasets": datasets}


def specification(chart: Chart) -> dict[str, Any]:
    """A chart as Vega-Lite JSON with the looks of all figures, without control characters: vl-convert aborts there."""
    found: dict[str, Any] = plain_tree(chart.to_dict(validate=schemapi.DEBUG_MODE))
    return found | {"config": CONFIG | {"view": found["config"]["view"] | CONFIG["view"]}}


def chart(rows: Iterable[Mapping[str, object]]) -> alt.Chart:
    """A chart of some rows."""
    return alt.Chart(alt.InlineData(values=list(rows)))


def tooltips(**named: str) -> list[alt.Tooltip]:
    """What a mark tells when it is pointed at: fields of its row, by what they are called there."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in named.items()]


def decades(low: float, high: float, steps: Sequence[float] = (1,)) -> list[float]:
    """Ticks of a logarithmic axis from ``low`` to ``high``: so many steps of each power of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]


def palettes(names: Sequence[str], colours: Sequence[str]) -> tuple[alt.Scale, alt.Scale]:
    """A colour for each name, in turn: for marks, and the same or a darker shade for words."""
    chosen = [colours[index % len(colours)] for index in range(len(names))]
    words = [DARKER.get(colour, colour) for colour in chosen]
    return alt.Scale(domain=list(names), range=chosen), alt.Scale(domain=list(names), range=words)


def unit_of(seconds: Iterable[float | None]) -> tuple[str, float]:
    """The unit that suits the largest of some times."""
    return seconds_unit(max((value for value in seconds if value is not None), default=1.0))


def grows_by(numbers: Sequence[float]) -> float:
    """Largest over smallest of some positive numbers."""
    return max(numbers) / min(numbers) if numbers and min(numbers) > 0 else 1.0


def along(axis: str, points: Sequence[int], logarithmic: bool, room: float = 0.46) -> alt.X:
    """The axis of nodes or ranks: a tick at each point, and space on the right for the lines' labels."""
    first, last = points[0], points[-1]
    # labels of neighbours must not touch: leave out those that do not fit
    span = grows_by(points) if logarithmic else (last - first) or 1
    if logarithmic:
        scale = alt.Scale(type="log", domain=[first / span**0.03, last * span**room], nice=False)
    else:
        scale = alt.Scale(domain=[first - 0.05 * span, last + room * span], nice=False)
    title = {"nodes": "number of nodes N", "ranks": "number of ranks p (on one node)"}[axis]
    ticks = alt.Axis(values=list(points), format=",d", grid=False, labelOverlap=True)
    return alt.X("x:Q", title=title, scale=scale, axis=ticks)


def dodged(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions at least ``gap`` apart, in the order of the wanted ones, moved upwards as little as possible."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + gap)
    # shift all back by half of the largest move, so that the group stays centred
    shift = (placed[order[-1]] - wanted[order[-1]]) / 2 if order else 0.0
    return [value - shift for value in placed]


def label_expression(units: Mapping[str, float]) -> str:
    """A Vega expression for a tick in the largest of ``units`` (name to factor, smallest first) that fits."""
    text, *others = (f"format(datum.value / {factor!r}, '~r') + ' {name}'" for name, factor in units.items())
    # a tick such as 1e-6 may lie a rounding error below its unit, so a unit begins halfway to the one before
    for (below, factor), label in zip(pairwise(units.values()), others, strict=True):
        text = f"datum.value >= {factor / 2 if factor / below < 1024 else factor!r} ? {label} : {text}"
    return text


SECONDS_LABEL = label_expression(SECONDS)
RATES_LABEL = label_expression(RATES)
BYTES_LABEL = label_expression(SIZES)
