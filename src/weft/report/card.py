# SPDX-License-Identifier: BSD-3-Clause
"""The verdict card of a run: the answer at a glance, three numbers, and at most two sentences."""

from dataclasses import dataclass

from weft.analyse.tables.quality import MEANING
from weft.report.headline import Number, doubted
from weft.report.view import RunView

SENTENCES = 2


@dataclass(frozen=True)
class Card:
    """What stands first on terminal and page.

    Attributes
    ----------
    line
        The answer in a few words.
    numbers
        Large values with what they are; the last one is the quality.
    sentences
        What was found and what causes it, or why that is not shown.
    caution
        What it hangs on, where that is a guess.
    """

    line: str
    numbers: tuple[Number, ...]
    sentences: tuple[str, ...]
    caution: str


def card_of(view: RunView) -> Card:
    """The card of a run; at quality C and D it says why nothing is shown, at D without the number that explains."""
    story, doubt = view.story, doubted(view.quality)
    numbers = (*story.numbers(view)[: 1 if view.grade == "D" else 2], (view.grade, f"quality: {MEANING[view.grade]}"))
    finding = story.finding(view)
    if doubt:
        held = (f"If the numbers hold: {finding}",) if finding else ()
        return Card(f"Not shown: quality {view.grade}", numbers, (doubt, *held), story.caution(view))
    line = story.line(view)
    told = [text for text in (finding, story.cause(view), story.advice(view)) if text and text != f"{line}."]
    return Card(line, numbers, tuple(told[:SENTENCES]), story.caution(view))
