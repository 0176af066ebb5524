# SPDX-License-Identifier: BSD-3-Clause
"""The figures of pairs: matrices by rank and by node, contention, histograms by hop class."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt

from weft.analyse.tables.claims import extras
from weft.analyse.tables.pairs import FARTHEST, LEAST_SHOWN_S, MATRIX_MEDIANS, HistogramRow, bucket_starts_s
from weft.format import format_bytes, format_factor, measured_factor, plural, rate_unit, seconds_unit
from weft.report.figures import Figure, Picture
from weft.report.figures.matrix import Floats, PairMatrix, matrix_picture, scale_of
from weft.report.figures.theme import BLUE, HEIGHT, chart
from weft.report.pair_view import MODES, PairView

R = TypeVar("R", bound=Mapping[str, Any])
SLOW = 1.25  # a pair slower than the slowest class's median by this factor is drawn as slow
LEAST_SHOWN = 0.01  # a pair or node that is slower by less than this share is not distinguished
COLOURS = (
    "Blue: from the fastest pair to {factor} x the median of the slowest class; orange: slower pairs. Both on "
    "a logarithmic scale. "
)
FRAMED = "Framed: the slow nodes that the answer names. "


def pair_figures(view: PairView) -> list[Figure | Picture]:
    """Every figure of a run of pairs, in the order of the page."""
    found: list[Figure | Picture] = []
    for size, mode in view.shown:
        found.append(_ranks(view, size, mode))
        if 1 < len(view.nodes) < view.ranks:  # with one rank a node both are one picture
            found.append(_nodes(view, size, mode))
    if len(view.nodes) > 1:
        contended = sorted({(row["bytes"], row["mode"]) for row in view.contention})
        found += [_contention(view, size, mode) for size, mode in contended]
    return [*found, *(each for each in (_histogram(view, size, mode) for size, mode in view.shown) if each)]


def _what(view: PairView, size: int) -> str:
    return f"Rate, {plural(view.window(size), 'message')} under way," if view.rates else "Latency"


def _trip(view: PairView, size: int) -> str:
    if view.rates:
        return "a window of messages, one way"
    return "a message each way at once" if size >= view.both_ways else "half a round trip"


def _where(view: PairView, size: int, mode: str, what: str) -> str:
    return view.run.titled(f"{what}, {format_bytes(size)}, {MODES.get(mode, mode)}")


def _at(rows: Sequence[R], size: int, mode: str) -> list[R]:
    return [row for row in rows if (row["bytes"], row["mode"]) == (size, mode)]


def _latency(
    view: PairView, place: tuple[int, str], said: tuple[str, str, str, str], values: Floats, parts: Sequence[int],
    exact: Floats, of: str, block: int = 1,
) -> Picture:  # fmt: skip
    """A matrix of times or rates of a size and mode; ``said``: by what, title, key and reading."""
    (size, mode), (by, title, key, reading) = place, said
    scale = scale_of(values, SLOW * max((row["median_s"] for row in _at(view.classes, size, mode)), default=0.0))
    moved = view.window(size) * size if view.rates else 0  # bytes that take each time
    unit = rate_unit(moved / scale.cut) if moved and scale.cut else seconds_unit(scale.cut)
    answers = view.run.claimed("answer")
    named = {each["subject"] for each in answers if each["id"] == "outlier.node" or extras(each).get("of") == "node"}
    slow = [node for node, name in enumerate(view.nodes) if name in named]
    shown = PairMatrix(values, parts, view.nodes, exact, scale, unit, of, block, outlined=slow, rate_of=moved)
    key += COLOURS.format(factor=SLOW) + FRAMED * bool(slow)
    return matrix_picture(f"latency-{by}-{size}-{mode}", _where(view, size, mode, title), key, reading, shown)


def _ranks(view: PairView, size: int, mode: str) -> Picture:
    blocks, block = view.blocks(size, mode)
    parts, of = ([1] * len(view.nodes), "nodes") if view.by_nodes else (view.on_node, "ranks")
    single = "the slowest pair of ranks of two nodes" if view.by_nodes else "one pair of ranks"
    each = single if block == 1 else f"the slowest pair of {block} x {block} {of}"
    key = f"Each point is {each}: {_trip(view, size)}, started by the row. Ranks are sorted by node. "
    said = ("ranks", f"{_what(view, size)} of every pair of ranks", key, _slowest(view, size, mode))
    exact = view.matrix(size, mode, "slowest_s")
    return _latency(view, (size, mode), said, blocks, parts, exact, "the slowest of their pairs", block)


def _slowest(view: PairView, size: int, mode: str) -> str:
    rows = [row for row in _at(view.worst, size, mode) if row["base_s"] >= LEAST_SHOWN_S]
    row = max(rows, key=lambda each: each["factor"], default=None)
    if row is None and len(view.worst) >= FARTHEST and view.worst[-1]["factor"] >= 1 + LEAST_SHOWN:
        return f"None of the run's {FARTHEST} pairs that are farthest from their class is among these."
    if row is None or row["factor"] < 1 + LEAST_SHOWN:
        return "No pair is noticeably slower than its class."
    ends = f"rank {row['source']} on {row['source_name']} with rank {row['target']} on {row['target_name']}"
    return (
        f"The pair farthest from its class is {ends}: {view.value_text(size, row['time_s'])}, "
        f"{format_factor(row['factor'])} times the time of {row['class']} without what was found slow "
        f"({view.value_text(size, row['base_s'])})."
    )


def _nodes(view: PairView, size: int, mode: str) -> Picture:
    times = view.matrix(size, mode, "time_s")
    row = max(_at(view.node_rows, size, mode), key=lambda each: each["factor"] or 0.0, default=None)
    if row is None or not row["factor"]:
        reading = "All pairs are within one node."
    elif row["factor"] < 1 + LEAST_SHOWN:
        reading = "No node is noticeably slower than its classes."
    else:
        factor = format_factor(row["factor"])
        reading = f"Farthest from its classes is {row['name']}: {factor} times their medians over all its pairs."
    key = f"Each point is the median over the pairs of ranks of two nodes: {_trip(view, size)}. "
    said = ("nodes", f"{_what(view, size)} by node (median)", key, reading)
    return _latency(view, (size, mode), said, times, [1] * len(view.nodes), times, "the median of their pairs")


def _contention(view: PairView, size: int, mode: str) -> Picture:
    factors = view.matrix(size, mode, "factor")
    middle = _at(view.of_largest(MATRIX_MEDIANS), size, mode)[0]["factor"]  # over all pairs of nodes
    scale = scale_of(factors, SLOW * middle)
    ones = [1] * len(view.nodes)
    shown = PairMatrix(factors, ones, view.nodes, factors, scale, ("x", 1.0), "the median factor of their pairs")
    row = max(_at(view.contention, size, mode), key=lambda each: each["factor"])
    interval = measured_factor(row["factor"], row["low"], row["high"])
    reading = f"Contention is largest at {row['class']}: {interval} times as long as alone"
    if row["p95"] and row["p95"] > SLOW * row["factor"]:
        reading += f" in the median, but {measured_factor(row['p95'])} times or more for one pair in twenty"
    key = f"Time with {MODES.get(mode, mode)} over the isolated time, median over the pairs of two nodes. "
    key += f"Blue: up to {SLOW} x the median factor; orange: more."
    title = _where(view, size, mode, "Contention between every two nodes")
    return matrix_picture(f"contention-{size}-{mode}", title, key, f"{reading}.", shown)


def _histogram(view: PairView, size: int, mode: str) -> Figure | None:
    """A panel for each hop class, both axes logarithmic; None without samples."""
    if not (rows := _at(view.histogram, size, mode)):
        return None
    unit, scale = seconds_unit(max(bucket_starts_s(row["bucket"]) for row in rows))
    ends = [bucket_starts_s(row["bucket"] + more) / scale for row in rows for more in (0, 1)]
    axis = f"{_trip(view, size)} ({unit})"
    names = dict.fromkeys(row["class"] for row in rows)  # nearest first, as the table has them
    own = {name: [row for row in rows if row["class"] == name] for name in names}
    panels = tuple(_panel(of_class, name, axis, scale, ends) for name, of_class in own.items())
    title = _where(view, size, mode, "Samples by hop class")
    key = "Warm samples in buckets of 2.2 % (2^(1/32)) of the time: both axes are logarithmic."
    widest = max(_at(view.spread, size, mode), key=lambda row: row["ratio"])
    reading = f"{widest['class']} has the widest spread: its p99 is {format_factor(widest['ratio'])} times its median."
    return Figure(f"histogram-{size}-{mode}", title, key, reading, panels)


def _panel(rows: Sequence[HistogramRow], name: str, title: str, scale: float, ends: Sequence[float]) -> Any:
    sides = ((row["count"], *(bucket_starts_s(row["bucket"] + more) / scale for more in (0, 1))) for row in rows)
    bars = [{"x": start, "x2": end, "n": count} for count, start, end in sides]
    # a bar mark starts at zero, which a logarithmic axis does not have: rectangles start below one sample
    x = alt.X("x:Q", title=title, scale=alt.Scale(type="log", domain=[min(ends), max(ends)], nice=False))
    counts = alt.Scale(type="log", domainMin=0.8)
    y = alt.Y("n:Q", title="samples", scale=counts, axis=alt.Axis(tickCount=5, format="~s"))
    drawn = chart(bars).mark_rect(color=BLUE).encode(x=x, x2="x2:Q", y=y, y2=alt.datum(0.8))
    return drawn.properties(width=230, height=HEIGHT * 0.6, title=alt.TitleParams(name, fontSize=12, anchor="middle"))
