# SPDX-License-Identifier: BSD-3-Clause
"""Data of the figures of a comparison: each row as a point of a line in a panel."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from weft.analyse.compare import Compared, Comparison, Key
from weft.format import measured_seconds
from weft.report.compare.load import Compare
from weft.words.comparisons import name_place, ratio_text

Axis = Literal["bytes", "nodes", "ranks"]


@dataclass(frozen=True)
class Sheet:
    """Rows of one figure."""

    # name, title: name of the figure's files, and what its rows have in common
    name: str
    title: str
    axis: Axis  # quantity on the x axis: ``bytes`` for calls measured at sizes, else ``nodes`` or ``ranks``
    panels: tuple[str, ...]  # operations, one per panel
    keys: frozenset[Key]  # its rows


def sheets(found: Compare) -> list[Sheet]:
    """Figures of the common rows: calls at sizes by phase, others by series and phase; warm ones first."""
    rows = unique(each for comparison in found.comparisons for each in comparison.rows)
    made: list[Sheet] = []
    for phase in ("warm", "cold"):
        own = [each for each in rows if each.key.phase == phase]
        sized = [each.key for each in own if each.key.size]
        made += _sheet(phase, f"{phase}, by size", "bytes", sized)
        plain = [each for each in own if each.key.size is None]
        for series in dict.fromkeys(name for each in plain for name in each.series):
            keys = [each.key for each in plain if series in each.series]
            axis: Axis = "nodes" if len({key.nodes for key in keys}) > 1 else "ranks"
            made += _sheet(f"{series}-{phase}", f"{series}, {phase}", axis, keys)
    return made


def _sheet(name: str, title: str, axis: Axis, keys: list[Key]) -> list[Sheet]:
    """No figure for an axis with one point: the table shows it better."""
    several = len({x_of(key, axis) for key in keys}) > 1
    panels = tuple(dict.fromkeys(key.operation for key in keys))
    return [Sheet(name, title, axis, panels, frozenset(keys))] if several else []


def unique(rows: Iterable[Compared]) -> list[Compared]:
    """The first of the rows of each key."""
    found: dict[Key, Compared] = {}
    for each in rows:
        found.setdefault(each.key, each)
    return list(found.values())


def x_of(key: Key, axis: Axis) -> int:
    """Position of a row on the axis."""
    return {"bytes": key.size or 0, "nodes": key.nodes, "ranks": key.ranks}[axis]


def line_of(key: Key, axis: Axis, many: bool) -> str:
    """The line of a row: its process count, unless that is on the axis."""
    if axis == "nodes":
        return f"{key.ranks // max(key.nodes, 1)} ranks per node"
    if axis == "ranks":
        return f"N = {key.nodes}"
    return f"p = {key.ranks}" + (f", N = {key.nodes}" if many else "")


def time_points(found: Compare, sheet: Sheet, operation: str) -> list[dict[str, Any]]:
    """Times in s of every run for one panel: the median over launches, and the range of their medians (``stroke``).

    Of a modelled time it is the range that its model leaves open.
    """
    points: list[dict[str, Any]] = []
    many = crossed(sheet)
    for side in found.sides:
        for key in sheet.keys:
            point = side.points.get(key)
            if key.operation != operation or point is None or not point.medians:
                continue
            low, high = point.span_s or (min(point.medians.values()), max(point.medians.values()))
            points.append(
                {
                    "x": x_of(key, sheet.axis),
                    "y": point.median_s,
                    "low": low,
                    "high": high,
                    "stroke": "" if low == high else "model" if point.span_s else "launches",
                    "run": side.name,
                    "base": side is found.sides[0],
                    "line": line_of(key, sheet.axis, many),
                    "where": name_place(key),
                    "time": measured_seconds(point.median_s, *((low, high) if low < high else ())),
                    "launches": len(point.medians),
                }
            )
    # the base first: it is drawn beneath the others
    return sorted(points, key=lambda point: (not point["base"], point["run"], point["line"], point["x"]))


def ratio_points(comparison: Comparison, sheet: Sheet, operation: str) -> list[dict[str, Any]]:
    """Ratios of one comparison for one panel."""
    many = crossed(sheet)
    points: list[dict[str, Any]] = [
        {
            "x": x_of(each.key, sheet.axis), "y": each.evidence.ratio,
            "low": each.evidence.low or each.evidence.ratio, "high": each.evidence.high or each.evidence.ratio,
            "line": line_of(each.key, sheet.axis, many), "differs": each.evidence.outcome in ("slower", "faster"),
            "where": name_place(each.key), "ratio": ratio_text(each.evidence), "outcome": each.evidence.outcome,
        }
        for each in comparison.rows
        if each.key in sheet.keys and each.key.operation == operation
    ]  # fmt: skip
    return sorted(points, key=lambda point: (point["line"], point["x"]))


def crossed(sheet: Sheet) -> bool:
    """Whether one process count occurs on several numbers of nodes, so that line names need both."""
    shapes = {(key.ranks, key.nodes) for key in sheet.keys}
    return len(shapes) > len({ranks for ranks, _ in shapes})
