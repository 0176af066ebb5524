# SPDX-License-Identifier: BSD-3-Clause
"""A drawing of a fabric: leaves as boxes with their hosts, cables coloured by a value such as their load."""

import json
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from weft.errors import FabricError
from weft.fabric.drawing.describe import rate, sizes
from weft.fabric.drawing.sketch import Sketch, sketch
from weft.fabric.loads import relative_times
from weft.fabric.model import Fabric
from weft.fabric.network.graph import Floats, Network
from weft.fabric.summary import Summary
from weft.files.shipped import vega_bundle
from weft.format import format_factor
from weft.text import plain_tree

FORMATS = (".svg", ".png", ".html", ".json")
LEFT = 130.0  # space for the texts of the rows
Scale = tuple[float, float, float]  # values of the colours of a cable: `CALM`, `BUSY`, `HOT`
SCALE: Scale = (0.0, 1.0, 2.0)
Values = Floats | None  # of the links, (links,), any unit: the colour of their cables
FIT = "body { margin: 0; overflow-x: auto; } svg.marks { max-width: 100%; height: auto; }"
"""Style of a drawing's page: it is no wider than the window."""
INK, PAPER, QUIET = "#1f2933", "#f4f6f8", "#6b7785"
CALM, BUSY, HOT = "#cfd8e3", "#f0a429", "#c01c1c"


def draw(
    network: Network, title: str, subtitle: str = "", values: Values = None, meaning: str = "", scale: Scale = SCALE
) -> alt.LayerChart:
    """Draw a network; cables coloured by a value for each link, shape (links,), any unit, or grey."""
    plan = sketch(network, values)
    head = alt.TitleParams(title, subtitle=subtitle, anchor="start", color=INK, subtitleColor=QUIET, fontSize=17)
    page = {"width": plan.width + LEFT, "height": plan.height, "padding": 18, "background": "white"}
    drawn = layered(plan, meaning if values is not None else None, scale).properties(**page, title=head)
    return drawn.configure_view(stroke=None).configure_legend(titleColor=INK, labelColor=INK, titleLimit=400)


def layered(plan: Sketch, meaning: str | None, scale: Scale, legend: bool = True) -> Any:
    """A sketch as a chart without title and size; lines are grey without a ``meaning`` of their values."""
    layers = [_cables(plan, meaning, scale, legend), *_labels(plan), *_boxes(plan)]
    if plan.rows:
        rows = [{"x": -LEFT, "y": y, "under": y + 15, "text": text, "below": below} for y, text, below in plan.rows]
        data = alt.Data(values=rows)
        layers.append(_text(plan, data, "x", "y", "text", 13, INK, "left"))
        layers.append(_text(plan, data, "x", "under", "below", 11, QUIET, "left"))
    return alt.layer(*layers)


def save(chart: alt.LayerChart, path: Path) -> None:
    """Write a drawing as SVG, PNG, HTML (offline) or Vega-Lite JSON, by its extension; FabricError if impossible."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        remedy = f"end the name in {', '.join(FORMATS)}"
        raise FabricError(f"cannot draw into {path}: no format {path.suffix!r}", remedy)
    tree = plain_tree(chart.to_dict())  # vl-convert aborts at control characters in names
    shown = alt.LayerChart.from_dict(tree, validate=False)
    try:
        if suffix == ".html":
            path.write_text(_page(tree), encoding="utf-8")
        else:
            shown.save(str(path), scale_factor=2 if suffix == ".png" else 1)
    except OSError as error:
        raise FabricError(f"cannot write {path}: {error.strerror}", "choose another place with -o") from error


def _page(tree: dict[str, Any]) -> str:
    options = {"renderer": "svg", "actions": {"source": False, "compiled": False, "editor": False}}
    drawn, how = (json.dumps(each).replace("<", "\\u003c") for each in (tree, options))  # no </script> in names
    return f"""\
