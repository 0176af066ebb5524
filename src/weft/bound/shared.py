# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs on the same cables: which cable both use, and how much slower that makes a call of one of them.

A fluid model: rates of flows (what two ranks send each other one way) without latencies. The flows of a call begin
together, and it ends with the last; other traffic never ends. Traffic that bursts a share r of the time makes a call
that lasts many bursts 1 / (1 - r + r / f) times as long. Real networks and simulators share max-min: all rates grow
alike until a link is full, whose flows then keep theirs; in a simulator a message over a longer path has less.

TCP connections with one window W each in first-in-first-out queues, as on virtual networks: x = W / RTT, the round
trip being the sum of the queues there and of the acknowledgements back. A queue grows where a link is asked for more
than it carries (fixed windows: Mo and Walrand, 2000): a flow in two queues has less. A sender's own adapter holds
only a part of a window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.bound.links import network_of
from weft.fabric.hops import walk
from weft.fabric.loads import name_link
from weft.fabric.model import Fabric
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import equal_cost_ways
from weft.fabric.simulation import PATH_BYTES

MOST_MESSAGES = 50_000
FULL = 1e-9
FINISHED = 0.02  # of a flow: those as nearly done end together, as they would without rounding
OWN_QUEUE = 0.5  # of a window: the most that a sender keeps in the queue of its own adapter (Linux: TCP small queues)
BRIEF, CLOSE, MOST_STEPS = 1e-3, 0.01, 400  # of queues: the first ones, and what is left of a step at the end
MOST_WINDOWS = 1000  # connections of both jobs: of 500 a prediction takes some seconds
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]
Hosts = Sequence[tuple[str, str]]  # sender and receiver of each flow


class Shared(NamedTuple):
    """What a call shares with traffic beside it."""

    link: str  # the link of both that is fullest, by its ends; empty where they share none
    factor: float | None  # time of the call beside the traffic over that alone; None for more than `MOST_WINDOWS`


def share_links(
    own: Hosts, beside: Hosts, percent: int, fabric: Fabric, depths: tuple[int, int] = (1, 1)
) -> Shared | None:
    """What a call shares with others that burst ``percent`` of the time; None: routes or rates unknown. FabricError."""
    if fabric.network is None or len(own) + len(beside) > MOST_MESSAGES:
        return None
    network, _ = network_of(fabric)
    if not np.isfinite(network.links.rate).all():
        return None
    ours, theirs = (find_flows(fabric, network, *each) for each in zip((own, beside), depths, strict=True))
    if ours is None or theirs is None:
        return None
    link = _fullest(network, ours, theirs)
    if not link:
        return Shared("", 1.0)
    if fabric.is_emulated and len(ours.links) + len(theirs.links) > MOST_WINDOWS:
        return Shared(link, None)
    nobody = ours.only(np.zeros(len(ours.links), dtype=bool))
    factor = _seconds(network, ours, theirs) / _seconds(network, ours, nobody)
    return Shared(link, 1 / (1 - percent / 100 + percent / 100 / factor))


@dataclass(frozen=True, eq=False)
class Flows:
    """Flows of a job, as rows of arrays of their links, padded with -1."""

    links: Ints  # (flows, longest)
    back: Ints  # of their acknowledgements, (flows, longest)
    shares: Floats  # parts that they take of a full link, (flows,), as numbers in proportion

    def only(self, some: Bools) -> "Flows":
        """Those of them."""
        return Flows(self.links[some], self.back[some], self.shares[some])

    def joined(self, others: "Flows") -> "Flows":
        """These, then others."""
        links, back = _joined(self.links, others.links), _joined(self.back, others.back)
        return Flows(links, back, np.concatenate([self.shares, others.shares]))


def find_flows(fabric: Fabric, network: Network, pairs: Hosts, depth: int) -> Flows | None:
    """The flows between hosts; None if their routes are not known."""
    between = [each for each in pairs if each[0] != each[1]]
    ends = [network.indices([each[k] for each in between]).astype(np.int32) for k in (0, 1)]
    routes = walk(network, *ends)
    back = walk(network, *reversed(ends)) if fabric.is_emulated else routes[:, :0]
    if not _are_known(fabric, network, ends[1], routes) or not _are_known(fabric, network, ends[0], back):
        return None
    if not fabric.is_model:
        return Flows(routes, back, np.ones(len(routes)))
    path_bytes = PATH_BYTES[fabric.simulation.sharing if fabric.simulation else "by-path"]
    seconds = network.links.latency + path_bytes / network.links.rate
    assert fabric.network is not None
    at_hosts = fabric.network.latency or 0.0  # of both host links; `network_of` leaves it out
    return Flows(routes, back, depth / (at_hosts + np.where(routes >= 0, seconds[routes], 0.0).sum(axis=1)))


