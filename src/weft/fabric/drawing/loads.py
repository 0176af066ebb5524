# SPDX-License-Identifier: BSD-3-Clause
"""Drawing of the links that a run counted: a box for every host and switch, a line for each direction of a link."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.fabric.drawing.layout import TOP, Point, box_width, over_the_middle
from weft.fabric.drawing.sketch import Line, Place, Sketch
from weft.fabric.loads import depths

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
