# SPDX-License-Identifier: BSD-3-Clause
r"""Two jobs on the same cables: which cable both use, and how much slower that makes a call of one of them.

A fluid model. Messages under way share each link by max-min fairness: all rates grow alike until a link is full, whose
messages then keep theirs. Bursts of a job wait for their slowest message, so all of its messages have one rate. The
messages of a call begin together, and the call ends with the last of them. Traffic that bursts a share r of the time
makes a call that lasts many bursts 1 / (1 - r + r / f) times as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.bound.links import network_of
from weft.fabric.model import Fabric
from weft.fabric.network.follow import walk
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import equal_cost_ways
from weft.fabric.network.pair_loads import name_link

MOST_MESSAGES = 50_000
FULL = 1e-9

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Hosts = Sequence[tuple[str, str]]  # sender and receiver of each message


@dataclass(frozen=True)
class Shared:
    """What a call shares with traffic beside it."""

    link: str  # the link of both that is fullest, by its ends; empty where they share none
    factor: float  # time of the call beside the traffic over that alone


def share_links(own: Hosts, beside: Hosts, percent: int, fabric: Fabric) -> Shared | None:
    """What messages of a call share with others; None where routes or rates are not known. FabricError."""
    if fabric.network is None or len(own) + len(beside) > MOST_MESSAGES:
        return None
    network, _ = network_of(fabric)
    if not np.isfinite(network.links.rate).all():
        return None
    ours, theirs = _routes(network, own), _routes(network, beside)
    if not (_are_known(fabric, network, own, ours) and _are_known(fabric, network, beside, theirs)):
        return None
    alone = _seconds(ours, theirs[:0], network.links.rate)
    factor = _seconds(ours, theirs, network.links.rate) / alone if alone else 1.0
    factor = 1 / (1 - percent / 100 + percent / 100 / factor)
    return Shared(_fullest(network, ours, theirs), factor)


def _routes(network: Network, pairs: Hosts) -> Ints:
    """Links of each message between two hosts, shape (messages, longest), -1 as padding."""
    between = [each for each in pairs if each[0] != each[1]]
    sources, targets = (network.indices([each[k] for each in between]).astype(np.int32) for k in (0, 1))
    return walk(network, sources, targets)


def _are_known(fabric: Fabric, network: Network, pairs: Hosts, routes: Ints) -> bool:
    """Whether these messages take these routes: by tables, in a model, or because there is no other way."""
    assert fabric.network is not None
    if fabric.routes_known or (fabric.network.has_tables and not fabric.is_emulated):
        return True
    if not fabric.is_emulated:
        return False
    ways, hosts = equal_cost_ways(network), len(network.hosts)
    source: list[int] = network.links.source.tolist()
    ends: list[int] = network.indices([b for a, b in pairs if a != b]).tolist()
    taken: list[list[int]] = routes.tolist()
    return all(
        len(ways[source[link] - hosts][end]) == 1
        for end, route in zip(ends, taken, strict=True)
        for link in route
        if link >= 0 and source[link] >= hosts
    )


def _fullest(network: Network, own: Ints, others: Ints) -> str:
    """The link with messages of both jobs that takes longest for all of them; cables between switches first."""
    ours, theirs = (np.bincount(each[each >= 0], minlength=len(network.links)) for each in (own, others))
    seconds = np.where((ours > 0) & (theirs > 0), (ours + theirs) / network.links.rate, 0.0)
    for chosen in (network.switch_links, np.ones(len(seconds), dtype=bool)):
        if (seconds * chosen).any():
            return name_link(network, int((seconds * chosen).argmax()))
    return ""


def _seconds(own: Ints, others: Ints, rate: Floats) -> float:
    """Time of messages of one byte each that begin together, beside others that never end; no overhead counts."""
    width = max(own.shape[1], others.shape[1])
    routes = np.concatenate([_padded(own, width), _padded(others, width)])
    left, elapsed = np.ones(len(own)), 0.0
    going = np.ones(len(routes), dtype=bool)
    while count := int((now := going[: len(own)]).sum()):
        speed = _fair_rates(routes[going], rate, count)[:count]
        step = float((left[now] / speed).min())
        left[now] -= step * speed
        elapsed += step
        going[: len(own)] = left > FULL
    return elapsed


def _padded(routes: Ints, width: int) -> Ints:
    return np.pad(routes, ((0, 0), (0, width - routes.shape[1])), constant_values=-1)


def _fair_rates(routes: Ints, rate: Floats, free: int) -> Floats:
    """Max-min rates of messages, shape (messages,), by their links; those after the first ``free`` have one rate."""
    used, links = routes >= 0, np.where(routes >= 0, routes, 0)
    speed, growing, left = np.zeros(len(routes)), np.ones(len(routes), dtype=bool), rate.copy()
    while growing.any():
        count = np.bincount(links[growing][used[growing]], minlength=len(rate))
        step = float((left[count > 0] / count[count > 0]).min())
        speed[growing] += step
        left -= step * count
        full = (count > 0) & (left <= FULL * rate)
        stopped = growing & (full[links] & used).any(axis=1)
        growing &= ~stopped
        if stopped[free:].any():
            growing[free:] = False
    return speed
