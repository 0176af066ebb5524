# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a fabric that ``weft fabric show`` prints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.fabric.bisection import Bisection, bisection
from weft.fabric.hops import HopClass, hop_classes
from weft.fabric.levels import Level, levels
from weft.fabric.loads import Hottest, all_to_all_loads, hottest
from weft.fabric.network.graph import Network


@dataclass(frozen=True, eq=False)
class Summary:
    """Numbers of a network.

    Attributes
    ----------
    network
        The network itself.
    hosts, switches, cables
        Number of each.
    levels
        Switches by level with their oversubscription.
    bisection
        See `weft.fabric.bisection`.
    classes
        Hop classes of all pairs of ranks.
    ranks_per_socket
        Ranks on each socket of a host, as counted in ``classes``.
    loads
        Units over each link in an all-to-all of all hosts, shape (links,).
    hottest
        The slowest link of such an all-to-all; None with fewer than two hosts, or if cables are not known.
    """

    network: Network
    hosts: int
    switches: int
    cables: int
    levels: tuple[Level, ...]
    bisection: Bisection
    classes: tuple[HopClass, ...]
    ranks_per_socket: tuple[int, ...]
    loads: NDArray[np.int64]
    hottest: Hottest | None

    def as_tree(self) -> dict[str, Any]:
        """The numbers for JSON (schema ``weft-fabric/1``); rates in bytes per second, null where unknown."""
        hot = self.hottest
        return {
            "schema": "weft-fabric/1",
            "topology": self.network.topology,
            "routing": self.network.routing,
            "hosts": self.hosts,
            "switches": self.switches,
            "cables": self.cables,
            "levels": [
                {
                    "level": level.level,
                    "switches": level.switches,
                    "without_hosts": level.without_hosts,
                    "cables_down": level.down,
                    "cables_up": level.up,
                    "oversubscription": {
                        "least": _number(level.least),
                        "median": _number(level.typical),
                        "most": _number(level.most),
                        "worst": level.worst or None,
                    },
                }
                for level in self.levels
            ],
            "bisection": {"rate": _number(self.bisection.rate), "full": _number(self.bisection.full)},
            "ranks_per_socket": list(self.ranks_per_socket),
            "hop_classes": [{"level": c.level, "hops": c.hops, "pairs": c.pairs} for c in self.classes],
            "all_to_all": None
            if hot is None
            else {
                "link": hot.name,
                "load": hot.load,
                "relative": _number(hot.relative),
                "rate_per_host": _number(hot.rate_per_host),
            },
        }


def summarise(network: Network, ranks_per_socket: Sequence[int] = (1,)) -> Summary:
    """Compute the numbers of a network.

    Raises
    ------
    FabricError
        Two hosts have no route.
    """
    loads = all_to_all_loads(network)
    return Summary(
        network=network,
        hosts=len(network.hosts),
        switches=len(network.switches),
        cables=len(network.links) // 2,
        levels=levels(network),
        bisection=bisection(network),
        classes=hop_classes(network, ranks_per_socket),
        ranks_per_socket=tuple(ranks_per_socket),
        loads=loads,
        hottest=hottest(network, loads) if len(network.hosts) > 1 and network.cables_known else None,
    )


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
