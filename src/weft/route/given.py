# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of the commands on routes: a fabric with failures, a placement, tables to write; what a failed cable does."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from weft.errors import FabricError
from weft.fabric import load_fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Bools, Floats, Ints, Links, Network, islands, vertex_levels
from weft.fabric.nodeset import expand
from weft.files.atomic import write_output
from weft.files.matrix import read_matrix
from weft.route.routes import Ranks, Routes, all_to_all
from weft.route.subnet import tables_text


def fail(network: Network, names: Sequence[str]) -> Network:
    """The network without some links or switches and the entries that use them; FabricError for one it has not."""
    none = np.zeros(len(network.links), dtype=bool)
    return without(network, np.any([none, *(_named(network, name) for name in names)], axis=0))


def fail_random(network: Network, count: int, seed: int) -> Network:
    """The network without ``count`` cables between switches, chosen at random; FabricError if there are fewer."""
    cables = np.flatnonzero(network.switch_links[::2])
    if count > len(cables):
        raise FabricError(f"--fail-random {count}: the network has {len(cables)} cables between switches", "take fewer")
    gone = np.zeros(len(network.links), dtype=bool)
    chosen = 2 * np.random.default_rng(seed).choice(cables, size=count, replace=False)
    gone[chosen] = gone[chosen + 1] = True
    return without(network, gone)


def without(network: Network, gone: Bools) -> Network:
    """The network without the cables of the links for which ``gone`` is true, shape (links,)."""
    gone = gone | gone[np.arange(len(gone)) ^ 1]
    if not gone.any():
        return network
    number = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1).astype(np.int32)  # the last one means "no link"
    left = Links(**{each.name: getattr(network.links, each.name)[~gone] for each in fields(Links)})
    cables = int(gone.sum()) // 2
    routing = f"{network.routing}, {cables} cable{'s' if cables > 1 else ''} failed since"
    return replace(network, links=left, forward=number[network.forward], routing=routing)


def _named(network: Network, name: str) -> Bools:
    links, vertices = network.links, len(network.hosts) + len(network.switches)
    vertex = {network.vertex_name(v): v for v in range(vertices)}
    a, dash, b = (part.strip() for part in name.partition(" - "))
    if dash and a in vertex and b in vertex:
        found = (links.source == vertex[a]) & (links.target == vertex[b])
    elif vertex.get(name, -1) >= len(network.hosts):
        found = (links.source == vertex[name]) | (links.target == vertex[name])
    else:
        found = np.array([network.link_name(link) == name for link in range(len(links))])
    if not found.any():
        what = f"the network has no link or switch {name!r}"
        raise FabricError(what, "name a switch (leaf0), a link (leaf0:19->spine0:1) or two neighbours (leaf0 - spine0)")
    return found


def users_of(routes: Routes, link: int, members: Ranks = None) -> tuple[Ints, Ints, int]:
    """Hosts that send over a link in an all-to-all among ``members``, those they send to, and routes from a leaf."""
    network = routes.network
    taking = np.zeros(len(network.hosts), dtype=bool)
    taking[routes.members(members)] = True
    source, target = int(network.links.source[link]), int(network.links.target[link])
    hosts, everybody = len(network.hosts), np.flatnonzero(taking).astype(np.int32)
    if source < hosts:
        return np.array([source], dtype=np.int32), everybody, 1
    if target < hosts:
        return everybody, np.array([target], dtype=np.int32), 1
    # Only destinations that the switch sends over this link can matter.
    columns = np.flatnonzero((network.forward[source - hosts] == link) & taking)
    rows = np.unique(routes.row[taking & (routes.row >= 0)])
    over = (routes.between(rows[:, np.newaxis], columns) == link).any(axis=2)
    targets = columns[over.any(axis=0)]
    sources = np.flatnonzero(taking & np.isin(routes.row, rows[over.any(axis=1)]))
    return sources.astype(np.int32), targets.astype(np.int32), int(over.sum())


def given_network(file: str, failed: Sequence[str] = (), failed_random: int = 0, seed: int = 1) -> tuple[str, Network]:
    """Name and network of a fabric file, without failed links; FabricError without fabric, link or known cables."""
    fabric = load_fabric(file)
    network = build_network(fabric)
    if not network.cables_known:
        what = f"{file} states which switches are connected, but not by how many cables: loads cannot be computed"
        raise FabricError(what, "import the output of ibnetdiscover: weft fabric import DUMP -o FILE")
    return fabric.name, fail_random(fail(network, failed), failed_random, seed)


