# SPDX-License-Identifier: BSD-3-Clause
"""What stands before the runs on a page: the answer that they give together."""

from dataclasses import dataclass

from weft.analyse.tables.quality import Grade
from weft.report.figures.picture import Picture
from weft.report.figures.theme import Figure
from weft.report.tabular import Table
from weft.words.card import Card


@dataclass(frozen=True)
class Front:
    """The answer that several runs give together.

    Attributes
    ----------
    card, grade
        What stands first, and its confidence.
    proof
        The picture beside it; None for none.
    table
        One row for each of them, perhaps more.
    notes
        What else is to be known.
    question
        What the page answers.
    """

    card: Card
    grade: Grade
    proof: Picture | Figure | None
    table: Table
    notes: tuple[str, ...] = ()
    question: str = "What would help?"
