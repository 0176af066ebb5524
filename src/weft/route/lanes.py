# SPDX-License-Identifier: BSD-3-Clause
"""Virtual lanes of routes, from the service levels of paths and the SL2VL tables of switches."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.readers.lanes import LEVELS, Service
from weft.route.routes import Routes


@dataclass(frozen=True, eq=False)
class Lanes:
    """The lanes of a network's routes.

    Attributes
    ----------
    used
        By service level, true for the routes that use it, shape (leaves, hosts).
    lane
        Virtual lane of each service level on each switch, shape (switches, 16).
    """

    used: dict[int, NDArray[np.bool_]]
    lane: NDArray[np.int64]


def lanes_of(routes: Routes, service: Service | None) -> Lanes | None:
    """Lanes of the routes of a network; None if they are not known.

    Routes without a path record are taken to have service level 0.

    Raises FabricError: The network states no LIDs, or no path is between two of its hosts.
    """
    if service is None:
        return None
    addresses, shape = routes.network.addresses, routes.lengths.shape
    if addresses is None or not (addresses.host_lids > 0).any():
        raise FabricError("the fabric states no LIDs, so its paths are not known", "import a dump with LIDs")
    host = {int(lid): index for index, lid in enumerate(addresses.host_lids) if lid > 0}
    level = np.zeros((LEVELS, *shape), dtype=bool)
    for source, target, number in zip(
        service.source.tolist(), service.target.tolist(), service.level.tolist(), strict=True
    ):
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
