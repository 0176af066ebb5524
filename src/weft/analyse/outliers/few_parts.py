# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a machine that few rounds can tell apart, and its leaves: by file, or by clustering the run's times."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.rule import BINS, two_modes
from weft.analyse.pairs.places import Places
from weft.fabric.loads import name_cable, name_link
from weft.fabric.network.graph import Ints, Network
from weft.fabric.nodeset import fold

#: Leaves are recognised if so many of the nodes have one, and so many of the pairs agree with them.
LEAST_PLACED, LEAST_AGREEING = 0.8, 0.95
FEWEST_MESSAGES = 3  # a part that fewer messages cross cannot be judged
Numbers = NDArray[np.int64]
Nodes = NDArray[np.int32] | NDArray[np.int64]
Kind = Literal["node", "sender", "receiver", "switch", "cable", "link"]


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf switch of each node."""

    of: NDArray[np.int64]  # number of each node's leaf, shape (nodes,); -1 of none
    names: tuple[str, ...]  # of each leaf: the switch's, or its nodes
    clustered: bool  # whether the run's own times tell them

    def share(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether the nodes of each pair are known to share a leaf."""
        return (self.of[source] >= 0) & (self.of[source] == self.of[target])


def find_leaves(places: Places, source: Numbers, target: Numbers, log_s: NDArray[np.float64]) -> Leaves | None:
    """Leaves where no cable is known; None where neither file nor times tell leaves. `source`, `target`: node numbers
    of each pair, shape (pairs,); `log_s`: logarithm of its short message's seconds.
    """
    if (places.host >= 0).all() and len(places.network.switches) > 1:
        leaf = places.network.leaf[places.host].astype(np.int64)
        return Leaves(leaf, tuple(switch.name for switch in places.network.switches), False)
    found = cluster_nodes(len(places.nodes), source, target, log_s)
    if found is None:
        return None
    members = [[places.nodes[node] for node in np.flatnonzero(found == leaf)] for leaf in range(found.max() + 1)]
    return Leaves(found, tuple(f"of {fold(each)}" for each in members), True)


def cluster_nodes(nodes: int, source: Numbers, target: Numbers, log_s: NDArray[np.float64]) -> Numbers | None:
    """Number of the leaf of each node, -1 of none: nodes that near pairs join, if the times have two groups."""
    if not len(log_s):
        return None
    bucket = np.floor(BINS * (log_s - np.median(log_s))).astype(np.int64)
    modes = two_modes(*np.unique(bucket, return_counts=True))
    if modes is None:
        return None
    near = bucket < BINS * modes.split
    leaf = np.arange(nodes)
    for one, other in zip(source[near].tolist(), target[near].tolist(), strict=True):
        if leaf[one] != leaf[other]:
            leaf[leaf == leaf[other]] = leaf[one]
    _, index, sizes = np.unique(leaf, return_inverse=True, return_counts=True)
    found = np.where(sizes > 1, np.cumsum(sizes > 1) - 1, -1)[index.ravel()]
    placed = (found[source] >= 0) & (found[target] >= 0)
    agreeing = near == (found[source] == found[target])
    clustered = found.max() > 0 and (found >= 0).mean() >= LEAST_PLACED and agreeing[placed].mean() >= LEAST_AGREEING
    return found if clustered else None


