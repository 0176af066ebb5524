# SPDX-License-Identifier: BSD-3-Clause
"""Effective bisection bandwidth, as ORCS defines it.

Hosts are divided at random into two halves, and each host of the first sends to one of the second (T. Hoefler, T.
Schneider, A. Lumsdaine, "Multistage switches are not crossbars: effects of static routing in high-performance
networks", 2008). The rate of a flow is that of the most loaded link on its route, divided by the number of flows there;
its share is this rate over that of its two hosts' links. The mean over flows and splits is the share of full bisection
of a random pattern.
"""

from dataclasses import dataclass

import numpy as np

from weft.route.library import Floats, Ints
from weft.route.routes import Routes

SAMPLES = 1000
SEED = 20080914


@dataclass(frozen=True, eq=False)
class Effective:
    """Effective bisection bandwidth.

    Attributes
    ----------
    share
        Mean share of a host's own rate, 0 to 1.
    low, high
        95 % interval of that mean (normal: the mean of many independent splits).
    each
        The share of each split, shape (samples,).
    """

    share: float
    low: float
    high: float
    each: Floats


def effective_bisection(
    routes: Routes, hosts: Ints | None = None, samples: int = SAMPLES, seed: int = SEED
) -> Effective:
    """Effective bisection bandwidth of the hosts of a network.

    Parameters
    ----------
    hosts
        Indices of the hosts that take part, shape (hosts,); all with a cable if None. With an odd number, a different
        host is idle in each split.
    """
    members = routes.members(hosts)
    each = np.ones(samples)
    if len(members) > 1:
        arguments = (len(members), members, samples, seed, routes.shared_slowness, each)
        routes.library.call("bisections", routes.graph, routes.paths, *arguments)
    mean = float(each.mean())
    spread = 1.96 * float(each.std(ddof=1)) / np.sqrt(samples) if samples > 1 else float("nan")
    return Effective(mean, mean - spread, mean + spread, each)
