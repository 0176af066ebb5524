# SPDX-License-Identifier: BSD-3-Clause
"""Rules for Open MPI's component ``tuned``: the text file of ``coll_tuned_dynamic_rules_filename``, its first version.

The file holds, for each collective, sizes of communicators, and for each of them sizes of messages; a rule holds from
its size up to the next one's. Algorithm 0 is the library's own choice. A message is what a rank sends to all, so a
block times the number of ranks. Open MPI 4 and 5 read it; rules for MPI_Alltoallv know the number of ranks alone.
"""

from collections.abc import Mapping

from weft.mpi.algorithms import TUNED
from weft.mpi.alltoall import PMPI
from weft.mpi.selection import SelectionTable
from weft.tune.export.areas import Ranks, Sizes, areas

COLLECTIVES: Mapping[str, int] = {"alltoall": 3, "alltoallv": 4}  # number of a collective in the file
#: Spec of Weft's -> name of the same algorithm in ``tuned``.
SAME: Mapping[str, Mapping[str, str]] = {
    "alltoall": {"flat.pairwise": "pairwise", "bruck": "modified_bruck", "bruck{r=2}": "modified_bruck"},
    "alltoallv": {"flat.pairwise": "pairwise"},
}
LARGEST = 2**31 - 1
SETTINGS = ("coll_tuned_priority", "100"), ("coll_tuned_use_dynamic_rules", "1")


def settings(path: str) -> list[str]:
    """Lines of a job script that make Open MPI read a file."""
    named = (*SETTINGS, ("coll_tuned_dynamic_rules_filename", path))
    return [f"export OMPI_MCA_{name}={value}" for name, value in named]


def rule_file(table: SelectionTable) -> tuple[str, list[str]]:
    """The file, and the rules that it cannot hold, each with the reason."""
    left_out: list[str] = []
    parts: list[list[str]] = []
    for op, number in COLLECTIVES.items():
        blocks = [block for ranks in areas(table, op) for block in _of_ranks(op, ranks, left_out)]
        if any(algorithm for _, rules in blocks for _, algorithm in rules):
            parts.append([f"{number} # MPI_{op.capitalize()}", f"{len(blocks)} # sizes of communicators"])
            for size, rules in blocks:
                parts[-1] += [f"{size} # ranks and more", f"{len(rules)} # sizes of messages"]
                parts[-1] += [f"{least} {algorithm} 0 0" for least, algorithm in rules]
    lines = [f"{len(parts)} # collectives; written by weft tune export; bytes, algorithm, fan-out, segment"]
    return "\n".join([*lines, *(line for part in parts for line in part)]) + "\n", left_out


def _of_ranks(op: str, ranks: Ranks, left_out: list[str]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Size of a communicator, and its rules: bytes and algorithm. One for each size where messages grow with it."""
    if ranks.low > LARGEST:
        return []
    named = [(sizes, _number(op, sizes, ranks, left_out)) for sizes in ranks.sizes]
    if not any(number for _, number in named):
        return [(ranks.low, [(0, 0)])]
    if op == "alltoallv":
        if len(named) == 1:
            return [(ranks.low, [(0, named[0][1])])]
        left_out.append(f"{op} on {ranks.words} ranks: Open MPI cannot tell sizes apart there")
        return [(ranks.low, [(0, 0)])]
    if len(named) > 1 and ranks.high - ranks.low >= 1024:
        left_out.append(f"{op} on {ranks.words} ranks: name fewer numbers of ranks in the table")
        return [(ranks.low, [(0, 0)])]
    each = range(ranks.low, ranks.high + 1) if len(named) > 1 else [ranks.low]
    return [(p, [(sizes.low * p, number) for sizes, number in named]) for p in each]


def _number(op: str, sizes: Sizes, ranks: Ranks, left_out: list[str]) -> int:
    """Number of an algorithm in ``tuned``; 0, with a note, for one that Open MPI lacks."""
    if sizes.algorithm == PMPI:
        return 0
    name = SAME[op].get(sizes.algorithm)
    if name is None:
        where = f"{ranks.words} ranks, {sizes.words} bytes"
        left_out.append(f"{op} on {where}: Open MPI has no {sizes.algorithm}")
        return 0
    return list(TUNED[op]).index(name) + 1
