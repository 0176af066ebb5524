# SPDX-License-Identifier: BSD-3-Clause
"""A selection table as a rule file of an MPI library, for those who do not preload ``libweft.so``.
Libraries know a communicator's size and nothing of nodes, so rules become areas of ranks and bytes. A table is read as
``libweft.so`` reads it, by the first rule that matches: a grid of areas between all ranges' ends.

Open MPI: the text file of ``coll_tuned_dynamic_rules_filename``, its first version. The file holds, for each
collective, sizes of communicators, and for each of them sizes of messages; a rule holds from its size up to the
next one's. Algorithm 0 is the library's own choice. A message is what a rank sends to all, so a block times the
number of ranks. Open MPI 4 and 5 read it; rules for MPI_Alltoallv know the number of ranks alone.

MPICH: the JSON file of ``MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE``, which MPICH 4 and 5 read. The file stands for
all rules that are compiled into the library, those of other collectives too, and a call without a rule ends the
job. So Weft takes the library's own rules, which lie in the library as a text, and changes those of MPI_Alltoall
alone. In MPICH's file the first condition that holds is followed. MPI_Alltoallv has no size there.
"""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Generic, Literal, TypeAlias, TypeVar

from weft.errors import DataError, LaunchError
from weft.files.atomic import file_errors, write_atomic
from weft.mpi.algorithms import TUNED
from weft.mpi.alltoall import PMPI, Rule, SelectionTable, read_selection
from weft.mpi.library import Mpi, find_mpi

To = Literal["openmpi", "mpich"]
LARGEST = 2**31 - 1  # what a number in either file may be
MOST = 2**62  # Open end of a range: no communicator and no block is larger
ANY = (0, MOST)
Of = TypeVar("Of")
TUNED_NUMBERS: Mapping[str, int] = {"alltoall": 3, "alltoallv": 4}  # number of a collective in the file
#: Spec of Weft's -> name of the same algorithm in ``tuned``.
TUNED_NAMES: Mapping[str, Mapping[str, str]] = {
    "alltoall": {"flat.pairwise": "pairwise", "bruck": "modified_bruck", "bruck{r=2}": "modified_bruck"},
    "alltoallv": {"flat.pairwise": "pairwise"},
}
#: Lines of a job script that make a library read a file, and MPICH call its own algorithms, not its device's.
SETTINGS: Mapping[To, tuple[str, ...]] = {
    "openmpi": (
        "export OMPI_MCA_coll_tuned_priority=100",
        "export OMPI_MCA_coll_tuned_use_dynamic_rules=1",
        "export OMPI_MCA_coll_tuned_dynamic_rules_filename={path}",
    ),
    "mpich": (
        "export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={path}",
        "export MPIR_CVAR_DEVICE_COLLECTIVES=percoll",
        "export MPIR_CVAR_ALLTOALL_DEVICE_COLLECTIVE=0",
    ),
}
#: Spec of Weft's -> MPICH's function; "scattered" has 32 requests at a time, MPIR_CVAR_ALLTOALL_THROTTLE.
MPICH_NAMES: Mapping[str, str] = {
    "flat.pairwise": "MPIR_Alltoall_intra_pairwise",
    "bruck": "MPIR_Alltoall_intra_brucks",
    "bruck{r=2}": "MPIR_Alltoall_intra_brucks",
    "flat.window{w=32}": "MPIR_Alltoall_intra_scattered",
}
BEGIN = b'{"collective='
COLLECTIVE, INTRA, NOT_IN_PLACE = "collective=alltoall", "comm_type=intra", "is_sendbuf_inplace=no"
ELF = b"\x7fELF"
Tree: TypeAlias = "dict[str, Tree]"


@dataclass(frozen=True)
class Span(Generic[Of]):
    """Numbers of ranks or bytes from ``low`` up to ``high``, both included, and what holds for all of them."""

    low: int
    high: int
    of: Of

    @property
    def words(self) -> str:
        """The range, for people."""
        if self.high >= MOST:
            return f"{self.low} or more" if self.low else "all"
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


