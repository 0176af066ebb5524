# SPDX-License-Identifier: BSD-3-Clause
"""Grouping of thousands of switches into the few boxes that fit on a page."""

from dataclasses import dataclass, field

import numpy as np

from weft.fabric.network.graph import Ints, Network

MOST_BOXES = 32
MOST_ABOVE = 12  # boxes in a row of cores: each has cables to every pod


@dataclass
class Box:
    """Switches of one level drawn as one box."""

    # level, order: row, and position in it
    level: int
    order: int
    # switches, hosts: switch indices, and host indices on them
    switches: list[int]
    hosts: list[int] = field(default_factory=list[int])
    pod: int = -1  # the pod it belongs to; -1 for none


def boxes(network: Network) -> list[Box]:
    """The boxes of a network, leaves first: single switches if they fit, else pods, else runs of neighbours."""
    level = np.array([s.level for s in network.switches], dtype=int)
    pod = switch_pods(network)
    made: list[Box] = []
    for number in range(1, int(level.max(initial=0)) + 1):
        members = np.flatnonzero(level == number)
        if len(members) <= MOST_BOXES:
            groups = [[int(s)] for s in members]
        elif (pod[members] >= 0).all() and len(np.unique(pod[members])) <= MOST_BOXES:
            groups = [np.flatnonzero((level == number) & (pod == p)).tolist() for p in np.unique(pod[members])]
        else:
            runs = runs_of(len(members), MOST_BOXES if number == 1 else MOST_ABOVE)
            groups = [run.tolist() for run in np.array_split(members, runs)]
        made += [Box(number, i, group, pod=int(pod[group[0]])) for i, group in enumerate(groups)]
    holder = {switch: box for box in made for switch in box.switches}
    for host, leaf in enumerate(network.leaf.tolist()):
        if leaf >= 0:
            holder[leaf].hosts.append(host)
    return made


def runs_of(count: int, most: int) -> int:
    """Number of runs of neighbours into which to divide ``count`` switches: a suitable divisor if there is one."""
    fair = [n for n in range(most, most // 2, -1) if count % n == 0]
    return fair[0] if fair else most


def switch_pods(network: Network) -> Ints:
    """Pod of the hosts below each switch, shape (switches,); -1 if they are in several pods or in none."""
    pod = np.full(len(network.switches), -1, dtype=np.int32)
    column = network.coordinates.get("pod")
    if column is None:
        return pod
    hosts, level = len(network.hosts), np.array([s.level for s in network.switches])
    cabled = network.leaf >= 0
    pod[network.leaf[cabled]] = column[cabled]
    pod = _leaves_without_hosts(network, pod, level)
    between = np.flatnonzero(network.switch_links)
    for number in range(2, int(level.max(initial=1)) + 1):
        below = between[(level[network.links.target[between] - hosts] == number)]
        below = below[level[network.links.source[below] - hosts] < number]
        above, beneath = network.links.target[below] - hosts, pod[network.links.source[below] - hosts]
        low = np.full(len(pod), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full(len(pod), -1, dtype=np.int32)
        np.minimum.at(low, above, beneath)
        np.maximum.at(high, above, beneath)
        members = level == number
        pod[members] = np.where(low[members] == high[members], high[members], -1)
    return pod


def _leaves_without_hosts(network: Network, pod: Ints, level: Ints) -> Ints:
    """Put leaves without hosts into the pod of the leaves that share their spines; else into a pod of their own."""
    hosts = len(network.hosts)
    empty = np.flatnonzero((level == 1) & (pod < 0))
    between = network.switch_links
    a, b = network.links.source[between] - hosts, network.links.target[between] - hosts
    spine_pod = np.full(len(pod), -1, dtype=np.int32)
    np.maximum.at(spine_pod, b, pod[a])
    following = int(pod.max(initial=-1)) + 1
    found = pod.copy()
    for leaf in empty.tolist():
        above = b[a == leaf]
        if not len(above):
            continue
        if spine_pod[above].max() < 0:
            spine_pod[above] = following
            following += 1
        found[leaf] = spine_pod[above].max()
    return found