<!DOCTYPE html>
<html>
<head><meta charset="UTF-8"><style>{FIT}</style><script>{vega_bundle()}</script></head>
<body><div id="vis"></div><script>vegaEmbed("#vis", {drawn}, {how});</script></body>
</html>
"""


def _axes(plan: Sketch, x: str = "x", y: str = "y") -> dict[str, Any]:
    """Channels x and y in points, downwards, without axes."""
    across = alt.Scale(domain=[-(LEFT if plan.rows else 0.0), plan.width], nice=False)
    down = alt.Scale(domain=[plan.height, 0], nice=False)
    return {"x": alt.X(f"{x}:Q", scale=across, axis=None), "y": alt.Y(f"{y}:Q", scale=down, axis=None)}


def _cables(plan: Sketch, meaning: str | None, scale: Scale, legend: bool) -> alt.Chart:
    rows = [
        {"x": x, "y": y, "order": step, "line": number, "cables": line.cables, "value": line.value, **line.details}
        for number, line in enumerate(plan.lines)
        for step, (x, y) in enumerate(line.points)
    ]
    most = max((line.cables for line in plan.lines), default=1)
    crowd = min(1.0, 60 / max(1, len(plan.lines)))  # many lines would hide each other, so they are thin and faint
    tooltip = [alt.Tooltip(f"{name}:N") for name in dict.fromkeys(name for line in plan.lines for name in line.details)]
    colour = alt.value("#9aa5b1")
    if meaning is not None:
        range_ = alt.Scale(domain=list(scale), range=[CALM, BUSY, HOT], clamp=True, interpolate="rgb")
        shown = alt.Legend(title=meaning, orient="bottom", gradientLength=260, tickCount=5) if legend else None
        colour = alt.Color("value:Q", scale=range_, legend=shown)
        tooltip.append(alt.Tooltip("value:Q", title=meaning, format=".3g"))
    widths = alt.Scale(type="sqrt", domain=[0, max(most, 8)], range=[0.4, 1.2 + 4.8 * crowd])
    size = alt.Size("cables:Q", scale=widths, legend=None)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(opacity=0.4 + 0.45 * crowd, strokeCap="round")
    return lines.encode(**_axes(plan), detail="line:N", order="order:Q", size=size, color=colour, tooltip=tooltip)


def _labels(plan: Sketch) -> list[alt.Chart]:
    rows = [{"x": x, "y": y, "text": line.label} for line in plan.lines if line.label for x, y in [line.label_at]]
    if not rows:
        return []
    text = alt.Chart(alt.Data(values=rows)).encode(**_axes(plan), text="text:N")
    return [
        text.mark_text(fontSize=12, stroke="white", strokeWidth=5, strokeJoin="round", opacity=0.9),
        text.mark_text(fontSize=12, color=INK, fontWeight="bold"),
    ]


def _boxes(plan: Sketch) -> list[alt.Chart]:
    rows = [
        {
            "x": place.x - place.width / 2,
            "x2": place.x + place.width / 2,
            "y": place.y - place.height / 2,
            "y2": place.y + place.height / 2,
            "middle": place.x,
            "centre": place.y - 7 * place.text.count("\n"),  # a text of two lines is placed by its first line
            "under": place.y + place.height / 2 + 13,
            "text": place.text,
            "below": place.below,
            "names": place.names,
        }
        for place in plan.places
    ]
    data = alt.Data(values=rows)
    box = alt.Chart(data).mark_rect(fill=PAPER, stroke=INK, strokeWidth=1, cornerRadius=4, opacity=1)
    box = box.encode(**_axes(plan), x2="x2:Q", y2="y2:Q", tooltip=[alt.Tooltip("names:N", title="here")])
    size = 11 if min((p.width for p in plan.places), default=99) >= 40 else 9
    name = _text(plan, data, "middle", "centre", "text", size, INK)
    return [box, name, _text(plan, data, "middle", "under", "below", size, QUIET)]


def _text(
    plan: Sketch, data: Any, x: str, y: str, text: str, size: int, colour: str, align: Any = "center"
) -> alt.Chart:
    marks = alt.Chart(data).mark_text(fontSize=size, color=colour, align=align, baseline="middle", lineBreak="\n")
    return marks.encode(**_axes(plan, x, y), text=f"{text}:N")


def draw_summary(summary: Summary, fabric: Fabric) -> alt.LayerChart:
    """The drawing of a fabric, its cables coloured by their time in an all-to-all."""
    network, cut, hot = summary.network, summary.bisection, summary.hottest
    subtitle = sizes(summary)
    if np.isfinite(cut.rate) and len(network.hosts) > 1:
        subtitle += f"; bisection {rate(cut.rate)} ({format_factor(100 * cut.share)} % of full)"
    if hot is not None and np.isfinite(hot.rate_per_host):
        subtitle += f"; all-to-all {rate(hot.rate_per_host)} a host"
    named = fabric.title.lower().startswith(fabric.name.lower())
    title = fabric.title if named else f"{fabric.name}: {fabric.title}".removesuffix(": ")
    values = relative_times(network, summary.loads)
    return draw(network, title, subtitle, values, "all-to-all: time of a cable over that of a host's own link")
