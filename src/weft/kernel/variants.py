# SPDX-License-Identifier: BSD-3-Clause
"""One cell for each algorithm that the library can be told: ``algorithms = "each"``."""

from collections.abc import Iterable, Sequence
from typing import Any

from weft.algorithms import DEFAULT, algorithms, setting
from weft.kernel import Shape
from weft.kernel.collective_study import CollectiveStudy
from weft.study import Study

Values = tuple[Shape, dict[str, Any]]


def variants(study: Study, values: Sequence[Values], library: str, notes: list[str]) -> list[Values]:
    """The values of a sweep, once for the library's own choice and once for each of its algorithms where asked for.

    Parameters
    ----------
    study
        What is measured.
    values
        Shape and values of each cell.
    library
        The MPI library in its own words; empty where it is not known yet.
    notes
        Takes what a reader of the plan should know.

    Returns
    -------
    list
        Each value with ``algorithm`` (a name) and ``setting`` (variables of the ranks' environment, none for the
        default), where the study asks for each algorithm; otherwise the values as they were.
    """
    if not isinstance(study, CollectiveStudy) or study.collective.algorithms != "each":
        return list(values)
    found = [each for shape, cell in values for each in each_algorithm(shape, cell, library)]
    if len(found) == len(values):
        told = library.split(",")[0]
        why = f"{told} cannot be told them" if library else "they are known once the library is: weft run"
        note = f'algorithms = "each": only the library\'s own choice is planned, {why}'
        if note not in notes:
            notes.append(note)
    return found


def each_algorithm(shape: Shape, cell: dict[str, Any], library: str) -> Iterable[Values]:
    """A cell under the library's own choice, then under each of its algorithms."""
    yield shape, cell | {"algorithm": DEFAULT, "setting": {}}
    collective, ranks = str(cell["collective"]), int(cell.get("ranks", shape.ranks))
    for algorithm in algorithms(library, collective, ranks):
        yield shape, cell | {"algorithm": algorithm.name, "setting": setting(library, collective, algorithm)}
