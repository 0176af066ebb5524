# SPDX-License-Identifier: BSD-3-Clause
"""Who may be to blame for slow pairs of nodes: nodes, links, switches, two leaves, each with the pairs it touches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.pairs.places import Places
from weft.fabric.network.follow import walk

Kind = Literal["node", "link", "cable", "switch", "leaves"]
Cells = NDArray[np.int64]

#: Beyond, the routes of all pairs would fill the memory: only nodes are suspected then.
MOST_NODES = 1024
#: Below, too few pairs are left that a slow node does not touch.
FEWEST_NODES = 4


@dataclass(frozen=True, eq=False)
class Suspect:
    """Somebody who may be slow.

    Attributes
    ----------
    kind, name
        What it is: a node by its name, a directed link or a cable by its two ends, a switch, or two leaves.
    cells
        Pairs of nodes that it touches in one direction or the other, as indices into the flattened matrix of nodes.
        Half a round trip holds both directions, so a pair belongs to a link that only the way back crosses.
    forth
        Those of them whose way there (source to target) it touches.
    same
        Other suspects that touch exactly the same pairs: no measurement of pairs can tell them apart.
    """

    kind: Kind
    name: str
    cells: Cells
    forth: Cells
    same: "tuple[Suspect, ...]" = field(default=())


def suspects(places: Places) -> list[Suspect]:
    """Everybody who may be slow; those that touch the same pairs are one suspect, named as the first of them."""
    found: dict[bytes, Suspect] = {}
    for suspect in [*_nodes(places), *_routes(places)]:
        key = suspect.cells.tobytes()
        first = found.setdefault(key, suspect)
        if first is not suspect:
            found[key] = replace(first, same=(*first.same, suspect))
    return list(found.values())


def _nodes(places: Places) -> Iterator[Suspect]:
    count = len(places.nodes)
    if count < FEWEST_NODES:
        return
    others = np.arange(count, dtype=np.int64)
    for node, name in enumerate(places.nodes):
        rest = others[others != node]
        forth, back = node * count + rest, rest * count + node
        yield Suspect("node", name, np.sort(np.concatenate([forth, back])), forth)


def _routes(places: Places) -> Iterator[Suspect]:
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
    yield from _grouped("link", link[between], at[between], count, partial(_link_name, places))
    yield from _grouped("cable", link[between] // 2, at[between], count, partial(_cable_name, places))
    hosts = len(network.hosts)
    end = network.links.target[link].astype(np.int64)
    through = end >= hosts
    yield from _grouped("switch", end[through] - hosts, at[through], count, lambda i: network.switches[i].name)
    leaf = network.leaf[places.host].astype(np.int64)
    low, high = np.minimum(leaf[source], leaf[target]), np.maximum(leaf[source], leaf[target])
    switches, apart = len(network.switches), low != high
    key = (low * switches + high)[apart]
    yield from _grouped("leaves", key, cells[apart], count, lambda i: _leaves_name(places, *divmod(i, switches)))


def _grouped(kind: Kind, key: Cells, cells: Cells, count: int, name: Callable[[int], str]) -> Iterator[Suspect]:
    """One suspect for each key, with the cells that carry it."""
    order = np.argsort(key, kind="stable")
    keys, starts = np.unique(key[order], return_index=True)
    for value, forth in zip(keys.tolist(), np.split(cells[order], starts)[1:], strict=True):
        source, target = np.divmod(forth, count)
        both = np.unique(np.concatenate([forth, target * count + source]))
        yield Suspect(kind, name(int(value)), both, np.unique(forth))


def _link_name(places: Places, link: int) -> str:
    """A directed link by its two ends, ``leaf3 -> spine1``; with its port where several cables join the two."""
    links = places.network.links
    source, target = links.source[link], links.target[link]
    parallel = int(((links.source == source) & (links.target == target)).sum()) > 1
    port = f":{links.source_port[link]}" if parallel else ""
    return f"{places.network.vertex_name(int(source))}{port} -> {places.network.vertex_name(int(target))}"


def _cable_name(places: Places, cable: int) -> str:
    """A cable by its two ends, the lower one first: ``leaf3 - spine1``."""
    return _link_name(places, 2 * cable).replace(" -> ", " - ")


def _leaves_name(places: Places, low: int, high: int) -> str:
    """Two leaves by their names."""
    first, second = (places.network.switches[leaf].name for leaf in (low, high))
    return f"{first} and {second}"
