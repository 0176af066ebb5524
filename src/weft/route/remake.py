# SPDX-License-Identifier: BSD-3-Clause
"""Networks with other tables: made for an all-to-all, improved entry by entry, or changed for the phases of a shift."""

import numpy as np

from weft.route.dmodk import d_mod_k
from weft.route.library import Ints
from weft.route.routes import Routes

PASSES = 4
SEED = 1
LABEL = "better tables, made by Weft"
SPREAD = 0.05  # gain of phases for which routes may diverge, see native/route/swap.cpp
ROUNDS = 2


def d_mod_k_of(routes: Routes) -> Routes:
    """The same network with d-mod-k tables."""
    return routes.with_network(d_mod_k(routes.network))


def rerouted(routes: Routes, branching: float, rank: Ints | None = None, passes: int = PASSES) -> Routes:
    """The network with tables for an all-to-all: minimal, or up*/down* by a total order of the switches."""
    network = routes.network
    forward = np.empty((len(network.switches), len(network.hosts)), dtype=np.int32)
    routes.library.call("reroute", routes.graph, rank, routes.shared_slowness, branching, passes, SEED, forward)
    return routes.with_network(network.with_tables(forward, LABEL))


def relieved(routes: Routes, most: int, rank: Ints | None = None) -> tuple[Routes, int]:
    """The network with at most ``most`` entries changed to relieve its fullest links, and the number of changes."""
    network = routes.network
    forward = np.array(network.forward, dtype=np.int32, order="C")
    changes = np.empty((max(1, most), 3), dtype=np.int32)
    done = int(routes.library.call("relieve", routes.graph, rank, routes.shared_slowness, most, forward, changes))
    return routes.with_network(network.with_tables(forward, LABEL)), done


def swapped(
    routes: Routes, most: float, rank: Ints | None = None, rounds: int = ROUNDS, spread: float = 0
) -> tuple[Routes, int]:
    """The network with entries of leaf switches changed for the phases of a shift, and the number of changes."""
    network = routes.network
    forward = np.array(network.forward, dtype=np.int32, order="C")
    others = max(1, int((network.uplink >= 0).sum()) - 1)
    done = int(
        routes.library.call(
            "swap", routes.graph, rank, routes.shared_slowness, most * others, spread, rounds, SEED, forward
        )
    )
    return (routes.with_network(network.with_tables(forward, LABEL)), done) if done > 0 else (routes, 0)
