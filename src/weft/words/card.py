# SPDX-License-Identifier: BSD-3-Clause
"""A claim in words, by its kind and the first part of its id; the card: the same rows on terminal, page and JSON."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, Grade, claims_of, extras
from weft.format import times_text
from weft.words import Row, answers, breakdown, checks, doubts, sweeps
from weft.words.checks import within_text
from weft.words.doubts import NEXT, grade_text

#: First part of an id to the function that says such claims, from the rest of it and their extras.
FAMILIES = {
    "check": checks.say, "audit": checks.say_audit, "start": checks.say_start, "counted": checks.say_counted,
    "contention": answers.say_scaling, "scaling": answers.say_scaling, "plain": answers.say_plain,
    "bottleneck": breakdown.say_bottleneck,
    "step": breakdown.say_step, "breakdown": breakdown.say_part, "latency": checks.say_latency,
    "outlier": checks.say_pair_outlier, "pairs": checks.say_pairs,
    "remedy": breakdown.say_remedy, "finding": doubts.say_finding,
    "collective": sweeps.say_collective, "auto": sweeps.say_auto, "overlap": sweeps.say_overlap,
    "bandwidth": sweeps.say_rate, "rate": sweeps.say_rate,
    "threshold": sweeps.say_threshold, "probe": sweeps.say_probe, "pace": sweeps.say_pace, "replay": sweeps.say_replay,
    "depends": answers.say_dependence, "whatif": answers.say_whatif, "alternative": answers.say_alternative,
    "interference": answers.say_interference, "shared": answers.say_shared,
    "trace": answers.say_trace, "share": answers.say_share, "failure": answers.say_failure,
}  # fmt: skip
#: Why a claim has no value, by the reason that it states or its family.
UNTIMED = {
    "nothing-replayed": "the trace has no call that is replayed",
    "not-simulated": "the unchanged machine, or every alternative, has no simulated time",
    "replay": "no replay has a time", "trace": "no MPI call was recorded",
}  # fmt: skip


def say(claim: ClaimRow) -> Row:
    """Label, value and note of a claim."""
    family, _, name = claim["id"].partition(".")
    if claim["kind"] == "doubt":
        return doubts.say(claim)
    more = extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", UNTIMED.get(more.get("reason", family), "no time was measured"))
    if family in FAMILIES:
        return Row(claim["id"], *FAMILIES[family](claim, name, more))
    from weft.words.comparisons import SAID  # imports what compares runs, which a single run does not need

    return Row(claim["id"], *SAID[family](claim, name, more))


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
    grade: Grade = "A"  # the confidence of the answer

    @classmethod
    def of(cls, title: str, facts: tuple[str, ...], claims: Sequence[ClaimRow]) -> "Card":
        """The card of claims, of which there is one at least; empty facts are left out."""
        return cls(title, tuple(filter(None, facts)), card_rows(claims), claims[0]["confidence"])


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
