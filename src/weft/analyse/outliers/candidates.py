# SPDX-License-Identifier: BSD-3-Clause
"""Candidates for slow pairs of nodes: nodes, links, switches, pairs of leaves, each with the pairs that it touches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import group_messages
from weft.analyse.pairs.places import Places
from weft.fabric.hops import walk
from weft.fabric.loads import name_cable, name_link

Kind = Literal["node", "link", "cable", "switch", "leaves"]
Cells = NDArray[np.int64]

#: With more nodes than this the routes of all pairs would fill the memory, so only nodes are candidates.
MOST_NODES = 1024
#: With fewer nodes than this, too few pairs are left that a slow node does not touch.
FEWEST_NODES = 4


@dataclass(frozen=True, eq=False)
class Candidate:
    """A node, link, cable, switch or pair of leaves that may be slow."""

    kind: Kind
    name: str  # a node or a switch by name, a directed link or a cable by its two ends, or two leaves
    # pairs of nodes that it touches in either direction, as indices into the flattened node matrix. Half a round trip
    # contains both directions, so a pair belongs to a link even if only the way back crosses it.
    cells: Cells
    forth: Cells  # those of them that it touches from source to target
    # other candidates that touch exactly the same pairs: no measurement of pairs can distinguish them
    same: "tuple[Candidate, ...]" = ()
    cable: str = ""  # of a link: the name of its cable
    back: str = ""  # ... and of the link in the other direction
    parts: "tuple[Candidate, ...]" = ()  # of a cable whose two directions serve different pairs: its two links

    @property
    def titles(self) -> list[str]:
        """Its kind and name, and those of the candidates that cannot be distinguished from it."""
        return [f"{each.kind} {each.name}" for each in (self, *self.same)]

    @property
    def slowed(self) -> Cells:
        """Indices (pairs,) of pairs whose forward direction is taken as slower: `forth`, or `cells` if undecidable.

        A node may be slow to send or to receive, and if the same pairs cross both links of a cable, either may be slow:
        half a round trip is the same in all these cases.
        """
        ways = (other.forth for other in self.same if other.kind == "link")
        apart = self.kind in ("link", "switch") and all(np.array_equal(forth, self.forth) for forth in ways)
        return self.forth if apart else self.cells

    def directions(self, count: int) -> NDArray[np.int8]:
        """How a round trip of each of `cells` crosses it, as a code (cells,): the count, or which links of a cable."""
        if self.kind == "switch":
            return np.isin(self.cells, self.forth).astype(np.int8) + np.isin(turned(self.cells, count), self.forth)
        found = np.zeros(len(self.cells), np.int8)
        for number, part in enumerate(self.parts):
            found[np.isin(self.cells, part.cells)] += 1 << number
        return found


def turned(cells: Cells, count: int) -> Cells:
    """The way back of each pair of so many nodes."""
    return cells % count * count + cells // count


def list_candidates(places: Places) -> list[Candidate]:
    """All candidates; those that touch the same pairs are one candidate with the name of the first."""
    found: dict[bytes, Candidate] = {}
    for candidate in [*_nodes(places), *_routes(places)] if len(places.nodes) >= FEWEST_NODES else ():
        key = candidate.cells.tobytes()
        first = found.setdefault(key, candidate)
        if first is not candidate:
            found[key] = replace(first, same=(*first.same, candidate))
    return [
        replace(each, parts=tuple(found[part.cells.tobytes()] for part in each.parts)) if each.kind == "cable" else each
        for each in found.values()
    ]


def _nodes(places: Places) -> Iterator[Candidate]:
    count = len(places.nodes)
    for node, name in enumerate(places.nodes):
        forth = node * count + np.delete(np.arange(count), node)
        yield Candidate("node", name, np.sort(np.concatenate([forth, turned(forth, count)])), forth)


def _routes(places: Places) -> Iterator[Candidate]:
    """Links, cables, switches and pairs of leaves, from the routes of all pairs of nodes."""
    if not places.routed or len(places.nodes) > MOST_NODES:
        return
    count, network = len(places.nodes), places.network
    cells = np.flatnonzero(~np.eye(count, dtype=bool))
    source, target = np.divmod(cells, count)
    routes = walk(network, places.host[source], places.host[target])
    used = routes >= 0
    link, at = routes[used].astype(np.int64), np.broadcast_to(cells[:, np.newaxis], routes.shape)[used]
    between = network.switch_links[link]
    by_cable: dict[str, list[Candidate]] = {}
    links = _grouped("link", link[between], at[between], count, partial(name_link, network))
    for number, each in zip(np.unique(link[between]).tolist(), links, strict=True):
        named = replace(each, cable=name_cable(network, number // 2), back=name_link(network, number ^ 1))
        by_cable.setdefault(named.cable, []).append(named)
        yield named
    for cable in _grouped("cable", link[between] // 2, at[between], count, partial(name_cable, network)):
        yield replace(cable, parts=tuple(by_cable[cable.name]))
    hosts = len(network.hosts)
    end = network.links.target[link].astype(np.int64)
    through = end >= hosts
    yield from _grouped("switch", end[through] - hosts, at[through], count, lambda i: network.switches[i].name)
    leaf = network.leaf[places.host].astype(np.int64)
    low, high = np.minimum(leaf[source], leaf[target]), np.maximum(leaf[source], leaf[target])
    switches, apart = len(network.switches), low != high

    def leaves(key: int) -> str:
        return " and ".join(network.switches[leaf].name for leaf in divmod(key, switches))

    yield from _grouped("leaves", (low * switches + high)[apart], cells[apart], count, leaves)


def _grouped(kind: Kind, key: Cells, cells: Cells, count: int, name: Callable[[int], str]) -> Iterator[Candidate]:
    """One candidate for each key, with the cells that have it."""
    for value, forth in group_messages(key, cells):
        yield Candidate(kind, name(value), np.unique(np.concatenate([forth, turned(forth, count)])), forth)
