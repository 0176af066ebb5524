# SPDX-License-Identifier: BSD-3-Clause
"""Sketches of a fabric: boxes of hosts and switches with cables between them, and the load of each cable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.fabric.drawing.describe import counted, role
from weft.fabric.drawing.describe import rate as rate_text
from weft.fabric.drawing.layout import GRID, TOP, WIDTH, Box, Point, arrange, box_width, over_the_middle, row_y
from weft.fabric.loads import depths
from weft.fabric.network.graph import Network
from weft.fabric.nodeset import fold_for_people


@dataclass(frozen=True)
class Place:
    """A box of the drawing: centre and size in points, texts, and the vertices that it represents."""

    x: float
    y: float
    width: float
    height: float
    text: str
    below: str
    names: str
    kind: str


@dataclass(frozen=True)
class Line:
    """Cables between two boxes."""

    points: tuple[Point, ...]  # points of the line, in points from the upper left
    between: str  # names of both ends
    # cables, rate: number of cables, and their total rate in bytes per second, each way
    cables: int
    rate: float
    value: float  # the value that sets their colour: the largest of any of their links
    # label, label_at: a text on the line, and the centre of that text in points
    label: str = ""
    label_at: Point = (0.0, 0.0)
    details: Mapping[str, str] = field(default_factory=dict[str, str])  # contents of the tooltip, by name

    def with_label(self, label: str, centre: Point) -> "Line":
        """The same line with a label whose centre lies at a point."""
        return replace(self, label=label, label_at=centre)


@dataclass(frozen=True)
class Sketch:
    """A drawing as boxes, lines and texts at the left of each row."""

    width: float
    height: float
    places: tuple[Place, ...]
    lines: tuple[Line, ...]
    rows: tuple[tuple[float, str, str], ...]


def sketch(network: Network, values: NDArray[np.floating] | None = None) -> Sketch:
    """Lay out a network; a line's value is the largest of its links' ``values``, shape (links,), any unit."""
    made, centres = arrange(network)
    top = max((box.level for box in made), default=1)
    width = box_width(centres)
    height = max((y for _, y in centres), default=0.0) + TOP + 45
    places = tuple(_place(network, box, centre, width) for box, centre in zip(made, centres, strict=True))
    rows = _row_texts(network, made, top) if network.topology not in ("dragonfly", "torus") else ()
    return Sketch(WIDTH, height, places, tuple(_lines(network, made, places, values)), rows)


def _place(network: Network, box: Box, centre: Point, width: float) -> Place:
    compact = network.topology in ("dragonfly", "torus")  # no space below a box: its hosts are drawn inside it
    names = fold_for_people(network.hosts[h] for h in box.hosts) if box.hosts else ""
    hosts = f"{len(box.hosts)}" if width < 64 else f"{len(box.hosts)} host{'s' if len(box.hosts) != 1 else ''}"
    if not compact and box.hosts and width >= 64 and len(names) * 5.2 < width * 1.1:
        hosts += f"\n{names}"
    first, last = network.switches[box.switches[0]].name, network.switches[box.switches[-1]].name
    label = first if first == last else f"{first} ... {last} ({len(box.switches)})"
    text = _shortened(_box_name(network, box, width), width)
    return Place(
        *centre,
        width,
        40.0 if compact else 30.0,
        f"{text}\n{hosts}" if compact else text,
        hosts if box.level == 1 and not compact else "",
        f"{label}: {names}" if names else label,
        role(network, box.level),
    )


def _box_name(network: Network, box: Box, width: float) -> str:
    name = network.switches[box.switches[0]].name
    if network.topology == "dragonfly":
        return name.split("-")[0]
    if len(box.switches) == 1:
        return name
    if network.topology == "torus":
        return f"{'-'.join(name.split('-')[1:3])}-*"
    return counted(network, box.level, len(box.switches)) if width >= 64 else str(len(box.switches))


def _shortened(name: str, width: float) -> str:
    room = max(2, int(width / 6.4))
    return name if len(name) <= room else "…" + name[-(room - 1) :]


def _lines(
    network: Network, made: list[Box], places: tuple[Place, ...], values: NDArray[np.floating] | None
) -> list[Line]:
    hosts, links = len(network.hosts), network.links
    holder = np.full(len(network.switches), -1)
    for i, box in enumerate(made):
        holder[box.switches] = i
    between = np.flatnonzero(network.switch_links)
    a, b = holder[links.source[between] - hosts], holder[links.target[between] - hosts]
    code = np.minimum(a, b) * len(made) + np.maximum(a, b)
    apart = a != b
    lines: list[Line] = []
    order = np.argsort(code[apart], kind="stable")
    keys, starts = np.unique(code[apart][order], return_index=True)
    for key, members in zip(keys, np.split(between[apart][order], starts)[1:], strict=True):
        one, other = places[int(key) // len(made)], places[int(key) % len(made)]
        value = float(np.max(values[members])) if values is not None else 0.0
        rate = float(links.rate[members].sum()) / 2  # each way
        name = f"{one.names.split(':')[0]} - {other.names.split(':')[0]}"
        way = ((one.x, one.y), (other.x, other.y)) if network.topology == "dragonfly" else _way(one, other)
        details = {"between": name, "cables": f"{len(members) // 2:,}", "rate each way": rate_text(rate)}
        lines.append(Line(way, name, len(members) // 2, rate, value, details=details))
    return lines


def _way(one: Place, other: Place) -> tuple[tuple[float, float], ...]:
    """Points of the line between two boxes: straight, or around boxes between them in the same row or column."""
    dx, dy = abs(other.x - one.x), abs(other.y - one.y)
    if dy < 1 and dx > 1.5 * one.width + 40:
        y = one.y - one.height / 2 - 9
        return ((one.x, one.y), (one.x + 8, y), (other.x - 8, y), (other.x, other.y))
    if dx < 1 and dy > 1.5 * GRID and one.kind == other.kind:
        x = one.x + one.width / 2 + 9
        return ((one.x, one.y), (x, one.y + 8), (x, other.y - 8), (other.x, other.y))
    return ((one.x, one.y), (other.x, other.y))


def _row_texts(network: Network, made: list[Box], top: int) -> tuple[tuple[float, str, str], ...]:
    """The text to the left of each row: numbers of switches and hosts, and of switches per box."""
    texts: list[tuple[float, str, str]] = []
    for level in range(1, top + 1):
        row = [box for box in made if box.level == level]
        sizes = sorted({len(box.switches) for box in row})
        hosts = sum(len(box.hosts) for box in row)
        notes = [f"{hosts:,} hosts"] if hosts else []
        if sizes[-1] > 1:
            notes.append(f"{sizes[-1]} a box" if len(sizes) == 1 else f"up to {sizes[-1]} a box")
        if any(box.pod >= 0 for box in row) and len({box.pod for box in row}) > 1:
            notes.append(f"{len({box.pod for box in row})} pods")
        texts.append((row_y(level, top), counted(network, level, sum(len(b.switches) for b in row)), "\n".join(notes)))
    return tuple(texts)


ROW, BELOW, HIGH = 90.0, 18.0, 26.0
CHARACTER = 6.4
#: A label's centre on its cable, from the upper end (0) to the lower (1): lower down cables are farther apart.
LABEL_AT = 0.72
LABEL_CHARACTER, LABEL_HEIGHT = 7.0, 16.0  # width of a label's character, and height of a label, in points
APART = 0.1  # both directions of a cable get a value if their values differ by more than this


@dataclass(frozen=True)
class LinkLoad:
    """One direction of a link."""

    # source, target: names of its ends; data went from the first to the second
    source: str
    target: str
    cable: str  # the cable that both directions share
    value: float  # the value that sets its colour, such as the share of its rate (0 to 1)
    text: str = ""  # the value as written on the link; empty if it is not known
    details: Mapping[str, str] = field(default_factory=dict[str, str])  # contents of its tooltip, by name


def sketch_loads(loads: Sequence[LinkLoad], hosts: Sequence[str], width: float) -> Sketch:
    """Lay out the links of a tree, hosts at the bottom."""
    links = [(load.source, load.target) for load in loads]
    depth = depths(hosts, links)
    top = max(depth.values(), default=1)
    across = over_the_middle(links, depth)
    centres = {end: (width * x, TOP + (top - depth[end]) * ROW) for end, x in across.items()}
    rows = [{end: centre for end, centre in centres.items() if depth[end] == row} for row in range(top + 1)]
    places = tuple(place for row in rows for place in _row(row))
    apart = min(5.0, min(place.width for place in places) / 6)
    lines = [_line(load, centres, apart if depth[load.source] < depth[load.target] else -apart) for load in loads]
    for label in _that_fit(_labels(loads, centres, depth)):
        lines[label.line] = lines[label.line].with_label(label.text, label.centre)
    return Sketch(width, TOP + top * ROW + BELOW + HIGH / 2, places, tuple(lines), ())


def _row(centres: Mapping[str, Point]) -> list[Place]:
    wide = box_width(list(centres.values()))
    named = max(map(len, centres), default=0) * CHARACTER <= wide
    high = HIGH if named else min(HIGH, wide)
    return [Place(*centre, wide, high, name if named else "", "", name, "") for name, centre in centres.items()]


def _line(load: LinkLoad, centres: Mapping[str, Point], aside: float) -> Line:
    """The line of one direction, a little to the left (up) or to the right (down) of the cable's centre line."""
    (x, y), (x2, y2) = centres[load.source], centres[load.target]
    points = ((x - aside, y), (x2 - aside, y2))
    return Line(points, f"{load.source} - {load.target}", 1, float("nan"), load.value, details=load.details)


