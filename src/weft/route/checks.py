# SPDX-License-Identifier: BSD-3-Clause
"""Checks of routes: pairs without a route, loops, deadlocks, unused and uneven cables, detours."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from weft.fabric.checks import Finding, found
from weft.fabric.network.graph import Network, directions
from weft.fabric.network.minimal import distances_between, ports_by_switch
from weft.route.deadlock import Circle, Lanes, find_circle, pairs_over
from weft.route.given import users_of
from weft.route.routes import CIRCLE, NO_ENTRY, WRONG_HOST, Routes, all_to_all

UNEVEN = 1.5
NAMED = 3


def check_routes(routes: Routes, lanes: Lanes | None = None, load: NDArray[np.int64] | None = None) -> list[Finding]:
    """Findings about the routes of a network, worst first; ``load`` of an all-to-all of all hosts, if it is known."""
    findings = [*_broken(routes), *_deadlock(routes, find_circle(routes, lanes))]
    load = all_to_all(routes).load if load is None else load
    return [*findings, *_detours(routes), *_parallel(routes, load), *_idle(routes, load)]


def hosts_text(network: Network, hosts: Iterable[int]) -> str:
    """The first hosts by name, and the number of others."""
    listed = list(hosts)
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(network.hosts[h] for h in listed[:NAMED]) + more


def _by_leaf(routes: Routes, wrong: NDArray[np.bool_]) -> list[str]:
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
    turned = (*circle.links[1:], circle.links[0])
    for first, second in zip(circle.links, turned, strict=True):
        pairs = pairs_over(routes, first, second)
        row, end = (int(pairs[0, 0]), int(pairs[0, 1])) if len(pairs) else (0, 0)
        own = int(np.argmax(routes.row == row))
        route = f"{network.hosts[own]} to {network.hosts[end]}"
        places.append(f"{network.link_name(first)} waits for {network.link_name(second)} ({route})")
    return found("deadlock", places, lane=circle.lane)


def _detours(routes: Routes) -> list[Finding]:
    network = routes.network
    hosts, switches = len(network.hosts), len(network.switches)
    out, peer = ports_by_switch(hosts, switches, network.links)
    near = distances_between(routes.leaves, out, peer)
    least = np.where(near < 0, np.int16(127), near)[:, np.maximum(routes.row, 0)]
    longer = (routes.lengths > least) & (routes.row >= 0)
    return found("detour", _by_leaf(routes, longer), routes=f"{int(longer.sum()):,}")


def _parallel(routes: Routes, load: NDArray[np.int64]) -> list[Finding]:
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
        users: list[int] = users_of(routes, full).targets.tolist() if at in uneven[:NAMED] else []
        return (
            f"{network.link_name(full)} carries {int(most[at]):,}, {network.link_name(empty)} {int(least[at]):,} "
            f"(to {hosts_text(network, users)})"
        )

    return found("uneven-cables", _lazily(uneven.tolist(), place))


def _idle(routes: Routes, load: NDArray[np.int64]) -> list[Finding]:
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

    return found("idle-uplink", _lazily(idle.tolist(), place))


def _lazily(items: list[int], place: Callable[[int], str]) -> list[str]:
    """Descriptions of the first items; the others are only counted."""
    return [place(item) if number < NAMED else "" for number, item in enumerate(items)]
