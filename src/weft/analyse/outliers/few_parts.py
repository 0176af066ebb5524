# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a machine that few rounds can tell apart, and its leaves: by file, or by clustering the run's times."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.two_groups import BINS, two_modes
from weft.analyse.pairs.places import Places
from weft.fabric.loads import name_cable, name_link
from weft.fabric.network.graph import Ints, Network
from weft.fabric.nodeset import fold

#: Leaves are recognised if so many of the nodes have one, and so many of the pairs agree with them.
LEAST_PLACED, LEAST_AGREEING = 0.8, 0.95


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf switch of each node."""

    of: NDArray[np.int64]  # number of each node's leaf, shape (nodes,); -1 of none
    names: tuple[str, ...]  # of each leaf: the switch's, or its nodes
    clustered: bool  # whether the run's own times tell them

    def share(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether the nodes of each pair are known to share a leaf."""
        return (self.of[source] >= 0) & (self.of[source] == self.of[target])


def find_leaves(
    places: Places, source: NDArray[np.int64], target: NDArray[np.int64], log_s: NDArray[np.float64]
) -> Leaves | None:
    """Leaves where no cable is known; None where neither file nor times tell leaves.

    `source`, `target`: node numbers of each pair, shape (pairs,); `log_s`: logarithm of its short message's seconds.
    """
    if (places.host >= 0).all() and len(places.network.switches) > 1:
        leaf = places.network.leaf[places.host].astype(np.int64)
        return Leaves(leaf, tuple(switch.name for switch in places.network.switches), False)
    found = cluster_nodes(len(places.nodes), source, target, log_s)
    if found is None:
        return None
    members = [[places.nodes[node] for node in np.flatnonzero(found == leaf)] for leaf in range(found.max() + 1)]
    return Leaves(found, tuple(f"of {fold(each)}" for each in members), True)


def cluster_nodes(
    nodes: int, source: NDArray[np.int64], target: NDArray[np.int64], log_s: NDArray[np.float64]
) -> NDArray[np.int64] | None:
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


Nodes = NDArray[np.int32] | NDArray[np.int64]
Kind = Literal["node", "sender", "receiver", "switch", "cable", "link"]

#: A part that fewer messages cross cannot be judged.
FEWEST_MESSAGES = 3


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


def list_parts(
    names: tuple[str, ...],
    source: Nodes,
    target: Nodes,
    network: Network | None = None,
    routes: Ints | None = None,
    full: NDArray[np.bool_] | None = None,
    leaves: Leaves | None = None,
) -> Parts:
    """Nodes, and with a network its links, cables and switches; with leaves alone their switches.

    `source`, `target`: nodes at the ends of each message, shape (messages,). `routes`: links that each crosses, -1 as
    padding; `full`: of the same shape, whether it tells how fast the link is, by default always.
    """
    groups = [_of_nodes(names, source, target)]
    if leaves is not None:
        groups.append(_of_leaves(leaves, source, target))
    if network is not None and routes is not None:
        groups.append(_of_routes(network, routes, routes >= 0 if full is None else full))
    found: dict[bytes, tuple[Part, NDArray[np.int64]]] = {}
    for part, messages in chain.from_iterable(groups):
        if len(messages) >= FEWEST_MESSAGES:
            key = messages.tobytes()
            first, _ = found.setdefault(key, (part, messages))
            if part.name not in (first.name, *first.also):
                found[key] = replace(first, also=(*first.also, part.name)), messages
    return Parts.of((part for part, _ in found.values()), [messages for _, messages in found.values()])


Crossed = Iterator[tuple[Part, NDArray[np.int64]]]


def _of_nodes(names: tuple[str, ...], source: Nodes, target: Nodes) -> Crossed:
    message = np.arange(len(source), dtype=np.int64)
    both = np.concatenate([source, target]).astype(np.int64)
    yield from _grouped(both, np.tile(message, 2), lambda i: Part("node", names[i]))
    yield from _grouped(source.astype(np.int64), message, lambda i: Part("sender", names[i]))
    yield from _grouped(target.astype(np.int64), message, lambda i: Part("receiver", names[i]))


def _of_leaves(leaves: Leaves, source: Nodes, target: Nodes) -> Crossed:
    """Leaf switches, each with the messages from and to its nodes."""
    ends = leaves.of[np.concatenate([source, target])]
    message = np.tile(np.arange(len(source), dtype=np.int64), 2)
    yield from _grouped(ends[ends >= 0], message[ends >= 0], lambda i: Part("switch", leaves.names[i]))


def _of_routes(network: Network, routes: Ints, full: NDArray[np.bool_]) -> Crossed:
    """Links between switches, cables and switches that messages cross; a host's own cable is the host's part."""
    used = routes >= 0
    link = routes[used].astype(np.int64)
    message = np.broadcast_to(np.arange(len(routes), dtype=np.int64)[:, np.newaxis], routes.shape)[used]
    between = network.switch_links[link] & full[used]

    def cable(number: int) -> Part:
        return Part("cable", name_cable(network, number), links=(2 * number, 2 * number + 1))

    yield from _grouped(link[between] // 2, message[between], cable)
    yield from _grouped(link[between], message[between], lambda i: Part("link", name_link(network, i), links=(i,)))
    hosts = len(network.hosts)
    vertex = network.links.target[link].astype(np.int64)
    through = vertex >= hosts

    def switch(number: int) -> Part:
        into = np.flatnonzero(network.links.target == hosts + number)
        return Part("switch", network.switches[number].name, links=tuple(into.tolist()))

    yield from _grouped(vertex[through] - hosts, message[through], switch)


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
