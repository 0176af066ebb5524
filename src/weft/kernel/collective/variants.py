# SPDX-License-Identifier: BSD-3-Clause
"""One cell for each algorithm: those that the library can be set to use (``algorithms = "each"``), or listed ones."""

from collections.abc import Callable, Iterable
from typing import Any

from weft.kernel import Shape, Sweep
from weft.kernel.collective.study import CollectiveSection
from weft.mpi.algorithms import DEFAULT, algorithms, setting
from weft.mpi.alltoall import AUTO

ALL_TO_ALLS = ("alltoall", "alltoallv")
Values = tuple[Shape, dict[str, Any]]


def variants(section: CollectiveSection, sweep: Sweep, find_library: Callable[[], str]) -> Sweep:
    """The cells of a sweep for each listed algorithm and, if the study asks for them, for each of the library's.

    Parameters
    ----------
    sweep
        Shape and values of each cell.
    """
    found: list[Values] = []
    told, library = False, find_library() if section.algorithms == "each" else ""
    for shape, cell in sweep.values:
        found += each_listed(section, shape, cell)
        if section.algorithms == "each":
            more = list(each_of_library(shape, cell, library))
            found += more
            told = told or bool(more)
    if told or section.algorithms != "each":
        return Sweep(tuple(found), sweep.notes)
    name = library.split(",")[0]
    why = f"{name} has no option for others" if library else "weft run adds those of the library that it finds"
    return Sweep(tuple(found), (*sweep.notes, f'algorithms = "each": only the library\'s own choice is planned; {why}'))


def each_listed(section: CollectiveSection, shape: Shape, cell: dict[str, Any]) -> Iterable[Values]:
    """A cell for each algorithm that the study lists; other calls than all-to-alls have the library's own alone."""
    several = section.algorithms == "each" or section.algorithm != (DEFAULT,)
    listed = section.algorithm if cell["collective"] in ALL_TO_ALLS else (DEFAULT,)
    for algorithm in listed:
        named: dict[str, Any] = {"algorithm": algorithm, "setting": {}} if several else {}
        named |= {"table": section.table} if algorithm == AUTO else {}
        yield shape, cell | named


def each_of_library(shape: Shape, cell: dict[str, Any], library: str) -> Iterable[Values]:
    """A cell with each algorithm of the library."""
    collective, ranks = str(cell["collective"]), int(cell.get("ranks", shape.ranks))
    for algorithm in algorithms(library, collective, ranks):
        yield shape, cell | {"algorithm": algorithm.name, "setting": setting(library, collective, algorithm)}