def _are_known(fabric: Fabric, network: Network, targets: Ints, routes: Ints) -> bool:
    """Whether messages take these routes: by tables, in a model, or because there is no other way."""
    assert fabric.network is not None
    if fabric.routes_known or (fabric.network.has_tables and not fabric.is_emulated):
        return True
    if not fabric.is_emulated:
        return False
    ways, hosts = equal_cost_ways(network), len(network.hosts)
    source: list[int] = network.links.source.tolist()
    ends: list[int] = targets.tolist()
    taken: list[list[int]] = routes.tolist()
    return all(
        len(ways[source[link] - hosts][end]) == 1
        for end, route in zip(ends, taken, strict=True)
        for link in route
        if link >= 0 and source[link] >= hosts
    )


def _counts(network: Network, links: Ints) -> Floats:
    return np.bincount(links[links >= 0], minlength=len(network.links)).astype(float)


def _fullest(network: Network, own: Flows, others: Flows) -> str:
    """The link of both jobs that takes them longest, between switches first; else with the other's acknowledgements."""
    ours, theirs = (_counts(network, each.links) for each in (own, others))
    seconds = (ours + theirs) / network.links.rate
    mixed = [data * _counts(network, each.back) for data, each in ((ours, others), (theirs, own))]
    for both in (ours * theirs, sum(mixed)):
        for chosen in (network.switch_links, np.ones(len(seconds), dtype=bool)):
            shared = np.where((both > 0) & chosen, seconds, 0.0)
            if shared.any():
                return name_link(network, int(shared.argmax()))
    return ""


def _seconds(network: Network, own: Flows, others: Flows) -> float:
    """Time of flows of one byte each that begin together, beside others that never end; no overhead counts."""
    left, elapsed = np.ones(len(own.links)), 0.0
    while (now := left > FULL).any():
        flows = own.only(now).joined(others)
        rates = share_by_windows if own.back.shape[1] else _fair_rates
        speed = rates(flows, network.links.rate)[: int(now.sum())]
        step = float((left[now] / speed).min())
        left[now] -= step * speed
        left[left <= FINISHED] = 0.0
        elapsed += step
    return elapsed


def _joined(*routes: Ints) -> Ints:
    width = max(each.shape[1] for each in routes)
    padded = (np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=-1) for each in routes)
    return np.concatenate(list(padded))


def _totals(links: Ints, amounts: Floats, count: int) -> Floats:
    """The sum of amounts of flows on each link, shape (count,)."""
    weights = np.where(links >= 0, amounts, 0.0).ravel()
    return np.bincount(np.maximum(links, 0).ravel(), weights, count).astype(float)


def _fair_rates(flows: Flows, rate: Floats) -> Floats:
    """Max-min rates of flows, shape (flows,)."""
    used, links = flows.links >= 0, np.maximum(flows.links, 0)
    speed, growing, left = np.zeros(len(links)), np.ones(len(links), dtype=bool), rate.copy()
    while growing.any():
        wanted = _totals(flows.links, (flows.shares * growing)[:, None], len(rate))
        asked = wanted > 0
        step = float((left[asked] / wanted[asked]).min())
        speed[growing] += step * flows.shares[growing]
        left -= step * wanted
        growing &= ~((asked & (left <= FULL * rate))[links] & used).any(axis=1)
    return speed


def share_by_windows(flows: Flows, rate: Floats) -> Floats:
    """Rates of connections of one window (flows,): queues grow where more arrives, the first of two in a row."""
    around = np.concatenate([flows.links, flows.back], axis=1)
    used, links = around >= 0, np.maximum(around, 0)
    ahead = flows.links[:, :-1]
    load, queue = np.zeros(len(rate)), BRIEF * _totals(flows.links, flows.shares[:, None], len(rate)) / rate
    asked, least = queue > 0, BRIEF * queue
    speed = flows.shares
    for _ in range(MOST_STEPS):
        around_s = np.where(used, queue[links], 0.0).sum(axis=1)
        speed = flows.shares * np.minimum(1 / around_s, OWN_QUEUE / queue[flows.links[:, 0]])
        passed = np.where(ahead >= 0, 1 / np.maximum(load, 1.0)[ahead], 1.0)
        arriving = speed[:, None] * np.cumprod(np.insert(passed, 0, 1.0, axis=1), axis=1)
        load = _totals(flows.links, arriving, len(rate)) / rate
        if load.max() < 1 + CLOSE and (queue * rate * abs(1 - load)).sum() < CLOSE / 3 * flows.shares.sum():
            break
        queue[asked] *= np.clip(load[asked] ** 0.5, 0.5, 4.0)
        queue = np.maximum(queue, least)
    return speed
