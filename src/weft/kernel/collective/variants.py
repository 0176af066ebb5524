# SPDX-License-Identifier: BSD-3-Clause
"""One cell for each algorithm that the library can be made to use: ``algorithms = "each"``."""

from collections.abc import Iterable
from typing import Any

from weft.kernel import Shape, Sweep
from weft.kernel.collective.study import CollectiveSection
from weft.mpi.algorithms import DEFAULT, algorithms, setting

Values = tuple[Shape, dict[str, Any]]


def variants(section: CollectiveSection, sweep: Sweep, library: str) -> Sweep:
    """The cells of a sweep, once for the library's own choice and once for each of its algorithms where asked for.

    Parameters
    ----------
    section
        Of the study.
    sweep
        Shape and values of each cell.
    library
        The MPI library in its own words; empty where it is not known yet.

    Returns
    -------
    Sweep
        Each value with ``algorithm`` (a name) and ``setting`` (variables of the ranks' environment, none for the
        default), where the study asks for each algorithm; otherwise the sweep as it was.
    """
    if section.algorithms != "each":
        return sweep
    found = tuple(each for shape, cell in sweep.values for each in each_algorithm(shape, cell, library))
    if len(found) > len(sweep.values):
        return Sweep(found, sweep.notes)
    name = library.split(",")[0]
    why = f"{name} cannot be told them" if library else "they are known once the library is: weft run"
    return Sweep(found, (*sweep.notes, f'algorithms = "each": only the library\'s own choice is planned, {why}'))


def each_algorithm(shape: Shape, cell: dict[str, Any], library: str) -> Iterable[Values]:
    """A cell under the library's own choice, then under each of its algorithms."""
    yield shape, cell | {"algorithm": DEFAULT, "setting": {}}
    collective, ranks = str(cell["collective"]), int(cell.get("ranks", shape.ranks))
    for algorithm in algorithms(library, collective, ranks):
        yield shape, cell | {"algorithm": algorithm.name, "setting": setting(library, collective, algorithm)}
