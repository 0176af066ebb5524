# SPDX-License-Identifier: BSD-3-Clause
"""A star: every host on one switch."""

from collections.abc import Sequence

import numpy as np

from weft.fabric.network.graph import Cables, Network, Switch


def star(hosts: Sequence[str], *, rate: float, latency: float = 0.0) -> Network:
    """All hosts on one switch, each by a link of ``rate`` bytes/s each way and ``latency`` s: a message crosses two."""
    cables = Cables()
    switch = len(hosts)
    up = [cables.add(h, switch, rate, latency, ports=(1, h + 1)) for h in range(len(hosts))]
    return Network(
        topology="star",
        hosts=tuple(hosts),
        switches=(Switch("switch", 1),),
        links=cables.links(),
        forward=(np.array(up, dtype=np.int32) + 1)[np.newaxis, :],
        coordinates={"leaf": np.zeros(len(hosts), dtype=np.int32)},
        routing="one switch, one route",
    )
