# SPDX-License-Identifier: BSD-3-Clause
"""A matrix of pairs as a picture: a raster, its colour scale, and on the page a tooltip for pairs of nodes."""

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from weft.format import format_factor
from weft.report.figures import Picture, with_script
from weft.report.figures.theme import FONT, GREY, INK

Floats = NDArray[np.float64]
NARROWEST = 1.25  # either part of the colours spans at least this factor: values a percent apart look alike
#: From light to dark for usual values, from orange to nearly black for slower ones.
USUAL = ("#f7fbff", "#deebf4", "#b9d5e8", "#7fb2d6", "#3f86bd", "#1c5a96")
SLOW = ("#f6a04d", "#e56a1b", "#c33a0a", "#8a1d05", "#3d0a02")
NOTHING = "#e5e7eb"
STEPS = (150, 105)  # palette: index 0 is "not measured", then the usual colours, then the slow ones
LEFT, TOP, RIGHT, BELOW = 92, 12, 44, 108
WIDE, NARROW, FEW = 800, 480, 100  # side of a matrix on the page in pixels; the smaller value if it has few rows
MOST_POINTS = 512
MOST_LABELS = 16
MOST_READ = 512  # with more nodes than this there is no tooltip: the numbers would make the page too large


@dataclass(frozen=True)
class Scale:
    """Numbers to colours, by their logarithm."""

    low: float  # the smallest number shown
    cut: float  # up to here numbers are usual (blue), above they are slow (orange to black)
    high: float

    def indices(self, values: Floats) -> NDArray[np.uint8]:
        """Palette index of each number, shape (rows, columns) as the values (any unit); 0 for nan."""
        with np.errstate(invalid="ignore", divide="ignore"):
            usual = _along(values, self.low, self.cut) * (STEPS[0] - 1) + 1
            slow = _along(values, self.cut, self.high) * (STEPS[1] - 1) + 1 + STEPS[0]
            chosen = np.where(values <= self.cut, usual, slow)
        return np.where(np.isfinite(values), chosen, 0).astype(np.uint8)


def _along(values: Floats, low: float, high: float) -> Floats:
    """0 at low, 1 at high, on a logarithmic scale, clipped."""
    return np.clip(np.log(values / low) / np.log(high / low), 0, 1) if high > low > 0 else np.zeros(values.shape)


def scale_of(values: Floats, cut: float) -> Scale:
    """A scale over all values, shape (rows, columns), any unit, that are not nan; usual ones end at ``cut``."""
    if not (known := values[np.isfinite(values) & (values > 0)]).size:
        return Scale(1.0, 1.0, 1.0)
    low, high = float(known.min()), float(known.max())
    if high == low:
        return Scale(low, low, low)
    cut = min(max(cut, low), high)
    return Scale(min(low, cut / NARROWEST), cut, high if high <= cut else max(high, cut * NARROWEST))


def mix_colours(colours: Sequence[str], steps: int) -> NDArray[np.uint8]:
    """So many colours between ``#rrggbb``, shape (steps, 3): red, green and blue from 0 to 255."""
    anchors = np.array([list(bytes.fromhex(colour[1:])) for colour in colours], float)
    places = np.linspace(0, len(colours) - 1, steps)
    channels = [np.interp(places, np.arange(len(colours)), anchors[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=1).round().astype(np.uint8)


def palette() -> NDArray[np.uint8]:
    """All colours, shape (256, 3), by palette index: red, green and blue from 0 to 255."""
    return np.concatenate([mix_colours([NOTHING], 1), mix_colours(USUAL, STEPS[0]), mix_colours(SLOW, STEPS[1])])


def png(indices: NDArray[np.uint8], colours: NDArray[np.uint8] | None = None, opacity: bytes = b"") -> bytes:
    """Indices, shape (rows, columns), as a PNG of `colours`, shape (colours, 3); `opacity`: of the first ones."""
    colours, (rows, columns) = palette() if colours is None else colours, indices.shape
    lines = np.pad(indices, ((0, 0), (1, 0)))  # each begins with the number of its filter: none
    parts = {b"IHDR": struct.pack(">2I5B", columns, rows, 8, 3, 0, 0, 0), b"PLTE": colours.tobytes()}
    parts |= {b"tRNS": opacity} if opacity else {}
    parts |= {b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    framed = (struct.pack(">I", len(of)) + name + of + struct.pack(">I", zlib.crc32(name + of))
              for name, of in parts.items())  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def data_address(content: bytes) -> str:
    """A PNG as a ``data:`` URL."""
    return "data:image/png;base64," + base64.b64encode(content).decode()


def block_maximum(values: Floats, most: int) -> Floats:
    """At most ``most`` (rows, columns), any unit: maxima of blocks (a mean hides one slow pair); nan if all are."""
    if (block := -(-max(values.shape) // most)) <= 1:
        return values
    padded = np.pad(values, [(0, -side % block) for side in values.shape], constant_values=np.nan)
    rows, columns = padded.shape
    return np.fmax.reduce(np.fmax.reduce(padded.reshape(rows // block, block, columns // block, block), axis=3), axis=1)


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
    ramp = _ramp(USUAL, LEFT, y, split)
    ticks = [(LEFT, scale.low), (LEFT + split, scale.cut)]
    if scale.high > scale.cut:
        ramp += _ramp(SLOW, LEFT + split, y, wide - split)
        ticks.append((LEFT + wide, scale.high))
    bar = [f'<g class="ramp">{ramp}</g>']
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
    data = {
        "nodes": list(shown.nodes), "ends": np.cumsum(shown.parts).tolist(), "what": shown.what, "unit": shown.unit,
        "exact": base64.b64encode(exact.tobytes()).decode(), "box": [LEFT, TOP, shown.side, LEFT + shown.side + RIGHT],
    }  # fmt: skip
    return (
        '<p class="soft pointed" aria-live="off">Point at the matrix to read two nodes and the number between them.</p>'
        + with_script(data, "matrix.js")
    )
