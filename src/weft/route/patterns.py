# SPDX-License-Identifier: BSD-3-Clause
"""What patterns of traffic put on every link: exact, from the routes, without simulating anything.

Units are what one rank sends to one other; times are relative to one unit over the slowest host's own link.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.route.library import Floats, Ints, Longs
from weft.route.routes import Routes

Schedule = Literal["shift", "exchange"]
KINDS: dict[Schedule, int] = {"shift": 0, "exchange": 1}


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads of one pattern.

    Attributes
    ----------
    load
        Units over each link, shape (links,).
    lost
        Units that had no route.
    """

    load: Longs
    lost: int


@dataclass(frozen=True, eq=False)
class Phases:
    """What a schedule of phases asks of the links.

    Attributes
    ----------
    time
        Relative time of the slowest link in each phase, shape (phases,).
    link
        That link, -1 for a phase without traffic.
    load
        Units over each link, summed over all phases, shape (links,).
    lost
        Messages without a route.
    """

    time: Floats
    link: Ints
    load: Longs
    lost: int

    @property
    def mean(self) -> float:
        """Mean time of a phase: what a schedule takes, over what it would take on links as fast as the adapters."""
        return float(self.time.mean()) if len(self.time) else 0.0


def all_to_all(routes: Routes, ranks: Ints | None = None) -> Loads:
    """Loads when every rank sends one unit to every other rank on another host.

    Parameters
    ----------
    routes
        The network.
    ranks
        Host of each rank, shape (ranks,); one on each host with a cable when None.
    """
    weight = np.bincount(routes.members(ranks), minlength=len(routes.network.hosts)).astype(np.int64)
    load = np.zeros(len(routes.network.links), dtype=np.int64)
    lost = int(routes.library.call("all_to_all", routes.graph, weight, load))
    return Loads(load, lost)


def phases(routes: Routes, schedule: Schedule = "shift", ranks: Ints | None = None, most: int | None = None) -> Phases:
    """Loads of every phase of a schedule.

    Parameters
    ----------
    routes
        The network.
    schedule
        ``shift``: in phase k rank r sends to rank r + k modulo the ranks (what pairwise all-to-alls do). ``exchange``:
        rank r exchanges with rank r xor k (recursive schedules; ranks without a partner rest).
    ranks
        Host of each rank, shape (ranks,); one on each host with a cable when None.
    most
        Look at the first phases only; all when None.
    """
    host = routes.members(ranks)
    count = len(host) - 1 if schedule == "shift" else (1 << max(0, len(host) - 1).bit_length()) - 1
    count = max(0, count if most is None else min(most, count))
    time, link = np.zeros(count), np.full(count, -1, dtype=np.int32)
    load = np.zeros(len(routes.network.links), dtype=np.int64)
    arguments = (KINDS[schedule], len(host), host, count, routes.slowness, time, link, load)
    lost = int(routes.library.call("phases", routes.graph, routes.paths, *arguments))
    return Phases(time, link, load, lost)


def placed_matrix(routes: Routes, amounts: NDArray[np.floating], ranks: Ints | None = None) -> Floats:
    """Load of each link under a traffic matrix of ranks.

    Parameters
    ----------
    routes
        The network.
    amounts
        Shape (ranks, ranks): what each rank sends to each other.
    ranks
        Host of each rank, shape (ranks,); one on each host with a cable when None.

    Returns
    -------
    Shape (links,), in the unit of ``amounts``.

    Raises
    ------
    FabricError
        A matrix of another number of ranks, or a message without a route.
    """
    members = routes.members(ranks)
    if amounts.shape != (len(members), len(members)):
        raise FabricError(
            f"a traffic matrix of {' x '.join(map(str, amounts.shape))} ranks for {len(members)} ranks",
            "name as many hosts by --placement, times --ranks, as the matrix has rows",
        )
    source, target = np.nonzero(amounts)
    return flow_loads(routes, members[source], members[target], amounts[source, target])


def matrix_loads(routes: Routes, amounts: NDArray[np.floating]) -> Floats:
    """Load of each link under a dense traffic matrix.

    Parameters
    ----------
    routes
        The network.
    amounts
        Shape (hosts, hosts): what each host sends to each other; the diagonal crosses no link.

    Returns
    -------
    Shape (links,), in the unit of ``amounts``.

    Raises
    ------
    FabricError
        Another shape, or traffic between hosts without a route.
    """
    network = routes.network
    hosts = len(network.hosts)
    if amounts.shape != (hosts, hosts):
        raise FabricError(f"a traffic matrix of shape {amounts.shape}", f"give one of {hosts} x {hosts} hosts")
    sent = np.array(amounts, dtype=np.float64)
    np.fill_diagonal(sent, 0)
    load = np.zeros(len(network.links))
    cabled = network.uplink >= 0
    load[network.uplink[cabled]] = sent[cabled].sum(axis=1)
    injected = np.zeros((len(network.switches), hosts))
    np.add.at(injected, network.leaf[cabled], sent[cabled])
    lost = float(routes.library.call("matrix", routes.graph, injected, load)) + float(sent[~cabled].sum())
    if lost:
        raise FabricError(
            f"traffic of {lost:g} units has no route", "weft fabric check FILE names what is not connected"
        )
    return load


def flow_loads(routes: Routes, sources: Ints, targets: Ints, amounts: NDArray[np.floating] | None = None) -> Floats:
    """Load of each link under a list of messages: a permutation, or a sparse traffic matrix.

    Parameters
    ----------
    routes
        The network.
    sources, targets
        Host indices, shape (messages,); messages to oneself cross no link.
    amounts
        What each carries, shape (messages,); 1 each when None.

    Returns
    -------
    Shape (links,), in the unit of ``amounts``.

    Raises
    ------
    FabricError
        When a message has no route.
    """
    network = routes.network
    away = sources != targets
    source, target = sources[away], targets[away]
    weight = np.ones(len(source)) if amounts is None else np.asarray(amounts, dtype=np.float64)[away]
    row = routes.row[source]
    broken = (row < 0) | (routes.lengths[row, target] < 0)
    if broken.any():
        at = int(np.argmax(broken))
        raise network.no_route(int(source[at]), int(target[at]))
    between = routes.links[row, target]
    count = len(network.links)
    load = np.zeros(count + 1)  # the last one stands for "no link"
    np.add.at(load, routes.arrays[2][source], weight)
    np.add.at(load, routes.arrays[3][target], weight)
    np.add.at(load, between, weight[:, np.newaxis])
    return load[:count]