@dataclass(frozen=True)
class Part:
    """Something that may be slow."""

    kind: Kind  # a node or a cable in both directions, a sender, a receiver or a link in one
    name: str  # as the network names it: ``n17``, ``spine1``, ``leaf3 - spine1``, ``leaf3 -> spine1``
    # names of parts that the same messages cross, so that nothing measured here can tell them apart
    also: tuple[str, ...] = ()
    links: tuple[int, ...] = ()  # indices of its links in the network; of a node none


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts with the messages that cross them, as rows of a sparse matrix."""

    parts: tuple[Part, ...]
    first: NDArray[np.int64]  # place of each part's messages in ``message``, shape (parts + 1,)
    message: NDArray[np.int64]  # indices of messages, part by part

    def messages(self, part: int) -> NDArray[np.int64]:
        """Indices of the messages that cross a part."""
        return self.message[self.first[part] : self.first[part + 1]]

    @classmethod
    def of(cls, parts: Iterable[Part], crossed: Sequence[NDArray[np.int64]]) -> "Parts":
        """Parts, and the indices of the messages that cross each."""
        message = np.concatenate(crossed) if crossed else np.empty(0, np.int64)
        return cls(tuple(parts), np.cumsum([0, *map(len, crossed)], dtype=np.int64), message)


Crossed = Iterable[tuple[Part, NDArray[np.int64]]]  # parts, each with the indices of the messages that cross it


def list_parts(
    names: tuple[str, ...], source: Nodes, target: Nodes, crossed: Crossed = (), leaves: Leaves | None = None
) -> Parts:
    """Nodes, what else messages are known to have ``crossed``, and the switches of leaves. `source`, `target`: nodes at
    the ends of each message, shape (messages,).
    """
    message = np.arange(len(source), dtype=np.int64)
    twice, ends = np.tile(message, 2), np.concatenate([source, target]).astype(np.int64)
    groups = [
        _grouped(ends, twice, lambda i: Part("node", names[i])),
        _grouped(source.astype(np.int64), message, lambda i: Part("sender", names[i])),
        _grouped(target.astype(np.int64), message, lambda i: Part("receiver", names[i])),
    ]
    if leaves is not None:  # each leaf switch with the messages from and to its nodes
        leaf, named = leaves.of[ends], leaves.names
        groups.append(_grouped(leaf[leaf >= 0], twice[leaf >= 0], lambda i: Part("switch", named[i])))
    found: dict[bytes, tuple[Part, NDArray[np.int64]]] = {}
    for part, messages in chain(*groups, crossed):
        if len(messages) >= FEWEST_MESSAGES:
            key = messages.tobytes()
            first, _ = found.setdefault(key, (part, messages))
            if part.name not in (first.name, *first.also):
                found[key] = replace(first, also=(*first.also, part.name)), messages
    return Parts.of((part for part, _ in found.values()), [messages for _, messages in found.values()])


def follow_routes(network: Network, routes: Ints, ways: Numbers, full: NDArray[np.bool_]) -> Crossed:
    """Links between switches, cables and switches that some ``ways`` cross; a host's own cable is the host's part.
    `routes`: links of each way, -1 as padding; `full`, of the same shape: whether it tells of the link and its cable.
    """
    used = routes >= 0
    link = routes[used].astype(np.int64)
    way = np.broadcast_to(ways[:, np.newaxis], routes.shape)[used]
    between = network.switch_links[link] & full[used]
    vertex = network.links.target[link].astype(np.int64) - len(network.hosts)
    through = vertex >= 0

    def cable(number: int) -> Part:
        return Part("cable", name_cable(network, number), links=(2 * number, 2 * number + 1))

    def switch(number: int) -> Part:
        into = np.flatnonzero(network.links.target == len(network.hosts) + number)
        return Part("switch", network.switches[number].name, links=tuple(into.tolist()))

    yield from _grouped(link[between] // 2, way[between], cable)
    yield from _grouped(link[between], way[between], lambda i: Part("link", name_link(network, i), links=(i,)))
    yield from _grouped(vertex[through], way[through], switch)


def _grouped(of: NDArray[np.int64], message: NDArray[np.int64], part: Callable[[int], Part]) -> Crossed:
    for key, messages in group_messages(of, message):
        yield part(key), messages


def group_messages(of: NDArray[np.int64], message: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each key of ``of``, ascending, with the indices ``message`` that have it, ascending, each once."""
    if not len(of):  # one leaf: no cable joins two switches
        return
    order = np.lexsort((message, of))
    of, message = of[order], message[order]
    new = np.append(True, (np.diff(of) != 0) | (np.diff(message) != 0))
    of, message = of[new], message[new]
    keys, starts = np.unique(of, return_index=True)
    yield from zip(keys.tolist(), np.split(message, starts[1:]), strict=True)
