# SPDX-License-Identifier: BSD-3-Clause
"""The card of a run, comparison or trace: the same rows in the same order on terminal, page and JSON."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, claims_of, extras
from weft.format import times_text
from weft.words.checks import within_text
from weft.words.doubts import NEXT, grade_text
from weft.words.row import Row
from weft.words.say import say

#: Rows of one kind on the card; ``--all`` and the page have the others.
ANSWERS, PARTS = 3, 4
#: Claims of the breakdown that stand on the card.
SHOWN = frozenset({
    "depends", "bottleneck", "step", "latency", "threshold", "rate", "pace", "assumed", "ratio", "share",
    "alternative", "overlap", "start", "counted", "shared", "audit",
})  # fmt: skip


class Card(NamedTuple):
    """What stands first: which run it is and of what machine, the answer, then its evidence."""

    title: str
    facts: tuple[str, ...]
    rows: tuple[Row, ...]


def headline(claims: Sequence[ClaimRow]) -> str:
    """The first row of a card on one line: ``Network-bound: weak scaling, 1 -> 4 nodes: 248x slower``."""
    rows = card_rows(claims)
    return f"{rows[0].label}: {rows[0].text}" if rows else "No answer"


def card_rows(claims: Sequence[ClaimRow]) -> tuple[Row, ...]:
    """The rows of a card: answers, bottleneck, steps, a remedy, confidence; or why there is no answer."""
    answers, doubts = claims_of(claims, "answer"), claims_of(claims, "doubt")
    if not answers:
        return ()
    parts = [each for each in claims_of(claims, "breakdown") if each["id"].partition(".")[0] in SHOWN]
    if answers[0]["id"].endswith(f".{INCONCLUSIVE}"):
        assumed = [each for each in parts if each["id"].startswith(("assumed.", "audit."))]
        return (*map(say, [*answers[:ANSWERS], *assumed[:PARTS]]), *_why(answers[0], doubts))
    shown = [*answers[:ANSWERS], *parts[:PARTS], *claims_of(claims, "remedy")[:1]]
    return (*map(say, shown), _confidence(answers[0], doubts))


def _confidence(answer: ClaimRow, doubts: Sequence[ClaimRow]) -> Row:
    grade, reason = grade_text(doubts)
    within = within_text(answer)
    known = doubts or (grade == "A" and not within)
    text = "; ".join(filter(None, (within, reason if known else "", _allowing(answer))))
    return Row("confidence", "Confidence", answer["confidence"], text)


def _allowing(answer: ClaimRow) -> str:
    """What is left of a factor if all disturbances lengthened its times as far as they could; empty without any."""
    more = extras(answer)
    if answer["unit"] != "factor" or more.get("least") is None:
        return ""
    most = more.get("most")
    left = times_text(None, more["least"], most) if most is not None else f"at least {times_text(more['least'])}"
    return f"allowing for the disturbances: {left}"


def _why(answer: ClaimRow, doubts: Sequence[ClaimRow]) -> list[Row]:
    """Why an answer is inconclusive, and the command that would settle it; its confidence if its own note says why."""
    if answer["next"] or not doubts:
        sure = _confidence(answer, doubts)
        if grade_text(doubts)[0] < answer["confidence"]:
            sure = sure._replace(note=say(answer).note or sure.note)
        return [*_next(answer["next"]), sure]
    why = say(doubts[0])
    found = Row(why.id, "Why", why.value, _allowing(answer) or why.note)
    return [found, *_next(why.next or NEXT.get(doubts[0]["subject"], ""))]


def _next(command: str) -> list[Row]:
    return [Row("next", "Next", command)] if command else []
