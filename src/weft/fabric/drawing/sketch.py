# SPDX-License-Identifier: BSD-3-Clause
"""Sketches of a fabric: boxes of hosts and switches with cables between them, and the load of each cable."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from weft.fabric.drawing.describe import counted, role
from weft.fabric.drawing.describe import rate as rate_text
from weft.fabric.drawing.layout import GRID, TOP, WIDTH, Box, Point, arrange, box_width, over_the_middle, row_y
from weft.fabric.loads import depths
from weft.fabric.network.graph import Floats, Network
from weft.fabric.nodeset import fold_for_people

CHARACTER = 6.4  # width of a character in a box, in points
COMPACT = ("dragonfly", "torus")  # no space below a box: its hosts are drawn inside it


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

    points: tuple[Point, ...]  # from the upper left
    between: str  # names of both ends
    cables: int  # their number
    value: float  # sets their colour: the largest of any of their links
    details: Mapping[str, str]  # contents of the tooltip, by name
    label: str = ""  # a text on the line
    label_at: Point = (0.0, 0.0)  # its centre


@dataclass(frozen=True)
class Sketch:
    """A drawing as boxes, lines and texts at the left of each row."""

    width: float
    height: float
    places: tuple[Place, ...]
    lines: tuple[Line, ...]
    rows: tuple[tuple[float, str, str], ...]


def sketch(network: Network, values: Floats | None = None) -> Sketch:
    """Lay out a network; a line's value is the largest of its links' ``values``, shape (links,), any unit."""
    made, centres = arrange(network)
    top = max((box.level for box in made), default=1)
    width = box_width(centres)
    height = max((y for _, y in centres), default=0.0) + TOP + 45
    places = tuple(_place(network, box, centre, width) for box, centre in zip(made, centres, strict=True))
    rows = () if network.topology in COMPACT else _row_texts(network, made, top)
    return Sketch(WIDTH, height, places, tuple(_lines(network, made, places, values)), rows)


def _place(network: Network, box: Box, centre: Point, width: float) -> Place:
    compact = network.topology in COMPACT
    names = fold_for_people(network.hosts[h] for h in box.hosts) if box.hosts else ""
    hosts = f"{len(box.hosts)}" if width < 64 else f"{len(box.hosts)} host{'s' if len(box.hosts) != 1 else ''}"
    if not compact and box.hosts and width >= 64 and len(names) * 5.2 < width * 1.1:
        hosts += f"\n{names}"
    first, last = network.switches[box.switches[0]].name, network.switches[box.switches[-1]].name
    label = first if first == last else f"{first} ... {last} ({len(box.switches)})"
    if network.topology == "dragonfly":
        text = first.split("-")[0]
    elif len(box.switches) == 1:
        text = first
    elif network.topology == "torus":
        text = f"{'-'.join(first.split('-')[1:3])}-*"
    else:
        text = counted(network, box.level, len(box.switches)) if width >= 64 else str(len(box.switches))
    room = max(2, int(width / CHARACTER))
    text = text if len(text) <= room else "…" + text[-(room - 1) :]
    named = f"{label}: {names}" if names else label
    if compact:
        return Place(*centre, width, 40.0, f"{text}\n{hosts}", "", named, role(network, box.level))
    return Place(*centre, width, 30.0, text, hosts if box.level == 1 else "", named, role(network, box.level))


def _lines(network: Network, made: list[Box], places: tuple[Place, ...], values: Floats | None) -> list[Line]:
    hosts, links = len(network.hosts), network.links
    holder = np.full(len(network.switches), -1)
    for number, box in enumerate(made):
        holder[box.switches] = number
    between = np.flatnonzero(network.switch_links)
    a, b = holder[links.source[between] - hosts], holder[links.target[between] - hosts]
    code = np.minimum(a, b) * len(made) + np.maximum(a, b)
    apart, lines = a != b, list[Line]()
    order = np.argsort(code[apart], kind="stable")
    keys, starts = np.unique(code[apart][order], return_index=True)
    for key, members in zip(keys, np.split(between[apart][order], starts)[1:], strict=True):
        one, other = places[int(key) // len(made)], places[int(key) % len(made)]
        value = float(np.max(values[members])) if values is not None else 0.0
        rate = float(links.rate[members].sum()) / 2  # each way
        name = f"{one.names.split(':')[0]} - {other.names.split(':')[0]}"
        way = ((one.x, one.y), (other.x, other.y)) if network.topology == "dragonfly" else _way(one, other)
        details = {"between": name, "cables": f"{len(members) // 2:,}", "rate each way": rate_text(rate)}
        lines.append(Line(way, name, len(members) // 2, value, details))
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
#: A label's centre on its cable, from the upper end (0) to the lower (1): lower down cables are farther apart.
LABEL_AT = 0.72
LABEL_CHARACTER, LABEL_HEIGHT = 7.0, 16.0  # width of a label's character, and height of a label, in points
Label = tuple[str, Point]  # its text and centre
APART = 0.1  # both directions of a cable get a value if their values differ by more than this


@dataclass(frozen=True)
class LinkLoad:
    """One direction of a link."""

    source: str  # the end from which data went
    target: str
    cable: str  # that both directions share
    value: float  # sets its colour, such as the share of its rate (0 to 1)
    text: str = ""  # the value as written on the link; empty if it is not known
    details: Mapping[str, str] = field(default_factory=dict[str, str])  # contents of its tooltip, by name


def sketch_loads(loads: Sequence[LinkLoad], hosts: Sequence[str], width: float) -> Sketch:
    """Lay out the links of a tree, hosts at the bottom."""
    links = [(load.source, load.target) for load in loads]
    depth = depths(hosts, links)
    top = max(depth.values(), default=1)
    centres = {end: (width * x, TOP + (top - depth[end]) * ROW) for end, x in over_the_middle(links, depth).items()}
    rows = [{end: centre for end, centre in centres.items() if depth[end] == row} for row in range(top + 1)]
    places = tuple(place for row in rows for place in _row(row))
    apart = min(5.0, min(place.width for place in places) / 6)
    labels = _labels(loads, centres, depth)
    lines: list[Line] = []
    for number, load in enumerate(loads):
        aside = apart if depth[load.source] < depth[load.target] else -apart  # up at the left, down at the right
        points = tuple((x - aside, y) for x, y in (centres[load.source], centres[load.target]))
        label = labels.get(number, ("", (0.0, 0.0)))
        lines.append(Line(points, f"{load.source} - {load.target}", 1, load.value, load.details, *label))
    return Sketch(width, TOP + top * ROW + BELOW + HIGH / 2, places, tuple(lines), ())


def _row(centres: Mapping[str, Point]) -> list[Place]:
    wide = box_width(list(centres.values()))
    named = max(map(len, centres), default=0) * CHARACTER <= wide
    high = HIGH if named else min(HIGH, wide)
    return [Place(*centre, wide, high, name if named else "", "", name, "") for name, centre in centres.items()]


def _labels(loads: Sequence[LinkLoad], centres: Mapping[str, Point], depth: Mapping[str, int]) -> dict[int, Label]:
    """Text and centre of a label, by the number of its line, for each cable where it touches none of a busier one."""
    cables = defaultdict[str, list[int]](list)
    for number, load in enumerate(loads):
        cables[load.cable].append(number)
    busiest = {max(own, key=lambda number: loads[number].value): own for own in cables.values()}
    kept: dict[int, Label] = {}
    for number, own in sorted(busiest.items(), key=lambda each: -loads[each[0]].value):
        load, text = loads[number], loads[number].text
        if load.value - min(loads[each].value for each in own) > APART:
            ways = {each: "↑" if depth[loads[each].source] < depth[loads[each].target] else "↓" for each in own}
            text = " ".join(f"{loads[each].text} {arrow}" for each, arrow in ways.items())
        lower, upper = sorted((load.source, load.target), key=lambda end: depth[end])
        (x, y), (x2, y2) = centres[upper], centres[lower]
        label = text, (x + LABEL_AT * (x2 - x), y + LABEL_AT * (y2 - y))
        if text and not any(_touch(label, other) for other in kept.values()):
            kept[number] = label
    return kept


def _touch(one: Label, other: Label) -> bool:
    across, down = (abs(here - there) for here, there in zip(one[1], other[1], strict=True))
    return across < (len(one[0]) + len(other[0])) / 2 * LABEL_CHARACTER and down < LABEL_HEIGHT
