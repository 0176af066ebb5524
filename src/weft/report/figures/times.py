# SPDX-License-Identifier: BSD-3-Clause
"""The times that answer as bars beside the card of a page."""

from html import escape
from typing import TYPE_CHECKING

from weft.format import measured_seconds
from weft.report.bars import Bar
from weft.report.figures.picture import Picture

if TYPE_CHECKING:
    from weft.report.view import RunView

#: More bars than these say nothing at a glance.
MOST_BARS = 9
WIDE, ROW, LABEL, TIME = 760, 62, 118, 150


def draw_times(view: "RunView") -> Picture | None:
    """The times that answer as bars, each with its range and its lower bound; None for less than two."""
    bars = view.story.bars(view)[-MOST_BARS:]
    if len(bars) < 2:
        return None
    most = max(bar.high_s or bar.seconds for bar in bars)
    room = WIDE - LABEL - TIME
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {ROW * len(bars)}" class="proof">']
    last = max(bars, key=lambda bar: bar.seconds)
    for place, bar in enumerate(bars):
        parts.append(_bar(bar, place * ROW, room / most, hot=bar is last and bar.seconds > 1.3 * bars[0].seconds))
    ranged = "whisker: range of the launches' medians" if any(bar.low_s for bar in bars) else ""
    bound = "black mark: lower bound" if any(bar.bound_s for bar in bars) else ""
    key = "; ".join(filter(None, ("Bar: median", ranged, bound)))
    what = view.story.bars_of(view)
    title = f"Time of {what}" if what else "Times"
    return Picture(
        "times-bars",
        title,
        f"{title}. {key}.",
        f"Longest: {measured_seconds(last.seconds)}.",
        "".join([*parts, "</svg>"]),
    )


def _bar(bar: Bar, y: float, scale: float, *, hot: bool) -> str:
    long = max(2.0, bar.seconds * scale)
    parts = [
        f'<text x="{LABEL - 12}" y="{y + 32}" text-anchor="end">{escape(bar.name)}</text>',
        f'<rect x="{LABEL}" y="{y + 14}" width="{long:.1f}" height="26" class="{"hot-bar" if hot else "cool-bar"}"/>',
    ]
    end = long
    if bar.low_s and bar.high_s:
        low, high = LABEL + bar.low_s * scale, LABEL + bar.high_s * scale
        end = max(end, high - LABEL)
        parts.append(
            f'<path d="M{low:.1f} {y + 27}H{high:.1f}M{low:.1f} {y + 22}v10M{high:.1f} {y + 22}v10" class="whisker"/>'
        )
    if bar.bound_s and bar.bound_s * scale > 2:
        at = LABEL + bar.bound_s * scale
        parts.append(f'<path d="M{at:.1f} {y + 8}v38" class="mark"/>')
        parts.append(
            f'<text x="{at:.1f}" y="{y + 58}" text-anchor="middle" class="d">'
            f"bound {measured_seconds(bar.bound_s)}</text>"
        )
    parts.append(f'<text x="{LABEL + end + 10:.1f}" y="{y + 32}">{measured_seconds(bar.seconds)}</text>')
    return "".join(parts)