Sizes: TypeAlias = Span[str]  # of a block, with the algorithm of the first rule that matches
Ranks: TypeAlias = Span[tuple[Sizes, ...]]  # of a communicator, with its sizes in ascending order, without a gap


def ranks_of(rule: Rule) -> tuple[int, int]:
    """Numbers of ranks that a rule is for: its own range, narrowed to what its nodes can hold."""
    low, high = rule.p or ANY
    if rule.nodes and rule.ranks_per_node:
        low = max(low, rule.nodes[0] * rule.ranks_per_node[0])
        high = min(high, rule.nodes[1] * rule.ranks_per_node[1])
    return low, high


def areas(table: SelectionTable, op: str) -> list[Ranks]:
    """All numbers of ranks in ascending order, with the algorithm of ``alltoall`` or ``alltoallv`` at each size."""
    rules = [(ranks_of(rule), rule.bytes or ANY, rule.algorithm) for rule in table.rules if rule.op in (op, "*")]

    def sizes_of(ranks: int) -> tuple[Sizes, ...]:
        own = [(sizes, algorithm) for (low, high), sizes, algorithm in rules if low <= ranks <= high]

        def first(size: int) -> str:
            return next((algorithm for (low, high), algorithm in own if low <= size <= high), PMPI)

        return tuple(_spans((sizes for sizes, _ in own), first))

    return _spans((ranks for ranks, _, _ in rules), sizes_of)


def _spans(ranges: Iterable[tuple[int, int]], of: Callable[[int], Of]) -> list[Span[Of]]:
    """The whole numbers from 0, cut where one of the ranges begins or has ended, and what differs holds."""
    cuts = {0, MOST + 1}
    for low, high in ranges:
        cuts |= {low, high + 1}
    parts = (Span(low, high - 1, of(low)) for low, high in pairwise(sorted(cut for cut in cuts if cut <= MOST + 1)))
    groups = (list(group) for _, group in groupby(parts, key=lambda each: each.of))
    return [Span(same[0].low, same[-1].high, same[0].of) for same in groups]


def open_mpi_rules(table: SelectionTable) -> tuple[str, list[str]]:
    """The file, and the rules that it cannot hold, each with the reason."""
    left_out: list[str] = []
    parts: list[list[str]] = []
    for op, number in TUNED_NUMBERS.items():
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
    named: list[tuple[int, int]] = []  # least size of a block, and number of an algorithm
    for sizes in ranks.of:
        name = TUNED_NAMES[op].get(sizes.of)
        named.append((sizes.low, list(TUNED[op]).index(name) + 1 if name else 0))
        if not name and sizes.of != PMPI:
            left_out.append(f"{op} on {ranks.words} ranks, {sizes.words} bytes: Open MPI has no {sizes.of}")
    if len(named) == 1 or not any(number for _, number in named):
        return [(ranks.low, [(0, named[0][1])])]
    if op != "alltoallv" and ranks.high - ranks.low < 1024:
        return [(p, [(low * p, number) for low, number in named]) for p in range(ranks.low, ranks.high + 1)]
    why = "Open MPI cannot tell sizes apart there" if op == "alltoallv" else "name fewer numbers of ranks in the table"
    left_out.append(f"{op} on {ranks.words} ranks: {why}")
    return [(ranks.low, [(0, 0)])]


def library_of(mpi: Mpi) -> Path:
    """The MPI library that a compiler wrapper links programs to; LaunchError if it names none."""
    words = shlex.split(mpi.show())
    folders = [Path(word[2:]) for word in words if word.startswith("-L")]
    files = [f"lib{word[2:]}.so*" for word in words if word in ("-lmpich", "-lmpi")]
    for path in (path for folder in folders for file in files for path in sorted(folder.glob(file))):
        with file_errors(path), path.open("rb") as library:
            if library.read(len(ELF)) == ELF:  # a wheel's libmpi.so is a linker's script
                return path
    raise LaunchError(
        f"{mpi.wrapper} links to no libmpich.so or libmpi.so that is there",
        "name the compiler wrapper of an MPICH 4 or 5 by --mpicxx",
    )


