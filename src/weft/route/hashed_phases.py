# SPDX-License-Identifier: BSD-3-Clause
"""The phases of a shift over hashed paths: in each a rank sends to one other, so few connections share many cables.

This is the time of a pairwise or ring algorithm that waits in each phase, as the score ``shift`` of static tables, and
in its unit: the time of the fullest link over that of a host's own link. Phases and seeds are drawn together: each
drawn phase has another seed, and the mean over them is that of the whole schedule.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import equal_cost
from weft.route.library import Floats, Ints
from weft.route.routes import Routes, phases

AT_ONCE = 400_000  # connections followed at a time
MOST_FOLLOWED = 2_000_000  # connections in all drawn phases, of some microseconds each
FEWEST = 20  # phases, where even those are more
MOST_RANKS = 4608  # for which the phases over static tables are computed too


class _Choices(NamedTuple):
    """The links to choose from, for each leaf switch that is a destination."""

    row: Ints  # of each switch among the leaves, shape (switches,); -1 for others
    several: NDArray[np.int16]  # number of links that lead nearer, shape (leaves, switches)
    port: NDArray[np.int16]  # their columns in ``out``, first, shape (leaves, switches, most links)
    out: Ints  # links of each switch, shape (switches, most links)


@dataclass(frozen=True, eq=False)
class HashedPhases:
    """Times of phases over hashed paths, over that of a host's own link."""

    connections: int  # of each pair of ranks
    times: Floats  # of each drawn phase, ascending
    tables: float | None  # mean over all phases with the fabric's static tables; None for over `MOST_RANKS`

    @property
    def mean(self) -> tuple[float, float, float]:
        """The mean and its 95 % interval: that of the whole schedule."""
        mean, off = float(self.times.mean()), 1.96 * float(self.times.std()) / len(self.times) ** 0.5
        return mean, mean - off, mean + off

    def quantile(self, share: float) -> float:
        """The time that a share of the phases does not exceed."""
        return float(np.quantile(self.times, share, method="inverted_cdf"))


def hash_phases(routes: Routes, ranks: Ints | None, connections: int, draws: int, seed: int = 1) -> HashedPhases:
    """Times of up to ``draws`` phases of a shift, each with a seed of its own; FabricError for below 1, or one rank."""
    members, network = routes.members(ranks), routes.network
    if connections < 1 or draws < 1 or len(members) < 2:
        raise FabricError(f"{len(members)} ranks, --connections {connections}, --seeds {draws}", "take more of them")
    each = len(members) * connections
    draws = min(draws, max(FEWEST, MOST_FOLLOWED // each))
    rng, choices = np.random.default_rng(seed), _choices(network)
    tables = phases(routes, "shift", ranks).mean if len(members) <= MOST_RANKS else None
    times = np.concatenate([
        _drawn(network, choices, members, connections, min(some, draws - first), rng, routes.shared_slowness)
        for some in [max(1, AT_ONCE // each)]
        for first in range(0, draws, some)
    ])  # fmt: skip
    return HashedPhases(connections, np.sort(times), tables)


def _choices(network: Network) -> _Choices:
    row = np.full(len(network.switches), -1, dtype=np.int32)
    count: list[NDArray[np.int16]] = []
    port: list[NDArray[np.int16]] = []
    out = np.empty((0, 0), dtype=np.int32)
    for place, near in enumerate(equal_cost(network)):
        row[near.home], out = place, near.out
        count.append(near.nearer.sum(axis=1).astype(np.int16))
        port.append(np.argsort(~near.nearer, axis=1, kind="stable").astype(np.int16))
    return _Choices(row, np.stack(count), np.stack(port), out)


def _drawn(
    network: Network, choices: _Choices, members: Ints, connections: int, draws: int, rng: "np.random.Generator",
    slowness: Floats,
) -> Floats:  # fmt: skip
    """Times of some phases, each of a random distance, shape (draws,)."""
    ranks, links, hosts = len(members), len(network.links), len(network.hosts)
    distance = rng.integers(1, ranks, draws)
    source = np.tile(members, draws)
    target = members[(np.arange(ranks) + distance[:, np.newaxis]) % ranks].ravel()
    draw = np.repeat(np.arange(draws), ranks)
    away = source != target
    source, target, draw = (np.repeat(each[away], connections) for each in (source, target, draw))
    load = np.zeros(draws * links)
    np.add.at(load, draw * links + network.uplink[source], 1.0)
    np.add.at(load, draw * links + (network.uplink[target] ^ 1), 1.0)
    at, goal = network.leaf[source], network.leaf[target]
    while (going := np.flatnonzero(at != goal)).size:
        here, leaf = at[going], choices.row[goal[going]]
        several = choices.several[leaf, here]
        if not several.all():
            lost = going[int(np.argmin(several))]
            raise network.no_route(int(source[lost]), int(target[lost]))
        chosen = choices.out[here, choices.port[leaf, here, (rng.random(len(going)) * several).astype(np.intp)]]
        load += np.bincount(draw[going] * links + chosen, minlength=len(load))
        at[going] = network.links.target[chosen] - hosts
    return (load.reshape(draws, links) * slowness).max(axis=1) / connections
