# SPDX-License-Identifier: BSD-3-Clause
"""Performance guidelines of MPI: what a collective call must not be slower than (Traeff, Gropp, Thakur 2010).

``native/measure/collective/mock_ups.cpp`` has the same mock-ups: implementations by other calls of the library. In
turns with a call ``bcast@1024`` the kernel measures ``bcast@1024:split``, as steps (:mod:`weft.kernel.steps`).
"""

from collections.abc import Mapping

#: Mock-ups of each call, after PGMPI (Hunold, Carpen-Amarie, Luebbe, Traeff 2016).
MOCK_UPS: Mapping[str, tuple[str, ...]] = {
    "bcast": ("scatter+allgather", "allgatherv"),
    "alltoall": ("alltoallv",),
    "alltoallv": ("alltoall", "alltoallw"),
    "scatter": ("scatterv", "bcast"),
    "gather": ("gatherv", "allgather", "reduce"),
    "allgather": ("gather+bcast", "alltoall", "allreduce", "allgatherv"),
    "allreduce": ("reduce+bcast", "reduce_scatter+allgather"),
    "reduce": ("allreduce", "reduce_scatter+gather"),
    "reduce_scatter": ("reduce+scatter", "allreduce"),
}
#: A message twice as large, two messages of half the size, and the call on half of the ranks, which is on the other
#: side: on all ranks it may not be faster.
LARGER, SPLIT, FEWER = "larger", "split", "fewer"
FEWEST_RANKS = 4  # whose half are two


def guidelines_of(collective: str, ranks: int) -> list[str]:
    """The guidelines of a call, as words of the flat plan."""
    return [LARGER, SPLIT, *([FEWER] if ranks >= FEWEST_RANKS else []), *MOCK_UPS[collective]]