def own_rules(library: Path) -> Tree:
    """The rules compiled into a library; DataError if it has none of MPI_Alltoall: no MPICH from version 4 on."""
    with file_errors(library):
        content = library.read_bytes()
    at = content.find(BEGIN)
    while at >= 0:
        end = content.find(b"\0", at)
        text = content[at : end if end >= 0 else None]
        with suppress(ValueError, LookupError, TypeError, RecursionError):
            if b"MPIR_Alltoall_intra_" in text:
                rules: Tree = json.loads(text)
                rules[COLLECTIVE][INTRA][NOT_IN_PLACE]
                return rules
        at = content.find(BEGIN, at + 1)
    raise DataError(
        f"{library} holds no rules for MPI_Alltoall that a file could replace",
        "name the compiler wrapper of an MPICH 4 or 5 by --mpicxx",
    )


def mpich_rules(table: SelectionTable, library: Path) -> tuple[str, list[str]]:
    """The file, and the rules that it cannot hold, each with the reason. Raises DataError: See :func:`own_rules`."""
    left_out: list[str] = []
    whole = own_rules(library)
    otherwise = whole[COLLECTIVE][INTRA][NOT_IN_PLACE]
    chosen: Tree = {}
    for ranks in areas(table, "alltoall"):
        tree = _of_sizes(ranks, otherwise, left_out)
        if ranks.low <= LARGEST:
            chosen[_until("comm_size", ranks.high)] = tree
    whole[COLLECTIVE][INTRA][NOT_IN_PLACE] = chosen
    for ranks in areas(table, "alltoallv"):
        others, where = (each for each in ranks.of if each.of != PMPI), f"alltoallv on {ranks.words} ranks"
        left_out += [f"{where}, {each.words} bytes: MPICH's file has no {each.of}" for each in others]
    return json.dumps(whole, indent=1) + "\n", left_out


def _of_sizes(ranks: Ranks, otherwise: Tree, left_out: list[str]) -> Tree:
    """What a number of ranks does at each size; the library's own rules where the table has no other."""
    found: Tree = {}
    for sizes in ranks.of:
        if not (function := MPICH_NAMES.get(sizes.of)) and sizes.of != PMPI:
            left_out.append(f"alltoall on {ranks.words} ranks, {sizes.words} bytes: MPICH has no {sizes.of}")
        if sizes.low <= LARGEST:
            found[_until("avg_msg_size", sizes.high)] = {f"algorithm={function}": {}} if function else otherwise
    return found if any(sizes.of in MPICH_NAMES for sizes in ranks.of) else otherwise


def _until(name: str, high: int) -> str:
    return f"{name}<={high}" if high <= LARGEST else f"{name}=any"


def export_rules(table: Path, to: To, output: Path, mpicxx: str | None = None) -> str:
    """Write a table's rules for an MPI library; returns what to do with the file. WeftError if impossible."""
    selection = read_selection(table)
    if to == "openmpi":
        text, left_out = open_mpi_rules(selection)
    else:
        text, left_out = mpich_rules(selection, library_of(find_mpi(mpicxx)))
    with file_errors(output):
        write_atomic(output, text.encode())
    lines = [
        f"{output}; in the job script:",
        *(line.format(path=output.resolve()) for line in SETTINGS[to]),
        "Not in the file, so the library's own choice runs there:" if left_out else "All rules of the table are in it.",
        *(f"  {line}" for line in left_out),
        "The library's version of an algorithm is not the one that was measured: hold the job against one without it.",
    ]
    return "\n".join(lines) + "\n"
