# SPDX-License-Identifier: BSD-3-Clause
"""A lower bound of a replay that was not simulated: its fullest link, from the routes and the traced messages alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.launch.route_library import route_library
from weft.route.patterns import placed_matrix
from weft.route.routes import Routes


def fullest_link_s(fabric: Fabric, hosts: Sequence[str], sent: NDArray[np.floating]) -> float | None:
    r"""Seconds that the fullest link needs for its bytes, $\max_l b_l / r_l$; None if cables or rates are not known.

    Raises FabricError: A node is not in the network, or two of them have no route.

    Parameters
    ----------
    sent
        Bytes from each rank to each other, shape (ranks, ranks).
    """
    network = build_network(fabric)
    if not network.cables_known or not hosts:
        return None
    ranks = np.repeat(network.indices(list(hosts)), len(sent) // len(hosts)).astype(np.int32)
    load = placed_matrix(Routes(network, route_library()), sent, ranks)
    used = load > 0
    rate = network.links.rate[used]
    return float((load[used] / rate).max(initial=0)) if np.isfinite(rate).all() else None
