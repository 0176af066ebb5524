# SPDX-License-Identifier: BSD-3-Clause
"""Load of every link under traffic patterns, computed exactly from the routes.

A unit is what one rank sends to one other; times are relative to one unit over the slowest host's own link.
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
# Messages of a schedule that are all followed, else about this many: of phases, or of splits, drawn at random
MOST_FOLLOWED, DRAWN, FEWEST, SEED = 1 << 26, 1 << 23, 100, 20080914


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads of one pattern."""

    load: Longs  # units over each link, shape (links,)
    lost: int  # units without a route


@dataclass(frozen=True, eq=False)
class Phases:
    """Loads of a schedule of phases."""

    time: Floats  # relative time of the slowest link in each phase, shape (phases,)
    link: Ints  # index of that link, shape (phases,); -1 for a phase without traffic
    load: Longs  # units over each link, summed over these phases, shape (links,)
    lost: int  # messages without a route
    of: int  # number of phases of the whole schedule

    @property
    def mean(self) -> float:
        """Mean relative time of a phase: time of the schedule over its time with all links as fast as the adapters."""
        return float(self.time.mean()) if len(self.time) else 0.0

    @property
    def half(self) -> float:
        """Half of the 95 % interval of `mean`: 0 where all phases are counted."""
        count = len(self.time)
        return 1.96 * float(self.time.std(ddof=1)) * ((1 - count / self.of) / count) ** 0.5 if self.drawn else 0.0

    @property
    def drawn(self) -> str:
        """The number of phases in words where not all are counted, else empty."""
        return f"{len(self.time):,} of {self.of:,} phases" if len(self.time) < self.of else ""


def all_to_all(routes: Routes, ranks: Ints | None = None) -> Loads:
    """Loads when every rank (shape (ranks,), by its host) sends one unit to every rank on another host."""
    weight = np.bincount(routes.members(ranks), minlength=len(routes.network.hosts)).astype(np.int64)
    load = np.zeros(len(routes.network.links), dtype=np.int64)
    return Loads(load, int(routes.library.call("all_to_all", routes.graph, weight, load)))


def phases(
    routes: Routes, schedule: Schedule = "shift", ranks: Ints | None = None, slowness: Floats | None = None
) -> Phases:
    """Loads of every phase of a schedule, or of some of more than `MOST_FOLLOWED` messages, the same each time.

    `ranks`: host of each rank, shape (ranks,); one on each host with a cable when None. `slowness`: relative time of
    one unit over each link, shape (links,); `Routes.shared_slowness` if None.
    """
    host = routes.members(ranks)
    count = len(host) - 1 if schedule == "shift" else (1 << max(0, len(host) - 1).bit_length()) - 1
    number = np.arange(1, count + 1)
    drawn = max(FEWEST, DRAWN // max(1, len(host)))
    if len(host) * count > MOST_FOLLOWED and count > drawn:
        number = np.sort(np.random.default_rng(SEED).choice(number, drawn, replace=False))
    time, link = np.zeros(len(number)), np.full(len(number), -1, dtype=np.int32)
    load = np.zeros(len(routes.network.links), dtype=np.int64)
    slowness = routes.shared_slowness if slowness is None else slowness
    arguments = (KINDS[schedule], len(host), host, len(number), number, slowness, time, link, load)
    lost = int(routes.library.call("phases", routes.graph, routes.paths, *arguments))
    return Phases(time, link, load, lost, max(0, count))


def placed_matrix(routes: Routes, amounts: NDArray[np.floating], ranks: Ints | None = None) -> Floats:
    """Load of each link, shape (links,), under amounts from each rank to each other, shape (ranks, ranks), any unit.

    `ranks`: host of each rank, shape (ranks,); one on each host with a cable when None. FabricError for a matrix of
    another number of ranks, or a message without a route.
    """
    members = routes.members(ranks)
    if amounts.shape != (len(members), len(members)):
        what = f"a traffic matrix of {' x '.join(map(str, amounts.shape))} ranks for {len(members)} ranks"
        raise FabricError(what, "name as many hosts by --placement, times --ranks, as the matrix has rows")
    source, target = np.nonzero(amounts)
    return flow_loads(routes, members[source], members[target], amounts[source, target])


def flow_loads(routes: Routes, sources: Ints, targets: Ints, amounts: NDArray[np.floating] | None = None) -> Floats:
    """Load of each link, (links,), under messages between hosts by index, (messages,), of ``amounts`` or 1 each.

    Messages to oneself cross no link. FabricError without a route.
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
    between = routes.between(row, target)
    count = len(network.links)
    load = np.zeros(count + 1)  # the last one means "no link"
    np.add.at(load, routes.arrays[2][source], weight)
    np.add.at(load, routes.arrays[3][target], weight)
    np.add.at(load, between, weight[:, np.newaxis])
    return load[:count]
