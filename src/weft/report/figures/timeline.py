# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a trace did over time: a lane per rank as a raster, on the page with zoom and pan."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from weft.format import format_seconds, plural
from weft.report.figures import Picture, with_script
from weft.report.figures.matrix import data_address, png

Floats = NDArray[np.float64]
LEFT, TOP, WIDE, BELOW = 70, 8, 760, 58
INNER = WIDE - LEFT - 2
MOST_HEIGHT, LANE = 260, 30  # height of all lanes, and of one at most, in pixels
STACKED = 6  # lanes of fewer points cannot stack their shares; these are mixed point by point instead
MOST_LABELS = 12
#: What a lane shows from top to bottom: red, green, blue and opacity. Where nothing was traced the paper is seen.
COLOURS: Mapping[str, tuple[str, int]] = {
    "waiting": ("#d1342f", 255), "moving": ("#2f78b3", 255), "file": ("#9a5fc8", 255), "unknown": ("#8a94a0", 255),
    "computing": ("#4f9a78", 80),
}  # fmt: skip
NAMES = {
    "waiting": "waiting for other ranks", "moving": "moving data", "file": "file calls", "unknown": "MPI, unknown",
    "computing": "computing",
}  # fmt: skip


def draw_timeline(ranks: Sequence[int], shares: Mapping[str, Floats], seconds: float, reading: str) -> Picture | None:
    """Shares of time by `COLOURS`, each of shape (lanes, columns), of lanes that begin with ``ranks``; None without."""
    if not len(ranks):
        return None
    height = min(MOST_HEIGHT, LANE * len(ranks))
    columns = shares["computing"].shape[1]
    listed = [("#000000", 0), *COLOURS.values()]  # nothing traced: transparent
    colours = np.array([list(bytes.fromhex(colour[1:])) for colour, _ in listed], np.uint8)
    image = data_address(png(_indices(shares, height), colours, bytes(opacity for _, opacity in listed)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TOP + height + BELOW}" class="proof timeline">',
        *(
            f'<text x="{LEFT - 8}" y="{TOP + (place + 0.5) * height / len(ranks) + 4.5:.1f}" text-anchor="end" '
            f'class="d">rank {ranks[place]:,}</text>'
            for place in range(0, len(ranks), -(-len(ranks) // MOST_LABELS))
        ),
        f'<rect x="{LEFT}" y="{TOP}" width="{INNER}" height="{height}" class="box"/>',
        f'<svg class="lanes" x="{LEFT}" y="{TOP}" width="{INNER}" height="{height}" '
        f'viewBox="0 0 {columns} {height}" preserveAspectRatio="none">'
        f'<image width="{columns}" height="{height}" preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="{image}"/></svg>',
        f'<g class="ticks">{_ticks(seconds, TOP + height)}</g>',
        *_legend([kind for kind in COLOURS if shares[kind].any()], TOP + height + 48),
        "</svg>",
    ]
    several = len(ranks) > 1 and ranks[1] - ranks[0] > 1
    lanes = f"a lane for {plural(ranks[1] - ranks[0], 'rank')}" if several else "a lane per rank"
    key = f"Time of {format_seconds(seconds)}, {lanes}. Drag to move, use the buttons or Ctrl and the wheel to zoom."
    title = "What the ranks did over time"
    return Picture("trace-timeline", title, key, reading, "".join(parts), _control(ranks, seconds, height))


def _indices(shares: Mapping[str, Floats], height: int) -> NDArray[np.uint8]:
    """Index of a colour for each point, shape (lanes x points of a lane, columns); 0 where nothing was traced."""
    given = np.stack([shares[kind] for kind in COLOURS])
    lanes, columns = given.shape[1:]
    each = max(1, height // lanes)
    offset = np.full(columns, 0.5) if each >= STACKED else np.mod(0.618034 * np.indices((columns,))[0], 1)
    heights = np.add.outer(np.indices((each,))[0], offset) / each
    upto = np.cumsum(given, axis=0)
    whole = upto[-1]
    found = np.ones((lanes, each, columns), np.uint8)
    for edge in upto[:-1]:
        np.add(found, edge[:, None, :] / np.maximum(whole, 1e-12)[:, None, :] <= heights, out=found, casting="unsafe")
    traced = np.repeat((whole > 0)[:, None, :], each, axis=1)
    return np.where(traced, found, 0).astype(np.uint8).reshape((lanes * each, columns))


def _ticks(seconds: float, y: float) -> str:
    return "".join(
        f'<text x="{LEFT + INNER * step / 4:.1f}" y="{y + 18}" text-anchor="{anchor}" class="d">'
        f"{escape(format_seconds(seconds * step / 4))}</text>"
        for step, anchor in enumerate(("start", "middle", "middle", "middle", "end"))
    )


def _legend(kinds: Sequence[str], y: float) -> list[str]:
    drawn: list[str] = []
    x = float(LEFT)
    for kind in kinds:
        colour, opacity = COLOURS[kind]
        drawn.append(
            f'<rect x="{x:.0f}" y="{y - 11}" width="13" height="13" fill="{colour}" '
            f'fill-opacity="{opacity / 255:.2f}" stroke="{colour}"/><text x="{x + 19:.0f}" y="{y}">{NAMES[kind]}</text>'
        )
        x += 36 + 7.4 * len(NAMES[kind])
    return drawn


def _control(ranks: Sequence[int], seconds: float, height: int) -> str:
    data = {
        "ranks": list(ranks), "seconds": seconds, "box": [LEFT, INNER, WIDE],
        "colours": [[NAMES[kind], colour] for kind, (colour, _) in COLOURS.items()], "height": height,
    }  # fmt: skip
    return (
        '<p class="soft zoom" hidden><button type="button" class="step" data-by="0.5" aria-label="zoom in">+</button> '
        '<button type="button" class="step" data-by="2" aria-label="zoom out">−</button> '
        '<button type="button" class="step" data-by="0">All</button> <span class="pointed"></span></p>'
        + with_script(data, "timeline.js")
    )
