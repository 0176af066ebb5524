# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons of runs, as tables, sentences, JSON, figures and a page; here runs are loaded and named."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any

from weft.analyse.compare.claims import claim_comparison, name_doubts
from weft.analyse.compare.comparison import PHASES, Comparison, compare
from weft.analyse.compare.sides import Side, side_of
from weft.analyse.tables.claims import ClaimRow, Grade
from weft.analyse.tables.manifest import made_by
from weft.errors import CompareError, DataError
from weft.report.view import RunView, load_view
from weft.words.card import Card


@dataclass(frozen=True)
class Compare:
    """Runs and their comparisons: the first run is the base of all."""

    views: tuple[RunView, ...]
    sides: tuple[Side, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def runs(self) -> list[tuple[Side, RunView]]:
        """Each run as it is compared, and as the report shows it."""
        return list(zip(self.sides, self.views, strict=True))

    @cached_property
    def claims(self) -> list[list[ClaimRow]]:
        """What each comparison may claim."""
        base, *others = self.runs
        found: list[list[ClaimRow]] = []
        for comparison, run in zip(self.comparisons, others, strict=True):
            named = (name_doubts(view.claimed("doubt"), side.name, side.path) for side, view in (base, run))
            found.append(claim_comparison(comparison, [*chain(*named)], [*base[1].quality, *run[1].quality]))
        return found

    @cached_property
    def cards(self) -> list[Card]:
        """A card for each comparison."""
        return [
            Card.of(f"{each.other.name} against {each.base.name}", (self.label,), claims)
            for each, claims in zip(self.comparisons, self.claims, strict=True)
        ]

    @property
    def title(self) -> str:
        """The compared runs: ``B, C against A``."""
        return self.titled(f"{', '.join(side.name for side in self.sides[1:])} against {self.sides[0].name}")

    @property
    def label(self) -> str:
        """``simulated``, ``virtual network``, or both, if a run is one; empty for real networks."""
        return ", ".join(dict.fromkeys(view.label for view in self.views if view.label))

    @property
    def grade(self) -> Grade:
        """The worst of the runs' qualities."""
        return max(view.grade for view in self.views)

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
    """Load runs, compare each with the first; CompareError for fewer than two, one given twice, none in common."""
    if len(folders) < 2:
        few = f"{len(folders) or 'no'} run was given; a comparison needs two"
        raise CompareError(few, "weft compare BASE OTHER...")
    views = tuple(map(view_of, folders))
    paths = [view.path.resolve() for view in views]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise CompareError(f"{twice} was given twice: a run always equals itself", "measure it again with --into DIR")
    if len({made_by(view.path) for view in views}) > 1:
        again = ["weft", "compare", *(str(view.path) for view in views)]
        different = "the tables of these runs were made by different analyses"
        raise CompareError(different, f"make them anew: {shlex.join(again)}")
    sides = sides_of(views, names_of(views))
    found = tuple(compare(sides[0], other, margin=margin, phases=phases, sizes=sizes) for other in sides[1:])
    return Compare(views, sides, found)


def sides_of(views: Sequence[RunView], names: Sequence[str]) -> tuple[Side, ...]:
    """What is compared of each run."""
    return tuple(side_of(view.path, view.plan, name, view.mpi) for view, name in zip(views, names, strict=True))


def view_of(folder: Any) -> RunView:
    """Load one of the runs of a comparison. Raises CompareError: it cannot be read."""
    try:
        return load_view(folder)
    except DataError as problem:  # a gate must not take a mistyped path for a slow network: exit code 2, not 1
        raise CompareError(problem.what, problem.remedy) from None


def names_of(views: Sequence[RunView]) -> list[str]:
    """The shortest names that distinguish runs: by fabric, by MPI library, by both, by study, or by folder."""
    facts = [(view.plan.fabric, view.mpi, view.path.name, view.plan.study) for view in views]
    for chosen in chain.from_iterable(combinations(range(4), count) for count in (1, 2, 3)):
        names = [", ".join(own[place] for place in chosen) for own in facts]
        if len(set(names)) == len(names):
            return names
    return [str(view.path) for view in views]
