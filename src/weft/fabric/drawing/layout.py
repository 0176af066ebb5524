# SPDX-License-Identifier: BSD-3-Clause
"""Layout of the boxes of a drawing: a tree in rows, a dragonfly in a ring, a torus in a grid."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

import numpy as np

from weft.fabric.network.graph import Ints, Network

WIDTH, ROW, TOP, GRID = 1000.0, 150.0, 40.0, 84.0
WIDEST = 124.0
POD_GAP = 0.5  # leaves
MOST_BOXES = 32
MOST_ABOVE = 12  # boxes in a row of cores: each has cables to every pod
Point = tuple[float, float]


@dataclass
class Box:
    """Switches of one level drawn as one box, with the hosts on them, by their indices."""

    level: int  # row
    order: int  # position in it
    switches: list[int]
    hosts: Sequence[int] = ()
    pod: int = -1  # -1 for none


def arrange(network: Network) -> tuple[list[Box], list[Point]]:
    """The boxes of a network and the centre of each, in points from the upper left."""
    if network.topology not in ("dragonfly", "torus"):
        made = boxes(network)
        return made, _rows(made)
    # a box for each group, or each place in the first two dimensions, with all switches of further dimensions in it
    numbers = 1 if network.topology == "dragonfly" else 2
    inside = defaultdict[tuple[int, ...], list[int]](list)
    for switch, each in enumerate(network.switches):
        inside[tuple(map(int, re.findall(r"\d+", each.name)[:numbers]))].append(switch)
    places = sorted(inside)
    made = _with_hosts(network, [Box(1, order, inside[place]) for order, place in enumerate(places)])
    if numbers == 1:  # an ellipse as wide as the page; taller with many, so that no two boxes touch
        turns = [2 * math.pi * i / len(made) - math.pi / 2 for i in range(len(made))]
        high, wide = max(230.0, 8.5 * len(made)), WIDTH / 2 - WIDEST / 2
        return made, [(WIDTH / 2 + wide * math.cos(t), TOP + 20 + high + high * math.sin(t)) for t in turns]
    across = max(place[0] for place in places) + 1
    return made, [((x + 0.5) * WIDTH / across, TOP + (y[0] if y else 0) * GRID) for x, *y in places]


def box_width(centres: list[Point]) -> float:
    """Width at which no two boxes of a row touch, in points; at most `WIDEST`."""
    beside = [abs(a[0] - b[0]) for a, b in combinations(centres, 2) if abs(a[1] - b[1]) < GRID / 2]
    return min([WIDEST, *(0.86 * distance for distance in beside)])


def over_the_middle(links: Sequence[tuple[str, str]], depth: Mapping[str, int]) -> dict[str, float]:
    """Horizontal positions of a tree's vertices, from 0 (left) to 1; each switch is centred above what it connects."""
    below = defaultdict[str, list[str]](list)
    place = {end: index for index, end in enumerate(depth)}  # hosts in their order
    cables = {tuple(sorted(pair, key=lambda end: depth.get(end, 0))) for pair in links}
    for one, other in sorted(cables, key=lambda ends: [place.get(end, len(place)) for end in ends]):
        below[other].append(one)
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
    start = dict(zip(pods, accumulate((widest[pod] + POD_GAP for pod in pods), initial=0.0), strict=False))
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


def boxes(network: Network) -> list[Box]:
    """The boxes of a network, leaves first: single switches if they fit, else pods, else runs of neighbours."""
    level, pod = network.level, switch_pods(network)
    made: list[Box] = []
    for number in range(1, int(level.max(initial=0)) + 1):
        members = np.flatnonzero(level == number)
        if len(members) <= MOST_BOXES:
            groups = [[int(s)] for s in members]
        elif (pod[members] >= 0).all() and len(np.unique(pod[members])) <= MOST_BOXES:
            groups = [np.flatnonzero((level == number) & (pod == p)).tolist() for p in np.unique(pod[members])]
        else:
            most = MOST_BOXES if number == 1 else MOST_ABOVE
            runs = next((n for n in range(most, most // 2, -1) if len(members) % n == 0), most)  # a divisor, if any is
            groups = [run.tolist() for run in np.array_split(members, runs)]
        made += [Box(number, i, group, pod=int(pod[group[0]])) for i, group in enumerate(groups)]
    return _with_hosts(network, made)


def _with_hosts(network: Network, made: list[Box]) -> list[Box]:
    for box in made:
        box.hosts = np.flatnonzero(np.isin(network.leaf, box.switches)).tolist()
    return made


def switch_pods(network: Network) -> Ints:
    """Pod of the hosts below each switch, shape (switches,); -1 if they are in several pods or in none."""
    pod = np.full(len(network.switches), -1, dtype=np.int32)
    column = network.coordinates.get("pod")
    if column is None:
        return pod
    hosts, level = len(network.hosts), network.level
    cabled = network.leaf >= 0
    pod[network.leaf[cabled]] = column[cabled]
    pod = _leaves_without_hosts(network, pod)
    between = np.flatnonzero(network.switch_links)
    for number in range(2, int(level.max(initial=1)) + 1):
        below = between[(level[network.links.target[between] - hosts] == number)]
        below = below[level[network.links.source[below] - hosts] < number]
        above, beneath = network.links.target[below] - hosts, pod[network.links.source[below] - hosts]
        low = np.full(len(pod), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full(len(pod), -1, dtype=np.int32)
        np.minimum.at(low, above, beneath)
        np.maximum.at(high, above, beneath)
        pod[level == number] = np.where(low == high, high, -1)[level == number]
    return pod


def _leaves_without_hosts(network: Network, pod: Ints) -> Ints:
    """Put leaves without hosts into the pod of the leaves that share their spines; else into a pod of their own."""
    hosts, between = len(network.hosts), network.switch_links
    empty = np.flatnonzero((network.level == 1) & (pod < 0))
    a, b = network.links.source[between] - hosts, network.links.target[between] - hosts
    spine_pod = np.full(len(pod), -1, dtype=np.int32)
    np.maximum.at(spine_pod, b, pod[a])
    following = int(pod.max(initial=-1)) + 1
    found = pod.copy()
    for leaf in empty.tolist():
        above = b[a == leaf]
        if len(above) and spine_pod[above].max() < 0:
            spine_pod[above] = following
            following += 1
        found[leaf] = spine_pod[above].max(initial=-1)
    return found
