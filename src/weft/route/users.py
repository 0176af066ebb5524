# SPDX-License-Identifier: BSD-3-Clause
"""Users of a link: source and target hosts of the messages that cross it."""

from dataclasses import dataclass

import numpy as np

from weft.route.library import Ints
from weft.route.routes import Routes


@dataclass(frozen=True, eq=False)
class Users:
    """The users of a link in an all-to-all.

    Attributes
    ----------
    sources, targets
        Indices of the hosts whose messages cross it, and of the hosts they are sent to.
    routes
        Number of routes from a leaf switch to a host that cross it.
    """

    sources: Ints
    targets: Ints
    routes: int


def users_of(routes: Routes, link: int, members: Ints | None = None) -> Users:
    """The users of a link in an all-to-all among ``members``, host indices (hosts,); all hosts if None."""
    network = routes.network
    taking = np.zeros(len(network.hosts), dtype=bool)
    taking[routes.members(members)] = True
    source, target = int(network.links.source[link]), int(network.links.target[link])
    hosts = len(network.hosts)
    if source < hosts:
        return Users(np.array([source], dtype=np.int32), np.flatnonzero(taking).astype(np.int32), 1)
    if target < hosts:
        return Users(np.flatnonzero(taking).astype(np.int32), np.array([target], dtype=np.int32), 1)
    # Only destinations that the switch sends over this link can matter.
    columns = np.flatnonzero((network.forward[source - hosts] == link) & taking)
    rows = np.unique(routes.row[taking & (routes.row >= 0)])
    over = (routes.links[np.ix_(rows, columns)] == link).any(axis=2)
    targets = columns[over.any(axis=0)]
    sources = np.flatnonzero(taking & np.isin(routes.row, rows[over.any(axis=1)]))
    return Users(sources.astype(np.int32), targets.astype(np.int32), int(over.sum()))