def hosts_of(network: Network, placement: str | None, ranks: int = 1) -> Ints | None:
    """Host index of each rank, shape (ranks,), for ``n[1-36]``; None: one on every host. FabricError for no host."""
    if ranks < 1:
        raise FabricError(f"{ranks} ranks on a host", "give at least 1")
    if placement is None and ranks == 1:
        return None
    try:
        names = network.hosts if placement is None else expand(placement)
    except ValueError as error:
        raise FabricError(f"--placement {placement}: {error}", 'write for example "n[1-36]"') from error
    return np.repeat(network.indices(list(names)), ranks).astype(np.int32)


def traffic_of(routes: Routes, jobs: Sequence[str], nodes: int) -> Floats | None:
    """Load of other jobs on each link, shape (links,), relative to ours on ``nodes`` hosts: all run an all-to-all."""
    if not jobs:
        return None
    load = np.zeros(len(routes.network.links))
    for members in (routes.members(hosts_of(routes.network, job)) for job in jobs):
        load += all_to_all(routes, members).load * ((nodes - 1) / max(1, len(members) - 1))
    return load


def matrix_of(path: Path | None) -> Floats | None:
    """Amount from each rank to each other, shape (ranks, ranks), any unit; WeftError if the file is no matrix."""
    return None if path is None else np.array(read_matrix(path), dtype=np.float64)


def write_tables(network: Network, path: Path) -> None:
    """Write the tables of a network as OpenSM loads them; FabricError without GUIDs, NotThereError if impossible."""
    write_output(path, tables_text(network).encode("ascii"))


@dataclass(frozen=True)
class Failure:
    """The failure of one cable, after the routes over it have moved to the shortest remaining ways."""

    cable: int  # the even index of its two links
    name: str  # one of them, as --fail takes it
    levels: tuple[int, int]  # levels of the switches that it connects, the lower first
    time: float  # relative time of the all-to-all then
    slowest: str  # the link that is then the slowest
    lost: int  # pairs of hosts that lose their route
    moved: int  # pairs whose route led over it
    changes: int  # changed table entries
    cut: tuple[str, ...]  # hosts that are cut off from most others


@dataclass(frozen=True, eq=False)
class Failures:
    """All single failures, the worst first: by lost pairs, then by the time of an all-to-all."""

    present: float  # relative time of the all-to-all with all cables
    each: tuple[Failure, ...]
    lost: int  # pairs without a route before any failure
    loose: int  # hosts without a cable, which are left out
    single: int  # hosts with one cable, whose failure cuts off that host alone

    def factor(self, failure: Failure) -> float:
        """Time of the all-to-all after a failure over that before."""
        return failure.time / self.present if self.present else 1.0


def fail_each(routes: Routes, forward: Ints | None = None, cables: Ints | None = None) -> Failures:
    """The failure of each cable (even link indices) between switches, by ``forward`` or present tables; FabricError."""
    network, links = routes.network, routes.network.links
    chosen = np.flatnonzero(network.switch_links & (links.source != links.target)) if cables is None else cables
    chosen = np.unique(chosen & ~1).astype(np.int32)
    if not len(chosen):
        raise FabricError("the network has no cable between switches", "name a fabric of two switches or more")
    scattered, count = all_to_all(routes), len(chosen)
    load = scattered.load
    time, slowest = np.zeros(count), np.zeros(count, dtype=np.int32)
    lost, changes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    arguments = (routes.shared_slowness, load, chosen, count, time, slowest, lost, changes, forward)
    routes.library.call("failures", routes.graph, *arguments)
    level = vertex_levels(network)
    ends = np.sort(np.stack([level[links.source[chosen]], level[links.target[chosen]]]), axis=0)
    others = max(1, int((network.uplink >= 0).sum()) - 1)
    whole = _main_part(network)
    found = [
        Failure(
            cable, network.link_name(cable), (int(ends[0, at]), int(ends[1, at])), float(time[at]) / others,
            network.link_name(int(slowest[at])), int(lost[at]), int(load[cable] + load[cable + 1]), int(changes[at]),
            tuple(network.hosts[host] for host in np.flatnonzero(whole & ~_main_part(network, cable, cable + 1)))
            if lost[at]
            else (),
        )
        for at, cable in enumerate(chosen.tolist())
    ]  # fmt: skip
    found.sort(key=lambda each: (-each.lost, -round(each.time, 9), each.cable))
    present = float((load * routes.shared_slowness).max(initial=0)) / others
    single = int((np.bincount(links.source[links.source < len(network.hosts)]) == 1).sum())
    return Failures(present, tuple(found), scattered.lost, int((network.uplink < 0).sum()), single)


def _main_part(network: Network, *gone: int) -> Bools:
    """Whether each host belongs to the largest connected part without some links, shape (hosts,)."""
    hosts, ends = len(network.hosts), (np.delete(end, gone) for end in (network.links.source, network.links.target))
    part = islands(hosts + len(network.switches), *ends)[:hosts]
    return part == np.bincount(part).argmax()
