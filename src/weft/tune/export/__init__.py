# SPDX-License-Identifier: BSD-3-Clause
"""A selection table as a rule file of an MPI library, for those who do not preload ``libweft.so``."""

from pathlib import Path
from typing import Literal

from weft.files.atomic import file_errors, write_atomic
from weft.mpi.library import find_mpi
from weft.mpi.selection import read_selection
from weft.tune.export import mpich, open_mpi

To = Literal["openmpi", "mpich"]


def export(table: Path, to: To, output: Path, mpicxx: str | None = None) -> str:
    """Write a table's rules for an MPI library; returns what to do with the file. WeftError if impossible."""
    selection, reader = read_selection(table), open_mpi if to == "openmpi" else mpich
    if to == "openmpi":
        text, left_out = open_mpi.rule_file(selection)
    else:
        text, left_out = mpich.rule_file(selection, mpich.library_of(find_mpi(mpicxx)))
    with file_errors(output):
        write_atomic(output, text.encode())
    lines = [f"{output}; in the job script:", *reader.settings(str(output.resolve()))]
    lines += [
        "Not in the file, so the library's own choice runs there:" if left_out else "All rules of the table are in it.",
        *(f"  {line}" for line in left_out),
        "The library's version of an algorithm is not the one that was measured: hold the job against one without it.",
    ]
    return "\n".join(lines) + "\n"
