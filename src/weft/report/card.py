# SPDX-License-Identifier: BSD-3-Clause
"""The verdict card of a run: the answer at a glance, three numbers, what was found, and why with what to try."""

from dataclasses import dataclass

from weft.analyse.tables.quality import MEANING
from weft.report.headline import Number, doubted, reasons_of, supposed
from weft.report.view import RunView


@dataclass(frozen=True)
class Card:
    """What stands first on terminal and page.

    Attributes
    ----------
    line
        The answer in a few words.
    numbers
        Large values with what they are; the last one is the quality, at quality C and D the only one.
    sentences
        Two at most: what was found, then its cause with what to try; or why nothing is shown, then what was found.
    caution
        What it hangs on, where that is a guess.
    """

    line: str
    numbers: tuple[Number, ...]
    sentences: tuple[str, ...]
    caution: str


def card_of(view: RunView) -> Card:
    """The card of a run; at quality C and D it says why nothing is shown, with the grade as its only large number."""
    story, doubt = view.story, doubted(view.quality)
    answers = story.answers(view)
    own = [] if doubt else story.numbers(view)[:2]  # a large number is read without its "if"
    rated = answers or any(row["samples"] for row in view.rows)  # nothing measured has no quality
    numbers = (*own, (view.grade, f"quality: {MEANING[view.grade]}")) if rated else ()
    finding = story.finding(view)
    line = story.line(view)
    if doubt:
        held = supposed(finding) if answers else finding
        shown = f"Not shown: quality {view.grade}" if answers else line
        why = f"Reason: {reasons_of(view.quality)}." if answers else doubt  # "Not shown" is said once
        told = [f"{why} To try: {view.quality[0]['remedy']}.", *([held] if held else [])]
        return Card(shown, numbers, tuple(told), story.caution(view) if answers else "")
    reason = f"{story.cause(view)} {story.advice(view)}".strip()
    told = [text for text in (finding, reason) if text and text != f"{line}."]
    return Card(line, numbers, tuple(told), story.caution(view))
