# SPDX-License-Identifier: BSD-3-Clause
"""Times as bars from zero: for a terminal, and beside the card of a page."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from weft.analyse.tables.times import TimedRow, holding_bound_s
from weft.format import measured_seconds
from weft.report.figures import Picture

if TYPE_CHECKING:
    from weft.report.view import RunView

WIDTH, SHORTEST = 40, 8
BAR, BOUND = "█", "┃"
CROWDED = "* more ranks than cores"
KEY = f"{BAR} time   {BOUND} its lower bound"
MOST_BARS = 9  # more bars than these say nothing at a glance
WIDE, ROW, LABEL, TIME = 760, 62, 118, 150
LETTER, MOST_LABEL = 7.4, 260  # width of a letter, and of the longest name, in pixels
HOT = 1.3  # by this factor the last bar is longer than the first where it is drawn hot


class Bar(NamedTuple):
    """A time in seconds, with its lower bound and its range, if they are known."""

    name: str
    seconds: float
    bound_s: float | None
    low_s: float | None = None
    high_s: float | None = None
    at_least: bool = False  # whether the time is itself a lower bound
    best: bool = False  # whether it is the shortest alternative
    crowded: bool = False  # whether it has more ranks than cores, so that no answer rests on it


def bar_of(name: str, row: TimedRow) -> Bar:
    """The bar of a row of the table of calls; a star marks more ranks than cores."""
    ends, crowded = (row["launch_low_s"], row["launch_high_s"]), row["oversubscribed"]
    return Bar(f"{name} *" if crowded else name, row["median_s"], holding_bound_s(row), *ends, crowded=crowded)


def bar_lines(bars: Sequence[Bar], width: int = 120) -> list[str]:
    """A line a bar, ``N = 2  █████┃███████      4.10 ms``, of ``width`` at most, and a key; none for less than two."""
    if len(bars) < 2:
        return []
    most = max(bar.seconds for bar in bars)
    names = max(len(bar.name) for bar in bars)
    times = [measured_seconds(bar.seconds) for bar in bars]
    length = max(SHORTEST, min(WIDTH, width - names - max(map(len, times)) - 6))
    both = zip(bars, times, strict=True)
    lines = [f"  {bar.name:<{names}}  {_drawn(bar, most, length)}  {time}" for bar, time in both]
    keys = [KEY] * any(bar.bound_s for bar in bars) + [CROWDED] * any(bar.crowded for bar in bars)
    return [*lines, f"  {'':<{names}}  {'   '.join(keys)}"] if keys else lines


def _drawn(bar: Bar, most: float, width: int) -> str:
    drawn = (BAR * max(1, round(width * bar.seconds / most))).ljust(width)
    if not bar.bound_s:
        return drawn
    mark = min(width - 1, round(width * bar.bound_s / most))
    return drawn[:mark] + BOUND + drawn[mark + 1 :]


def draw_times(view: "RunView") -> Picture | None:
    """The times that answer as bars, each with its range and its lower bound; None for less than two."""
    bars = view.story.bars(view)[-MOST_BARS:]
    if len(bars) < 2:
        return None
    ranged = "whisker: range of the launches' medians" if any(bar.low_s for bar in bars) else ""
    bound = "upright line: lower bound" if any(bar.bound_s for bar in bars) else ""
    key = "; ".join(filter(None, ("Bar: median", ranged, bound, CROWDED if any(bar.crowded for bar in bars) else "")))
    what = view.story.bars_of(view)
    longest = max((bar for bar in bars if not bar.crowded), key=lambda bar: bar.seconds, default=bars[0])
    hot = longest if longest.seconds > HOT * bars[0].seconds else None
    return draw_bars("times-bars", f"Time of {what}" if what else "Times", f"{key}.", bars, hot)


def draw_bars(name: str, title: str, key: str, bars: Sequence[Bar], hot: Bar | None = None) -> Picture:
    """Bars from zero, each with its range and its lower bound, one of them perhaps in red."""
    most = max(bar.high_s or bar.seconds for bar in bars) or 1.0
    label = min(MOST_LABEL, max(LABEL, 12 + LETTER * max(len(bar.name) for bar in bars)))
    scale = (WIDE - label - TIME) / most
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {ROW * len(bars)}" class="proof">']
    parts += [_bar(bar, place * ROW, label, scale, hot=bar is hot) for place, bar in enumerate(bars)]
    reading = f"Longest: {measured_seconds(max(bar.seconds for bar in bars))}."
    return Picture(name, title, f"{title}. {key}", reading, "".join([*parts, "</svg>"]))


def _bar(bar: Bar, y: float, label: float, scale: float, *, hot: bool) -> str:
    end = max(2.0, bar.seconds * scale)
    kind = "open-bar" if bar.at_least or bar.crowded else "hot-bar" if hot else "best-bar" if bar.best else "cool-bar"
    parts = [
        f'<text x="{label - 12:.0f}" y="{y + 32}" text-anchor="end">{escape(bar.name)}</text>',
        f'<rect x="{label:.1f}" y="{y + 14}" width="{end:.1f}" height="26" class="{kind}"/>',
    ]
    if bar.low_s is not None and bar.high_s:
        low, high = label + bar.low_s * scale, label + bar.high_s * scale
        end = max(end, high - label)
        line = f"M{low:.1f} {y + 27}H{high:.1f}M{low:.1f} {y + 22}v10M{high:.1f} {y + 22}v10"
        parts.append(f'<path d="{line}" class="whisker"/>')
    if bar.bound_s and bar.bound_s * scale > 2:
        at = label + bar.bound_s * scale
        bound = f"bound {measured_seconds(bar.bound_s)}"
        parts.append(f'<path d="M{at:.1f} {y + 8}v38" class="mark"/>')
        parts.append(f'<text x="{at:.1f}" y="{y + 58}" text-anchor="middle" class="d">{bound}</text>')
    least = "at least " if bar.at_least else ""
    parts.append(f'<text x="{label + end + 10:.1f}" y="{y + 32}">{least}{measured_seconds(bar.seconds)}</text>')
    return "".join(parts)
