# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of a simulated message, by algorithm and by how many are under way (bench/simulated_costs.py).

Power laws through points at 64, 128, 256 and 512 ranks (of what sends to all at once: 32, 48, 64, 96 and 128) on one
core of a shared x86 virtual machine with SimGrid 3.32. Switching between ranks, matching messages and memory take most.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

AT_RANKS = 128
LEAST_S = 8e-6
"""Of a message where few ranks run."""


class Law(NamedTuple):
    """Seconds a message at `AT_RANKS` ranks, and the power of the number of ranks with which they grow."""

    seconds: float
    growth: float

    def at(self, ranks: int) -> float:
        """Seconds a message among ``ranks`` ranks."""
        return max(LEAST_S, self.seconds * (ranks / AT_RANKS) ** self.growth)


OTHERS = ""
WINDOWED: Mapping[str, Law] = {
    OTHERS: Law(15.7e-6, 0.69),
    "ring": Law(14.6e-6, 0.59),
    "pair": Law(15.3e-6, 0.60),
    "mvapich2": Law(13.1e-6, 0.54),
    "mpich": Law(22.7e-6, 0.98),  # 32 messages of a rank under way
}
"""Large messages, a few of each rank under way, by the algorithm or the library whose selector chooses it."""
EAGER: Mapping[str, Law] = {OTHERS: Law(19.4e-6, 0.64), "mpich": Law(19.5e-6, 0.74)}
"""Small ones leave their sender going, and SimGrid walks the list of all that a rank has under way when one ends."""
AT_ONCE: Mapping[str, Law] = {"alltoallv": Law(1.37e-3, 3.6), "alltoall": Law(0.2e-3, 2.5)}
"""What comes on top, by call, where all p (p - r) large messages are under way: whenever one ends, the shares that the
others have of the links are worked out again."""


def message_s(
    ranks: int, algorithms: Collection[str] = (), at_once: Collection[str] = (), *, eager: bool = False
) -> float:
    """Seconds of processor time that simulating a message takes.

    Parameters
    ----------
    ranks
        Ranks of the launch.
    algorithms
        Algorithms that run, or libraries whose selectors choose them: the dearest counts.
    at_once
        Calls whose algorithm sends large blocks to all ranks at once.
    eager
        Whether many messages are sent eagerly.
    """
    laws = EAGER if eager else WINDOWED
    each = max(laws.get(name, laws[OTHERS]).at(ranks) for name in (*algorithms, *(() if algorithms else (OTHERS,))))
    return each + max((AT_ONCE.get(call, AT_ONCE["alltoallv"]).at(ranks) for call in at_once), default=0.0)
