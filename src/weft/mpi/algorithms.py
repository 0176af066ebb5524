# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms of collective calls that an MPI library can be set to use, with their names and knobs.

Open MPI's are those that ``ompi_info --param coll tuned --level 9`` names (4.1, 5.0), MPICH's those of its variables
``MPIR_CVAR_<CALL>_INTRA_ALGORITHM`` (5.0), but for those that would abort a call, or run as another algorithm.
Guidelines: what a call must not be slower than (Traeff, Gropp, Thakur 2010); ``native/measure/collective/mock_ups.cpp``
has the same mock-ups, by other calls of the library. In turns with ``bcast@1024`` is measured ``bcast@1024:split``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.mpi.library import INTEL, MPICH, MVAPICH, OPEN_MPI, SMPI, parse_library

DEFAULT = "default"
# Number 0 is "ignore": the library's own choice. Marked ones may abort a job, e.g. two_proc unless with two ranks.
TUNED: Mapping[str, Sequence[str]] = {
    "allgather": ("linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc", "sparbit"),
    "allreduce": ("basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"),
    "alltoall": ("linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"),
    "alltoallv": ("basic_linear", "pairwise"),
    "bcast": (
        "basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial",
        "scatter_allgather", "scatter_allgather_ring",
    ),
    "gather": ("basic_linear", "binomial", "linear_sync"),
    "reduce": ("linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"),
    "reduce_scatter": ("non-overlapping", "recursive_halving", "ring", "butterfly"),
    "scatter": ("basic_linear", "binomial", "linear_nb"),
}  # fmt: skip
SINCE_5 = frozenset({"sparbit"})
TUNED_ONLY = {"two_proc": "two", "sparbit": "power"}
# Left out: smp and ccl (need several nodes or a library for accelerators), pairwise_sendrecv_replace (in place only).
INTRA: Mapping[str, Sequence[str]] = {
    "allgather": ("brucks", "k_brucks", "nb", "recursive_doubling", "ring", "recexch_doubling", "recexch_halving"),
    "allreduce": (
        "nb", "recursive_doubling", "recursive_multiplying", "reduce_scatter_allgather", "tree", "recexch", "ring",
        "k_reduce_scatter_allgather",
    ),
    "alltoall": ("brucks", "k_brucks", "nb", "pairwise", "scattered"),
    "alltoallv": ("nb", "scattered"),
    "bcast": (
        "binomial", "nb", "scatter_recursive_doubling_allgather", "scatter_ring_allgather", "pipelined_tree", "tree",
    ),
    "gather": ("binomial", "nb"),
    "reduce": ("binomial", "nb", "reduce_scatter_gather"),
    "reduce_scatter": ("nb", "noncommutative", "pairwise", "recursive_doubling", "recursive_halving"),
    "scatter": ("binomial", "nb"),
}  # fmt: skip
INTRA_ONLY = {
    ("allgather", "recursive_doubling"): "power",
    ("bcast", "scatter_recursive_doubling_allgather"): "power",
    ("reduce_scatter", "noncommutative"): "power",
}
# Of a simulated fabric: whose choice SMPI makes. Variables that the launcher turns into SimGrid's options.
SELECTORS = ("mvapich2", "mpich", "ompi", "impi")
SELECTED_BY = "WEFT_SMPI_"
OPEN_MPI_THREAD = 6  # from this version on its progress thread serves all transports; before, TCP alone
THREADS = {MPICH: "MPIR_CVAR_ASYNC_PROGRESS", INTEL: "I_MPI_ASYNC_PROGRESS", MVAPICH: "MV2_ASYNC_PROGRESS"}
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


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of a collective call."""

    name: str  # the library's name for it
    value: str  # the value of its knob
    only: str = ""  # ``two``: for two ranks only; ``power``: for a power of two of them; empty: for any number

    def fits(self, ranks: int) -> bool:
        """Whether it works with this number of ranks."""
        return {"two": ranks == 2, "power": ranks & (ranks - 1) == 0}.get(self.only, True)


def family_of(library: str) -> tuple[str, int]:
    """Family and major version of a library, from its version string; ("", 0) if unknown."""
    known = parse_library(library)
    return (known.family, known.major) if known.family in (OPEN_MPI, MPICH) else ("", 0)


def algorithms(library: str, collective: str, ranks: int) -> list[Algorithm]:
    """Algorithms of a collective (``reduce_scatter``) that a library can be set to use with so many ranks, if any."""
    family, major = family_of(library)
    found: list[Algorithm] = []
    if family == OPEN_MPI:
        numbered = enumerate(TUNED.get(collective, ()), start=1)
        known = ((number, name) for number, name in numbered if major >= 5 or name not in SINCE_5)
        found = [Algorithm(name, str(number), TUNED_ONLY.get(name, "")) for number, name in known]
    elif family == MPICH:
        found = [Algorithm(name, name, INTRA_ONLY.get((collective, name), "")) for name in INTRA.get(collective, ())]
    elif library.startswith(SMPI) and collective in ("alltoall", "alltoallv"):
        found = [Algorithm(name, name) for name in SELECTORS]
    return [algorithm for algorithm in found if algorithm.fits(ranks)]


def knob(library: str, collective: str) -> str:
    """Name of the control variable that chooses the algorithm of a collective; empty if there is none."""
    family, _ = family_of(library)
    if family == OPEN_MPI and collective in TUNED:
        return f"coll_tuned_{collective}_algorithm"
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM" if family == MPICH and collective in INTRA else ""


def setting(library: str, collective: str, algorithm: Algorithm) -> dict[str, str]:
    """Environment variables that make a library use an algorithm. Open MPI's component ``tuned`` gets the highest
    priority (by default ``han`` precedes it on several nodes). MPICH's device would bypass the algorithm with its own
    shared-memory calls, so it is disabled for this collective.
    """
    family, _ = family_of(library)
    if family == OPEN_MPI:
        return {
            "OMPI_MCA_coll_tuned_priority": "100",
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            f"OMPI_MCA_{knob(library, collective)}": algorithm.value,
        }
    if family == MPICH:
        return {
            "MPIR_CVAR_DEVICE_COLLECTIVES": "percoll",
            f"MPIR_CVAR_{collective.upper()}_DEVICE_COLLECTIVE": "0",
            knob(library, collective): algorithm.value,
        }
    return {SELECTED_BY + collective.upper(): algorithm.value} if library.startswith(SMPI) else {}


def progress_thread(library: str, *, several_nodes: bool) -> dict[str, str]:
    """The variable that makes a library work on non-blocking calls while its ranks compute; empty if none is known."""
    known = parse_library(library)
    if known.family == OPEN_MPI:
        if known.major >= OPEN_MPI_THREAD:
            return {"OMPI_MCA_opal_async_progress": "1"}
        return {"OMPI_MCA_btl_tcp_progress_thread": "1"} if several_nodes else {}
    return {THREADS[known.family]: "1"} if known.family in THREADS else {}


def guidelines_of(collective: str, ranks: int) -> list[str]:
    """The guidelines of a call, as words of the flat plan."""
    return [LARGER, SPLIT, *([FEWER] if ranks >= FEWEST_RANKS else []), *MOCK_UPS[collective]]
