# SPDX-License-Identifier: BSD-3-Clause
"""Loading runs for a comparison, and naming them by what distinguishes them."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from weft.analyse.compare import PHASES, Comparison, Side, compare, side_of
from weft.analyse.tables.manifest import made_by
from weft.errors import CompareError, DataError
from weft.report.view import RunView, load_view


@dataclass(frozen=True)
class Compare:
    """Runs and their comparisons: the first run is the base of all."""

    views: tuple[RunView, ...]
    sides: tuple[Side, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def label(self) -> str:
        """``simulated``, ``virtual network``, or both, if a run is one; empty for real networks."""
        return ", ".join(dict.fromkeys(view.label for view in self.views if view.label))

    @property
    def simulated(self) -> bool:
        """Whether all runs come from a model."""
        return all(view.label == "simulated" for view in self.views)

    def titled(self, title: str) -> str:
        """A title with a label if a run is not of a real network."""
        return f"{title} ({self.label})" if self.label else title


def load_compare(
    folders: Sequence[Any],
    *,
    margin: float | None = None,
    phases: Sequence[str] = PHASES,
    sizes: tuple[int, int] | None = None,
) -> Compare:
    """Load runs and compare each with the first.

    Parameters
    ----------
    folders
        Run folders, at least two.
    margin, phases, sizes
        See `weft.analyse.compare.compare`.

    Raises
    ------
    CompareError
        Fewer than two runs were given, one was given twice, one cannot be read, or they have nothing in common.
    """
    if len(folders) < 2:
        raise CompareError(
            f"{len(folders) or 'no'} run was given; a comparison needs two", "weft compare BASE OTHER..."
        )
    views = tuple(map(view_of, folders))
    again = ["weft", "compare", *(str(view.path) for view in views)]
    paths = [view.path.resolve() for view in views]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice:
        raise CompareError(f"{twice} was given twice: a run always equals itself", "measure it again with --into DIR")
    if len({made_by(view.path) for view in views}) > 1:
        raise CompareError(
            "the tables of these runs were made by different analyses", f"make them anew: {shlex.join(again)}"
        )
    sides = tuple(
        side_of(view.path, view.plan, name, view.mpi) for view, name in zip(views, names_of(views), strict=True)
    )
    found = tuple(compare(sides[0], other, margin=margin, phases=phases, sizes=sizes) for other in sides[1:])
    return Compare(views, sides, found)


def view_of(folder: Any) -> RunView:
    """Load one of the runs of a comparison.

    Raises
    ------
    CompareError
        It cannot be read.
    """
    try:
        return load_view(folder)
    except DataError as problem:  # a gate must not take a mistyped path for a slow network: exit code 2, not 1
        raise CompareError(problem.what, problem.remedy) from None


def names_of(views: Sequence[RunView]) -> list[str]:
    """The shortest names that distinguish runs: by fabric, by MPI library, by both, by study, or by folder."""
    parts: tuple[Callable[[RunView], str], ...] = (
        lambda view: view.plan.fabric,
        lambda view: view.mpi,
        lambda view: view.path.name,
        lambda view: view.plan.study,
    )
    for count in (1, 2, 3):
        for chosen in combinations(parts, count):
            names = [", ".join(part(view) for part in chosen) for view in views]
            if len(set(names)) == len(names):
                return names
    return [str(view.path) for view in views]