class Label(NamedTuple):
    """A text on a cable: the line that carries it, the line's value, and the centre of the text in points."""

    line: int
    value: float
    text: str
    centre: Point

    def overlaps(self, other: "Label") -> bool:
        """Whether the two texts would touch."""
        wide = (len(self.text) + len(other.text)) / 2 * LABEL_CHARACTER
        across, down = (abs(one - two) for one, two in zip(self.centre, other.centre, strict=True))
        return across < wide and down < LABEL_HEIGHT


def _labels(loads: Sequence[LinkLoad], centres: Mapping[str, Point], depth: Mapping[str, int]) -> Iterator[Label]:
    """A label for the busier direction of each cable; it gives both values if they differ."""
    cables: dict[str, list[int]] = {}
    for index, load in enumerate(loads):
        cables.setdefault(load.cable, []).append(index)
    for own in cables.values():
        busiest = max(own, key=lambda index: loads[index].value)
        load, text = loads[busiest], loads[busiest].text
        if load.value - min(loads[index].value for index in own) > APART:
            text = " ".join(f"{loads[index].text} {_arrow(loads[index], depth)}" for index in own)
        lower, upper = sorted((load.source, load.target), key=lambda end: depth[end])
        (x, y), (x2, y2) = centres[upper], centres[lower]
        if text:
            yield Label(busiest, load.value, text, (x + LABEL_AT * (x2 - x), y + LABEL_AT * (y2 - y)))


def _that_fit(labels: Iterable[Label]) -> list[Label]:
    kept: list[Label] = []
    for label in sorted(labels, key=lambda each: -each.value):
        if not any(label.overlaps(other) for other in kept):
            kept.append(label)
    return kept


def _arrow(load: LinkLoad, depth: Mapping[str, int]) -> str:
    return "↑" if depth[load.source] < depth[load.target] else "↓"
