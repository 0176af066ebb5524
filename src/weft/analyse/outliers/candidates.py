# SPDX-License-Identifier: BSD-3-Clause
"""Candidates for slow pairs of nodes: nodes, links, switches, pairs of leaves, each with the pairs that it touches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import group_messages
from weft.analyse.pairs.places import Places
from weft.fabric.network.follow import walk
from weft.fabric.network.pair_loads import name_cable, name_link

Kind = Literal["node", "link", "cable", "switch", "leaves"]
Cells = NDArray[np.int64]

#: With more nodes than this the routes of all pairs would fill the memory, so only nodes are candidates.
MOST_NODES = 1024
#: With fewer nodes than this, too few pairs are left that a slow node does not touch.
FEWEST_NODES = 4


@dataclass(frozen=True, eq=False)
class Candidate:
    """A node, link, cable, switch or pair of leaves that may be slow."""

    # kind, name: its kind, and its name: a node or a switch by name, a directed link or a cable by its two ends, or two
    # leaves
    kind: Kind
    name: str
    # pairs of nodes that it touches in either direction, as indices into the flattened node matrix. Half a round trip
    # contains both directions, so a pair belongs to a link even if only the way back crosses it.
    cells: Cells
    forth: Cells  # those of them that it touches from source to target
    # other candidates that touch exactly the same pairs: no measurement of pairs can distinguish them
    same: "tuple[Candidate, ...]" = field(default=())
    # cable, back: of a link: the name of its cable, and of the link in the other direction
    cable: str = ""
    back: str = ""
    # of a cable whose two directions serve different pairs: its two links
    parts: "tuple[Candidate, ...]" = field(default=())

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
            turned = (self.cells % count) * count + self.cells // count
            return np.isin(self.cells, self.forth).astype(np.int8) + np.isin(turned, self.forth)
        found = np.zeros(len(self.cells), np.int8)
        for number, part in enumerate(self.parts):
            found[np.isin(self.cells, part.cells)] += 1 << number
        return found


def list_candidates(places: Places) -> list[Candidate]:
    """All candidates; those that touch the same pairs are one candidate with the name of the first."""
    found: dict[bytes, Candidate] = {}
    for candidate in [*_nodes(places), *_routes(places)]:
        key = candidate.cells.tobytes()
        first = found.setdefault(key, candidate)
        if first is not candidate:
            found[key] = replace(first, same=(*first.same, candidate))
    return [_with_parts(candidate, found) for candidate in found.values()]


def _with_parts(candidate: Candidate, found: dict[bytes, Candidate]) -> Candidate:
    """A cable with the candidates of its two links."""
    if candidate.kind != "cable":
        return candidate
    return replace(candidate, parts=tuple(found[part.cells.tobytes()] for part in candidate.parts))


def _nodes(places: Places) -> Iterator[Candidate]:
    count = len(places.nodes)
    if count < FEWEST_NODES:
        return
    others = np.arange(count, dtype=np.int64)
    for node, name in enumerate(places.nodes):
        rest = others[others != node]
        forth, back = node * count + rest, rest * count + node
        yield Candidate("node", name, np.sort(np.concatenate([forth, back])), forth)


def _routes(places: Places) -> Iterator[Candidate]:
    """Links, cables, switches and pairs of leaves, from the routes of all pairs of nodes."""
    if not places.routed or not FEWEST_NODES <= len(places.nodes) <= MOST_NODES:
        return
    count, network = len(places.nodes), places.network
    cells = np.flatnonzero(~np.eye(count, dtype=bool))
    source, target = np.divmod(cells, count)
    routes = walk(network, places.host[source], places.host[target])
    used = routes >= 0
    link, at = routes[used].astype(np.int64), np.broadcast_to(cells[:, np.newaxis], routes.shape)[used]
    between = network.switch_links[link]
    links = list(_links(places, link[between], at[between]))
    yield from links
    by_cable: dict[str, list[Candidate]] = {}
    for each in links:
        by_cable.setdefault(each.cable, []).append(each)
    for cable in _grouped("cable", link[between] // 2, at[between], count, partial(name_cable, places.network)):
        yield replace(cable, parts=tuple(by_cable[cable.name]))
    hosts = len(network.hosts)
    end = network.links.target[link].astype(np.int64)
    through = end >= hosts
    yield from _grouped("switch", end[through] - hosts, at[through], count, lambda i: network.switches[i].name)
    leaf = network.leaf[places.host].astype(np.int64)
    low, high = np.minimum(leaf[source], leaf[target]), np.maximum(leaf[source], leaf[target])
    switches, apart = len(network.switches), low != high
    key = (low * switches + high)[apart]
    yield from _grouped("leaves", key, cells[apart], count, lambda i: _leaves_name(places, *divmod(i, switches)))


def _links(places: Places, link: Cells, cells: Cells) -> Iterator[Candidate]:
    """Each link that a route crosses, with the names of its cable and of the link in the other direction."""
    found = _grouped("link", link, cells, len(places.nodes), partial(name_link, places.network))
    for number, each in zip(np.unique(link).tolist(), found, strict=True):
        yield replace(each, cable=name_cable(places.network, number // 2), back=name_link(places.network, number ^ 1))


def _grouped(kind: Kind, key: Cells, cells: Cells, count: int, name: Callable[[int], str]) -> Iterator[Candidate]:
    """One candidate for each key, with the cells that have it."""
    for value, forth in group_messages(key, cells):
        source, target = np.divmod(forth, count)
        yield Candidate(kind, name(value), np.unique(np.concatenate([forth, target * count + source])), forth)


def _leaves_name(places: Places, low: int, high: int) -> str:
    """Two leaves by their names."""
    first, second = (places.network.switches[leaf].name for leaf in (low, high))
    return f"{first} and {second}"
