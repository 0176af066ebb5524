# SPDX-License-Identifier: BSD-3-Clause
"""Checks of routes: pairs without a route, loops, deadlocks, unused and uneven cables, detours.

Routes can deadlock by cycles of the channel dependency graph, on the virtual lanes that the fabric uses. A packet that
holds a buffer of one link waits for one of the next. Routes are free of deadlock if and only if these dependencies,
over all routes in use, have no cycle (W. Dally, C. Seitz, "Deadlock-free message routing in multiprocessor
interconnection networks", 1987). Host links are in no cycle: adapters do not forward. Virtual lanes are read from
service levels of paths (``saquery -p``) and the SL2VL table of each switch (``smpquery sl2vl LID``).

    PathRecord dump:                              # SL2VL table: Lid 1
    dlid....................1             #                 SL: | 0| 1| 2| ...
    slid....................2             ports: in  0, out  1: | 0| 1| 2| ...
    sl......................0x5
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.checks import Finding, found
from weft.fabric.network.graph import Bools, Ints, Longs, Network, directions
from weft.fabric.network.minimal import distances_between, ports_by_switch
from weft.files.beneath import read_plain
from weft.route.given import users_of
from weft.route.routes import CIRCLE, NO_ENTRY, WRONG_HOST, Routes, all_to_all

LEVELS = 16
MOST_BYTES = 1 << 31
RECORD = "PathRecord dump:"
FIELD = re.compile(r"^\s*(dlid|slid|sl)\.+(0x[0-9a-fA-F]{1,8}|\d{1,8})\s*$", re.MULTILINE)
SWITCH = re.compile(r"^# SL2VL table: Lid (\d{1,8})", re.MULTILINE)
ROW = re.compile(r"^ports: in +\d{1,3}, out +\d{1,3}: ((?:\| *\d{1,2}){16}\|)", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Service:
    """Service levels of paths, and virtual lanes of service levels."""

    paths: NDArray[np.int64]  # LIDs of source and target, and service level, shape (paths, 3)
    # by LID of a switch, the lane of each service level, shape (16,); without an entry that of the level's number
    lanes: dict[int, NDArray[np.int64]] = field(default_factory=dict[int, NDArray[np.int64]])


def read_service(paths: Path, tables: Path | None = None) -> Service:
    """Read ``saquery -p`` and ``smpquery sl2vl`` of all switches; FabricError for tables by port, as torus-2QoS has."""
    found: list[tuple[int, int, int]] = []
    for record in _text(paths).split(RECORD)[1:]:
        values = {name: int(value, 16 if value[:2] == "0x" else 10) for name, value in FIELD.findall(record)}
        if len(values) == 3 and values["sl"] < LEVELS:
            found.append((values["slid"], values["dlid"], values["sl"]))
    if not found:
        raise FabricError(f"{paths}: no path record", f"write it with: saquery -p > {paths.name}")
    return Service(np.array(found, dtype=np.int64), _lanes(tables) if tables else {})


def _lanes(path: Path) -> dict[int, NDArray[np.int64]]:
    found: dict[int, NDArray[np.int64]] = {}
    parts = SWITCH.split(_text(path))
    for lid, body in zip(parts[1::2], parts[2::2], strict=True):
        rows = np.array([row.strip("|").split("|") for row in ROW.findall(body)], dtype=object).astype(np.int64)
        if not len(rows):
            continue
        if rows.max() >= LEVELS:
            raise FabricError(f"{path}: lane {rows.max()} at the switch of LID {lid}", "lanes are 0 to 15")
        if (rows != rows[0]).any():
            what = f"{path}: lanes at the switch of LID {lid} depend on ports, which is not followed here"
            raise FabricError(what, "leave --sl2vl out: without it every level has its own lane")
        found[int(lid)] = rows[0]
    if not found:
        raise FabricError(f"{path}: no SL2VL table", "write it with: smpquery sl2vl LID, for each switch")
    return found


def _text(path: Path) -> str:
    try:
        return read_plain(path, MOST_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        what = "check its name and permissions; of a large fabric, query the paths of some hosts only"
        raise FabricError(f"{path} cannot be read: {error.strerror}", what) from error


@dataclass(frozen=True, eq=False)
class Lanes:
    """The lanes of a network's routes."""

    used: dict[int, NDArray[np.bool_]]  # by service level, the routes that use it, shape (leaves, hosts)
    lane: NDArray[np.int64]  # virtual lane of each service level on each switch, shape (switches, 16)


