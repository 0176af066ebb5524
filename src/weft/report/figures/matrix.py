# SPDX-License-Identifier: BSD-3-Clause
"""A matrix of pairs as a picture: a raster, its colour scale, and on the page a tooltip for pairs of nodes."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from weft.format import format_factor
from weft.report.figures import Picture, with_script
from weft.report.figures.raster import SLOW, STEPS, USUAL, Scale, block_maximum, data_address, mix_colours, png
from weft.report.figures.theme import FONT, GREY, INK

Floats = NDArray[np.float64]

LEFT, TOP, RIGHT, BELOW = 92, 12, 44, 108
#: Side of a matrix on the page in pixels; the smaller value if it has few rows.
WIDE, NARROW, FEW = 800, 480, 100
MOST_POINTS = 512
MOST_LABELS = 16
#: With more nodes than this there is no tooltip: the numbers would make the page too large.
MOST_READ = 512


@dataclass(frozen=True, eq=False)
class PairMatrix:
    """The content of a matrix figure."""

    # a number for each pair, shape (rows, columns): rows send first (initiators), columns answer; nan: not measured
    values: Floats
    parts: Sequence[int]  # number of rows of each node, in order; the same for the columns
    nodes: Sequence[str]
    exact: Floats  # the number in the tooltip of every two nodes, shape (nodes, nodes); nan if not measured
    scale: Scale
    unit: tuple[str, float]  # name and size of the unit in tooltips: ``("us", 1e-6)``
    what: str  # description of the number in the tooltip: ``median of its pairs``
    missing: str = field(default="not measured", kw_only=True)  # what the legend calls a pair without a number
    outlined: Sequence[int] = field(default=(), kw_only=True)  # places of slow nodes, whose rows and columns are framed
    # bytes that take the seconds in `values` and `exact`, for a matrix of rates; its unit is one of rates then
    rate_of: int = field(default=0, kw_only=True)
    block: int = 1  # number of ranks in one row or column of ``values``

    @property
    def side(self) -> int:
        """Its side in the drawing, in pixels."""
        return NARROW if len(self.values) <= FEW else WIDE

    @property
    def ends(self) -> Floats:
        """Where the nodes begin and end along a side, in pixels."""
        return np.cumsum([0, *self.parts]) * self.side / max(1, sum(self.parts))

    def text(self, value: float) -> str:
        """A number as the scale has it: ``2.1 us``."""
        name, size = self.unit
        return f"{format_factor((self.rate_of / value if self.rate_of else value) / size)} {name}"


def matrix_picture(name: str, title: str, key: str, reading: str, shown: PairMatrix) -> Picture:
    """The picture of a matrix."""
    side = shown.side
    width, height = LEFT + side + RIGHT, TOP + side + BELOW
    indices = shown.scale.indices(block_maximum(shown.values, MOST_POINTS))
    # small matrices are enlarged here: not every SVG viewer keeps the edges of enlarged pixels sharp
    repeat = max(1, MOST_POINTS // max(1, len(indices)))
    image = data_address(png(np.repeat(np.repeat(indices, repeat, axis=0), repeat, axis=1)))
    # blocks need not divide the ranks: the image is wider than the frame by the missing part of the last block
    wide = side * len(shown.values) * shown.block / max(1, sum(shown.parts))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' font-family="{escape(FONT, quote=True)}" font-size="13" fill="{INK}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<image x="{LEFT}" y="{TOP}" width="{wide:.2f}" height="{wide:.2f}" preserveAspectRatio="none"'
        f' style="image-rendering:pixelated" href="{image}"/>',
        f'<rect x="{LEFT}" y="{TOP}" width="{side}" height="{side}" fill="none" stroke="#9ca3af"/>',
        *_frames(shown),
        *_labels(shown),
        *_legend(shown),
        "</svg>",
    ]
    return Picture(name, title, key, reading, "".join(parts), _pointer(shown))


def _frames(shown: PairMatrix) -> list[str]:
    """Frames around the rows and columns of slow nodes."""
    side, ends = shown.side, shown.ends
    drawn: list[str] = []
    for node in shown.outlined:
        at, wide = ends[node], max(ends[node + 1] - ends[node], 3.0)
        for x, y, width, height in ((0, at, side, wide), (at, 0, wide, side)):
            drawn.append(
                f'<rect x="{LEFT + x:.1f}" y="{TOP + y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="none" '
                'class="frame" stroke="#d1342f" stroke-width="2.5"/>'
            )
    return drawn


def _labels(shown: PairMatrix) -> list[str]:
    """Names of some nodes along both sides, centred on their ranks."""
    side, ends = shown.side, shown.ends
    step = max(1, -(-len(shown.nodes) // MOST_LABELS))
    drawn: list[str] = []
    for node in range(0, len(shown.nodes), step):
        middle, whole = (ends[node] + ends[node + 1]) / 2, shown.nodes[node]
        name = escape(whole if len(whole) <= 11 else f"{whole[:10]}…")
        drawn.append(f'<text x="{LEFT - 7}" y="{TOP + middle + 4.5:.1f}" text-anchor="end">{name}</text>')
        x, y = LEFT + middle, TOP + side + 12
        drawn.append(f'<text transform="translate({x:.1f} {y}) rotate(40)" y="5">{name}</text>')
        drawn.append(f'<path d="M{LEFT - 4} {TOP + middle:.1f}h4M{x:.1f} {TOP + side}v4" stroke="#9ca3af"/>')
    return drawn


def _legend(shown: PairMatrix) -> list[str]:
    """The colour scale: usual values, then slower ones, each over its part of the bar."""
    scale, y, wide = shown.scale, TOP + shown.side + 66, shown.side * 0.75
    split = wide * STEPS[0] / sum(STEPS) if scale.high > scale.cut else wide
    bar = [_ramp(USUAL, LEFT, y, split)]
    ticks = [(LEFT, scale.low), (LEFT + split, scale.cut)]
    if scale.high > scale.cut:
        bar[0] += _ramp(SLOW, LEFT + split, y, wide - split)
        ticks.append((LEFT + wide, scale.high))
    bar[0] = f'<g class="ramp">{bar[0]}</g>'
    for at, value in ticks:
        bar.append(f'<path d="M{at:.1f} {y}v18" stroke="{INK}"/>')
        bar.append(f'<text x="{at:.1f}" y="{y + 32}" text-anchor="middle">{escape(shown.text(value))}</text>')
    square = LEFT + wide + 34
    bar.append(f'<rect x="{square}" y="{y}" width="14" height="14" fill="#e5e7eb"/>')
    bar.append(f'<text x="{square + 20}" y="{y + 12}" fill="{GREY}">{escape(shown.missing)}</text>')
    return bar


def _ramp(colours: Sequence[str], x: float, y: float, width: float) -> str:
    """Colours side by side in many small steps: a gradient would need a unique name on the page."""
    steps = 48
    return "".join(
        f'<rect x="{x + index * width / steps:.2f}" y="{y}" width="{width / steps + 0.3:.2f}" height="14" '
        f'fill="#{bytes(colour).hex()}"/>'
        for index, colour in enumerate(mix_colours(colours, steps))
    )


def _pointer(shown: PairMatrix) -> str:
    """The line under the picture that names the two nodes under the pointer, with their number."""
    if len(shown.nodes) > MOST_READ:
        return f'<p class="soft">The line for the nodes under the pointer is available up to {MOST_READ} nodes.</p>'
    exact = np.ascontiguousarray(shown.rate_of / shown.exact if shown.rate_of else shown.exact, "<f4")
    data = {"nodes": list(shown.nodes), "ends": np.cumsum(shown.parts).tolist(), "what": shown.what, "unit": shown.unit}
    data |= {"exact": base64.b64encode(exact.tobytes()).decode()}
    data |= {"box": [LEFT, TOP, shown.side, LEFT + shown.side + RIGHT]}
    return (
        '<p class="soft pointed" aria-live="off">Point at the matrix to read two nodes and the number between them.</p>'
        + with_script(data, "matrix.js")
    )
