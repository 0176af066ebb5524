# SPDX-License-Identifier: BSD-3-Clause
"""Layout of the boxes of a drawing: a tree in rows, a dragonfly in a ring, a torus in a grid."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from weft.fabric.drawing.grouping import Box, boxes
from weft.fabric.network.graph import Network

WIDTH, ROW, TOP, GRID = 1000.0, 150.0, 40.0, 84.0
WIDEST = 124.0
POD_GAP = 0.5  # leaves

Point = tuple[float, float]


def arrange(network: Network) -> tuple[list[Box], list[Point]]:
    """The boxes of a network and the centre of each, in points from the upper left."""
    if network.topology == "dragonfly":
        made = _groups(network)
        return made, _ring(len(made))
    if network.topology == "torus":
        made = _columns(network)
        return made, _grid(network, made)
    made = boxes(network)
    return made, _rows(made)


def box_width(centres: list[Point]) -> float:
    """Width at which no two boxes of a row touch, in points; at most `WIDEST`."""
    beside = [abs(a[0] - b[0]) for a, b in combinations(centres, 2) if abs(a[1] - b[1]) < GRID / 2]
    return min([WIDEST, *(0.86 * distance for distance in beside)])


def over_the_middle(links: Sequence[tuple[str, str]], depth: Mapping[str, int]) -> dict[str, float]:
    """Horizontal positions of a tree's vertices, from 0 (left) to 1; each switch is centred above what it connects."""
    below: dict[str, list[str]] = {}
    place = {end: index for index, end in enumerate(depth)}  # hosts in their order
    cables = {tuple(sorted(pair, key=lambda end: depth.get(end, 0))) for pair in links}
    for one, other in sorted(cables, key=lambda ends: [place.get(end, len(place)) for end in ends]):
        below.setdefault(other, []).append(one)
    lower = {name for names in below.values() for name in names}
    order: list[str] = []

    def visit(end: str) -> None:
        for name in below.get(end, ()):
            visit(name)
        if end not in below and end not in order:
            order.append(end)

    for root in (end for end in depth if end not in lower):
        visit(root)
    x = {name: (index + 0.5) / len(order) for index, name in enumerate(order)}
    for end in sorted(below, key=lambda name: depth[name]):
        x[end] = sum(x[name] for name in below[end]) / len(below[end])
    return x


def row_y(level: int, top: int) -> float:
    """Vertical position of a row of switches, in points; the top level is at the top."""
    return TOP + (top - level) * ROW


def _rows(made: list[Box]) -> list[Point]:
    """Place pods side by side, each as wide as its widest row, and rows without pods over the whole width."""
    top = max((box.level for box in made), default=1)
    rows = {level: [box for box in made if box.level == level] for level in range(1, top + 1)}
    podded = {level for level, row in rows.items() if all(box.pod >= 0 for box in row) and level < max(top, 2)}
    pods = sorted({box.pod for level in podded for box in rows[level]})
    widest = {pod: max(sum(box.pod == pod for box in rows[level]) for level in podded) for pod in pods}
    total = sum(widest.values()) + POD_GAP * (len(pods) - 1)
    start: dict[int, float] = {}
    at = 0.0
    for pod in pods:
        start[pod] = at
        at += widest[pod] + POD_GAP
    centres: list[Point] = []
    for box in made:
        row = rows[box.level]
        if box.level in podded:
            mates = [other for other in row if other.pod == box.pod]
            share = (mates.index(box) + 0.5) / len(mates)
            x = WIDTH * (start[box.pod] + share * widest[box.pod]) / total
        else:
            x = WIDTH * (box.order + 0.5) / len(row)
        centres.append((x, row_y(box.level, top)))
    return centres


def _groups(network: Network) -> list[Box]:
    pods = [int(s.name.removeprefix("group").split("-")[0]) for s in network.switches]
    members: dict[int, list[int]] = {}
    for switch, pod in enumerate(pods):
        members.setdefault(pod, []).append(switch)
    hosts: dict[int, list[int]] = {}
    for host, leaf in enumerate(network.leaf):
        hosts.setdefault(pods[int(leaf)], []).append(host)
    return [Box(1, i, members[pod], hosts.get(pod, []), pod) for i, pod in enumerate(sorted(members))]


def _ring(count: int) -> list[Point]:
    """An ellipse as wide as the page; taller with many groups, so that no two boxes touch."""
    turns = [2 * math.pi * i / count - math.pi / 2 for i in range(count)]
    high, wide = max(230.0, 8.5 * count), WIDTH / 2 - WIDEST / 2
    return [(WIDTH / 2 + wide * math.cos(t), TOP + 20 + high + high * math.sin(t)) for t in turns]


def _place_of(network: Network, switch: int) -> tuple[int, ...]:
    return tuple(map(int, network.switches[switch].name.removeprefix("switch-").split("-")[:2]))


def _columns(network: Network) -> list[Box]:
    """One box for each place in the first two dimensions of a torus, with all switches of further dimensions in it."""
    made: dict[tuple[int, ...], Box] = {}
    holder: list[Box] = []
    for switch in range(len(network.switches)):
        box = made.setdefault(_place_of(network, switch), Box(1, len(made), []))
        box.switches.append(switch)
        holder.append(box)
    for host, leaf in enumerate(network.leaf):
        holder[int(leaf)].hosts.append(host)
    return list(made.values())


def _grid(network: Network, made: list[Box]) -> list[Point]:
    places = [_place_of(network, box.switches[0]) for box in made]
    across = max(place[0] for place in places) + 1
    return [((p[0] + 0.5) * WIDTH / across, TOP + (p[1] if len(p) > 1 else 0) * GRID) for p in places]