def lanes_of(routes: Routes, service: Service | None) -> Lanes | None:
    """Lanes of a network's routes, level 0 without a path record; None if not known. FabricError without LIDs."""
    if service is None:
        return None
    addresses, shape = routes.network.addresses, routes.lengths.shape
    if addresses is None or not (addresses.host_lids > 0).any():
        raise FabricError("the fabric states no LIDs, so its paths are not known", "import a dump with LIDs")
    host = {int(lid): index for index, lid in enumerate(addresses.host_lids) if lid > 0}
    level = np.zeros((LEVELS, *shape), dtype=bool)
    for source, target, number in service.paths.tolist():
        if source in host and target in host and source != target:
            level[number, routes.row[host[source]], host[target]] = True
    if not level.any():
        raise FabricError("no path leads between hosts of this fabric", "query the paths of this very fabric")
    level[0] |= ~level.any(axis=0)
    lane = np.tile(np.arange(LEVELS), (len(routes.network.switches), 1))
    for switch, lid in enumerate(addresses.switch_lids.tolist()):
        if lid in service.lanes:
            lane[switch] = service.lanes[lid]
    return Lanes({number: used for number, used in enumerate(level) if used.any()}, lane)


Whole = NDArray[np.integer]
#: A cycle of dependencies: links in order, each waits for the next, the last one for the first; the lane of its first.
Circle = tuple[tuple[int, ...], int]


