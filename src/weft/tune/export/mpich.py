# SPDX-License-Identifier: BSD-3-Clause
"""Rules for MPICH: the JSON file of ``MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE``, which MPICH 4 and 5 read.

The file stands for all rules that are compiled into the library, those of other collectives too, and a call without a
rule ends the job. So Weft takes the library's own rules, which lie in the library as a text, and changes those of
MPI_Alltoall alone. In MPICH's file the first condition that holds is followed. MPI_Alltoallv has no size there.
"""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from weft.errors import DataError, LaunchError
from weft.files.atomic import file_errors
from weft.mpi.alltoall import PMPI
from weft.mpi.library import Mpi
from weft.mpi.selection import SelectionTable
from weft.tune.export.areas import Ranks, Sizes, areas

#: Spec of Weft's -> MPICH's function.
SAME: Mapping[str, str] = {
    "flat.pairwise": "MPIR_Alltoall_intra_pairwise",
    "bruck": "MPIR_Alltoall_intra_brucks",
    "bruck{r=2}": "MPIR_Alltoall_intra_brucks",
}
WINDOW = "flat.window{w=32}"  # "scattered" has 32 requests at a time, MPIR_CVAR_ALLTOALL_THROTTLE
SCATTERED = "MPIR_Alltoall_intra_scattered"
BEGIN = b'{"collective='
COLLECTIVE, INTRA, NOT_IN_PLACE = "collective=alltoall", "comm_type=intra", "is_sendbuf_inplace=no"
LARGEST = 2**31 - 1
ELF = b"\x7fELF"

Tree: TypeAlias = "dict[str, Tree]"


def settings(path: str) -> list[str]:
    """Lines of a job script that make MPICH read a file, and call its own algorithms, not its device's."""
    return [
        f"export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={path}",
        "export MPIR_CVAR_DEVICE_COLLECTIVES=percoll",
        "export MPIR_CVAR_ALLTOALL_DEVICE_COLLECTIVE=0",
    ]


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
        if b"MPIR_Alltoall_intra_" in text:
            try:
                rules: Tree = json.loads(text)
                rules[COLLECTIVE][INTRA][NOT_IN_PLACE]
            except (ValueError, LookupError, TypeError, RecursionError):
                pass
            else:
                return rules
        at = content.find(BEGIN, at + 1)
    raise DataError(
        f"{library} holds no rules for MPI_Alltoall that a file could replace",
        "name the compiler wrapper of an MPICH 4 or 5 by --mpicxx",
    )


def rule_file(table: SelectionTable, library: Path) -> tuple[str, list[str]]:
    """The file, and the rules that it cannot hold, each with the reason. Raises DataError: See :func:`own_rules`."""
    left_out: list[str] = []
    whole = own_rules(library)
    otherwise = whole[COLLECTIVE][INTRA][NOT_IN_PLACE]
    chosen: Tree = {}
    for ranks in areas(table, "alltoall"):
        sizes = _of_sizes(ranks, otherwise, left_out)
        if ranks.low <= LARGEST:
            chosen[_until("comm_size", ranks.high)] = sizes
    whole[COLLECTIVE][INTRA][NOT_IN_PLACE] = chosen
    for ranks in areas(table, "alltoallv"):
        left_out += [
            f"alltoallv on {ranks.words} ranks, {sizes.words} bytes: MPICH's file has no {sizes.algorithm}"
            for sizes in ranks.sizes
            if sizes.algorithm != PMPI
        ]
    return json.dumps(whole, indent=1) + "\n", left_out


def _of_sizes(ranks: Ranks, otherwise: Tree, left_out: list[str]) -> Tree:
    """What a number of ranks does at each size; the library's own rules where the table has no other."""
    found: list[tuple[Sizes, str]] = []
    for sizes in ranks.sizes:
        function = SCATTERED if sizes.algorithm == WINDOW else SAME.get(sizes.algorithm, "")
        if not function and sizes.algorithm != PMPI:
            where = f"{ranks.words} ranks, {sizes.words} bytes"
            left_out.append(f"alltoall on {where}: MPICH has no {sizes.algorithm}")
        found.append((sizes, function))
    if not any(function for _, function in found):
        return otherwise
    return {
        _until("avg_msg_size", sizes.high): {f"algorithm={function}": {}} if function else otherwise
        for sizes, function in found
        if sizes.low <= LARGEST
    }


def _until(name: str, high: int) -> str:
    return f"{name}<={high}" if high <= LARGEST else f"{name}=any"
