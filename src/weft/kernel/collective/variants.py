# SPDX-License-Identifier: BSD-3-Clause
"""One cell for each algorithm that the library can be set to use: ``algorithms = "each"``."""

from collections.abc import Iterable
from typing import Any

from weft.kernel import Shape, Sweep
from weft.kernel.collective.study import CollectiveSection
from weft.mpi.algorithms import DEFAULT, algorithms, setting

Values = tuple[Shape, dict[str, Any]]


def variants(section: CollectiveSection, sweep: Sweep, library: str) -> Sweep:
    """The cells of a sweep for the library's own choice and, if the study asks for them, for each of its algorithms.

    Parameters
    ----------
    section
        The section of the study.
    sweep
        Shape and values of each cell.
    library
        The MPI library's version string; empty if not yet known.

    Returns
    -------
    Sweep
        With ``algorithm`` (a name) and ``setting`` (environment variables of the ranks, none for the default) in each
        cell's values, if the study asks for each algorithm; otherwise unchanged.
    """
    if section.algorithms != "each":
        return sweep
    found = tuple(each for shape, cell in sweep.values for each in each_algorithm(shape, cell, library))
    if len(found) > len(sweep.values):
        return Sweep(found, sweep.notes)
    name = library.split(",")[0]
    why = f"{name} has no option for others" if library else "weft run adds those of the library that it finds"
    return Sweep(found, (*sweep.notes, f'algorithms = "each": only the library\'s own choice is planned; {why}'))


def each_algorithm(shape: Shape, cell: dict[str, Any], library: str) -> Iterable[Values]:
    """A cell with the library's own choice, then one with each of its algorithms."""
    yield shape, cell | {"algorithm": DEFAULT, "setting": {}}
    collective, ranks = str(cell["collective"]), int(cell.get("ranks", shape.ranks))
    for algorithm in algorithms(library, collective, ranks):
        yield shape, cell | {"algorithm": algorithm.name, "setting": setting(library, collective, algorithm)}