def find_circle(routes: Routes, lanes: Lanes | None = None) -> Circle | None:
    """A cycle of dependencies between links, or None if the routes cannot deadlock."""
    if lanes is None:
        left = _peeled(*dependencies(routes))
        return (_walk(*left), 0) if left[0].size else None
    hosts, source = len(routes.network.hosts), routes.network.links.source
    first, second = list[Longs](), list[Longs]()
    for level, used in lanes.used.items():
        for channels, links in zip((first, second), dependencies(routes, used), strict=True):
            channels.append(links.astype(np.int64) * LEVELS + lanes.lane[source[links] - hosts, level])
    waiting, waited_for = _peeled(np.concatenate(first), np.concatenate(second))
    if not waiting.size:
        return None
    circle = _walk(waiting, waited_for)
    return tuple(channel // LEVELS for channel in circle), circle[0] % LEVELS


def dependencies(routes: Routes, used: NDArray[np.bool_] | None = None) -> tuple[Ints, Ints]:
    """Index pairs of links, the first waiting for the second, shape (pairs,) each; only for routes in ``used``."""
    network = routes.network
    count = len(network.links)
    order = np.argsort(network.links.source, kind="stable")
    begin = np.searchsorted(network.links.source[order], network.links.source[order])
    place = np.empty(count, dtype=np.int32)  # of each link among those out of its vertex
    place[order] = np.arange(count) - begin
    most = int(place.max(initial=0)) + 1
    found, counted = np.zeros(count * most, dtype=np.int8), None if used is None else used.view(np.int8)
    given = (routes.leaves, len(routes.leaves), routes.lengths, counted, place, most, found)
    routes.library.call("dependencies", routes.graph, *given)
    first = np.flatnonzero(found)
    link_at = np.full((len(network.hosts) + len(network.switches), most), -1, dtype=np.int32)
    link_at[network.links.source, place] = np.arange(count)
    waiting = (first // most).astype(np.int32)
    return waiting, link_at[network.links.target[waiting], first % most]


def _peeled(first: Whole, second: Whole) -> tuple[Whole, Whole]:
    """The links that remain after repeatedly removing those without predecessors or without successors."""
    while first.size:
        count = int(max(first.max(), second.max())) + 1
        waited_for, waits = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        waited_for[second], waits[first] = True, True
        keep = waited_for[first] & waits[second]
        if keep.all():
            break
        first, second = first[keep], second[keep]
    return first, second


def _walk(first: Whole, second: Whole) -> tuple[int, ...]:
    following = dict(zip(first.tolist(), second.tolist(), strict=True))
    seen: dict[int, int] = {}
    at = int(first[0])
    while at not in seen:
        seen[at] = len(seen)
        at = following[at]
    return tuple(seen)[seen[at] :]


UNEVEN = 1.5
NAMED = 3


def check_routes(routes: Routes, lanes: Lanes | None = None, load: Longs | None = None) -> list[Finding]:
    """Findings about the routes of a network, worst first; ``load`` of an all-to-all of all hosts, if it is known."""
    findings = [*_broken(routes), *_deadlock(routes, find_circle(routes, lanes))]
    load = all_to_all(routes).load if load is None else load
    return [*findings, *_detours(routes), *_parallel(routes, load), *_idle(routes, load)]


def hosts_text(network: Network, hosts: Iterable[int]) -> str:
    """The first hosts by name, and the number of others."""
    listed = list(hosts)
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(network.hosts[h] for h in listed[:NAMED]) + more


def _by_leaf(routes: Routes, wrong: Bools) -> list[str]:
    network = routes.network
    places: list[str] = []
    for row in np.flatnonzero(wrong.any(axis=1)).tolist():
        own, far = np.flatnonzero(routes.row == row).tolist(), np.flatnonzero(wrong[row]).tolist()
        leaf = network.switches[int(routes.leaves[row])].name
        places.append(f"from {leaf} ({hosts_text(network, own)}) to {hosts_text(network, far)}")
    return places


def _broken(routes: Routes) -> list[Finding]:
    hosts, lengths = routes.network.hosts, routes.lengths
    loose = [hosts[h] for h in np.flatnonzero(routes.network.uplink < 0)]
    of_leaf = np.bincount(routes.row[routes.row >= 0], minlength=len(lengths))

    def of_pairs(id: str, reason: int) -> list[Finding]:
        wrong = (lengths == reason) & (routes.network.uplink >= 0)
        row, end = np.nonzero(wrong)
        served = of_leaf[row] - (routes.row[end] == row)  # pairs of a route: each host of the leaf but the destination
        wrong[row, end] = served > 0
        return found(id, _by_leaf(routes, wrong), pairs=f"{int(served.sum()):,}")

    return [
        *found("loose-host", loose),
        *of_pairs("no-route", NO_ENTRY),
        *of_pairs("route-in-circle", CIRCLE),
        *of_pairs("wrong-host", WRONG_HOST),
    ]


def _deadlock(routes: Routes, circle: Circle | None) -> list[Finding]:
    if circle is None:
        return []
    network, places = routes.network, list[str]()
    links, lane = circle
    for first, second in zip(links, (*links[1:], links[0]), strict=True):
        # the first route that crosses one link directly after the other
        ways = network.forward[network.links.source[[first, second]] - len(network.hosts)]
        columns = np.flatnonzero((ways[0] == first) & (ways[1] == second))
        ways = routes.between(np.arange(len(routes.leaves))[:, np.newaxis], columns)
        rows, over = np.nonzero(((ways[:, :, :-1] == first) & (ways[:, :, 1:] == second)).any(axis=2))
        row, end = (int(rows[0]), int(columns[over[0]])) if len(rows) else (0, 0)
        own = int(np.argmax(routes.row == row))
        route = f"{network.hosts[own]} to {network.hosts[end]}"
        places.append(f"{network.link_name(first)} waits for {network.link_name(second)} ({route})")
    return found("deadlock", places, lane=lane)


def _detours(routes: Routes) -> list[Finding]:
    network = routes.network
    out, peer = ports_by_switch(len(network.hosts), len(network.switches), network.links)
    near = distances_between(routes.leaves, out, peer)
    least = np.where(near < 0, np.int16(127), near)[:, np.maximum(routes.row, 0)]
    longer = (routes.lengths > least) & (routes.row >= 0)
    return found("detour", _by_leaf(routes, longer), routes=f"{int(longer.sum()):,}")


def _parallel(routes: Routes, load: Longs) -> list[Finding]:
    network, links = routes.network, routes.network.links
    between = np.flatnonzero(network.switch_links)
    vertices = len(network.hosts) + len(network.switches)
    ends = links.source[between].astype(np.int64) * vertices + links.target[between]
    order = between[np.lexsort((load[between], ends))]
    key = links.source[order].astype(np.int64) * vertices + links.target[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.empty(0, dtype=np.intp)
    last = np.append(first[1:], len(key)) - 1 if len(key) else first
    least, most = load[order[first]], load[order[last]]
    uneven = np.flatnonzero((last > first) & (most > UNEVEN * np.maximum(least, 1)))
    uneven = uneven[np.argsort(-(most - least)[uneven], kind="stable")]

    def place(at: int) -> str:
        full, empty = int(order[last[at]]), int(order[first[at]])
        users: list[int] = users_of(routes, full)[1].tolist()
        return (
            f"{network.link_name(full)} carries {int(most[at]):,}, {network.link_name(empty)} {int(least[at]):,} "
            f"(to {hosts_text(network, users)})"
        )

    return found("uneven-cables", [place(at) if number < NAMED else "" for number, at in enumerate(uneven.tolist())])


def _idle(routes: Routes, load: Longs) -> list[Finding]:
    network = routes.network
    up = np.flatnonzero((directions(network) > 0) & network.switch_links & (load == 0))
    below = network.links.source[up] - len(network.hosts)
    with_hosts = np.isin(below, routes.leaves)
    empty = (network.level[below] == 1) & ~with_hosts  # a leaf without hosts yet
    idle = np.concatenate([up[with_hosts], up[~with_hosts & ~empty]])

    def place(link: int) -> str:
        leaf = int(network.links.source[link]) - len(network.hosts)
        own = network.hosts_below.get(leaf)
        return network.link_name(link) + ("" if own is None else f" (of {hosts_text(network, own.tolist())})")

    return found("idle-uplink", [place(link) if number < NAMED else "" for number, link in enumerate(idle.tolist())])
