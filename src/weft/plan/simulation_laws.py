# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of a simulated message, by algorithm and by how many are under way (bench/simulated_costs.py).

Power laws through points at 64, 128, 256 and 512 ranks (of what sends to all at once: 32, 48, 64, 96 and 128) on one
core of a shared x86 virtual machine with SimGrid 3.32. Switching between ranks, matching messages and memory take most.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

AT_RANKS = 128
SHARED_ABOVE = 2**20  # bytes of a buffer above which all ranks share its memory (``WEFT_FOLD_ABOVE``)
LEAST_S = 8e-6  # of a message where few ranks run


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
AT_ONCE: Mapping[str, Law] = {"alltoallv": Law(1.77e-3, 3.3), "alltoall": Law(0.26e-3, 2.2)}
"""What comes on top, by call, where all p (p - r) large messages are under way: whenever one ends, the shares that the
others have of the links are worked out again."""
UNEVEN = 2.5
"""Times as much where routes share links unevenly: then few of them end together (64 ranks, a torus and a dragonfly:
1.9 to 4)."""


@dataclass(frozen=True)
class Copies:
    """What an algorithm that copies its blocks costs a host for each byte of them."""

    seconds: float  # for each byte of a call's blocks: of one for every rank, or of one from every rank to every other
    held: float = 0.0  # bytes of real memory for each, at the same time
    most_held: float = math.inf  # bytes that one rank holds at most


COPIES: Mapping[tuple[str, str], Copies] = {
    ("reduce_scatter", "ompi"): Copies(1.0e-9, 1.5),  # each rank sums up a copy of all blocks
    ("reduce_scatter", OTHERS): Copies(0.13e-9),
    ("allgather", OTHERS): Copies(0.3e-9),
    ("bcast", OTHERS): Copies(0.25e-9),
    ("gather", OTHERS): Copies(1.3e-9),
    ("scatter", "mpich"): Copies(1.2e-9),
    ("reduce", OTHERS): Copies(0.4e-9),
    ("allreduce", "mpich"): Copies(1.3e-9),
    ("allreduce", OTHERS): Copies(0.4e-9),
    **{(call, "bruck"): Copies(3.0e-9, 4.0, 64 * 2**20) for call in ("alltoall", "alltoallv")},
    **{(call, "node.bruck"): Copies(1.5e-9, 1.0) for call in ("alltoall", "alltoallv")},
}
"""By call and algorithm, or the library whose selector chooses it. Those of an all-to-all that are not here send from
the buffers that ranks share. At 64 ranks, blocks of 64 KiB to 4 MiB (bench/cost_estimates.py)."""
SHARED = frozenset({"bcast", "allgather"})
"""Calls that copy nothing once a rank's block is so large that ranks share its memory."""
WHOLE = frozenset({"bcast", "scatter", "gather", "reduce", "allreduce"})  # calls with one block for each rank
ONCE = 16  # calls that filling and proving a real block, once for each size, costs as much as
DOUBLED, DOUBLING = 2**22, Copies(3.9e-9)
"""Bytes of all blocks of a rank up to which MPICH's selector takes recursive doubling for ``MPI_Reduce_scatter``."""

MESSAGE_COPY_S = 0.3e-9
"""For each byte of a message from rank to rank: 256 KiB take 0.08 ms, however few are under way."""


def messages_copying_s(sizes: Iterable[tuple[int, int]]) -> float:
    """Seconds of processor time that copies of so many messages of each size take."""
    return MESSAGE_COPY_S * sum(size * many for size, many in sizes if size <= SHARED_ABOVE)


def copying(call: str, algorithm: str, block: int, ranks: int, calls: int) -> tuple[float, float]:
    """Seconds of processor time and bytes of memory that copies of one size's blocks take."""
    real = block <= SHARED_ABOVE
    if call in SHARED and not real:
        return 0.0, 0.0
    name = algorithm.partition("{")[0]  # whatever its settings: ``bruck{r=2}``
    copies = COPIES.get((call, name), COPIES.get((call, OTHERS), Copies(0.0)))
    if (call, name) == ("reduce_scatter", "mpich") and block * ranks <= DOUBLED:
        copies = DOUBLING
    moved = float(block * ranks * (1 if call in WHOLE else ranks))
    times = calls + (ONCE if call in WHOLE and real else 0)
    return copies.seconds * moved * times, min(copies.held * moved, copies.most_held * ranks)


def message_s(ranks: int, algorithms: Collection[str] = (), *, eager: bool = False) -> float:
    """Seconds of processor time that simulating a message takes."""
    laws = EAGER if eager else WINDOWED
    return max(laws.get(name, laws[OTHERS]).at(ranks) for name in algorithms or (OTHERS,))


def at_once_s(call: str, ranks: int) -> float:
    """Seconds of processor time more that a large message takes whose call sends to all ranks at once."""
    return AT_ONCE[call].at(ranks)
