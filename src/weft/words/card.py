# SPDX-License-Identifier: BSD-3-Clause
"""A claim in words, by its kind and the first part of its id; the card: the same rows on every medium; doubts."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, Grade, claims_of, extras
from weft.format import percent, plural, times_text
from weft.words import Row, answers, breakdown, checks
from weft.words.checks import within_text

TEXTS = {
    "wrong": "statistics contradict each other in {who}",
    "failed": "{who} failed",
    "bound": "samples are below their lower bound in {who}",
    "launches": "launch medians vary by more than 25 % in {who}, at most {worst}",
    "floor": "times are below the noise floor in {who}",
    "steal": "CPU steal in {who}",
    "swap": "memory was swapped to disk in {who}",
    "core": "two ranks share a core in {who}",
    "host": "several nodes are one host in {who}",
    "load": "other work on {who} at the start",
    "lost": "time lost to other work may have lengthened medians in {who}",
    "oversubscribed": "more ranks than cores in {who}",
    "precision": "intervals are wider than asked for in {who}",
    "kernel": "the kernel warned in {who}",
    "model": "no number of this machine was fitted to measurements: each time is a range",
    "fitted": "simulated with fitted numbers; {error}",
    "latency": "a message between nodes takes {worst} its network's latency",
    "trace": "{who}",
    "trace-oversubscribed": "more ranks than cores: {who}",
    "trace-core": "bound to the same cores: {who}",
    "trace-lost": "ranks waited for a core for {who} of their time",
    "trace-load": "other processes used {who} of the ranks' cores",
    "trace-steal": "CPU steal took {who} of the hosts' cores",
    "trace-tracer": "the tracer took {who} of the time",
    "trace-partial": "{who} of the ranks have a partial trace",
    "trace-unmeasured": "lost time was not recorded for {who} of the ranks",
}
NEXT = {
    "wrong": "Report it with the run folder.",
    "bound": "Check the rates in the fabric file.",
    "floor": "Use larger blocks.",
    "swap": "Use smaller blocks, or stop other work.",
    "core": "Pin one rank per core.",
    "host": "Check the placement of ranks.",
    "oversubscribed": "Set ranks_per_node to leave such rows out.",
    "kernel": "See the findings.",
    "trace": "Trace again without what disturbed the trace.",
    "latency": "Check network.latency and overheads in the fabric file.",
    "model": "Fit the machine to a run: weft fabric fit.",
    "trace-oversubscribed": "Start fewer ranks per node.",
    "trace-core": "Bind each rank to its own core: --bind-to core",
    "trace-lost": "Stop other work on these nodes, and trace again.",
    "trace-load": "Stop other work on these nodes, and trace again.",
    "trace-steal": "Trace on dedicated nodes.",
    "trace-tracer": "Compare with a run without weft trace.",
    "trace-partial": "Trace a run that ends with MPI_Finalize.",
    "trace-unmeasured": "Trace with weft trace.",
}
#: First part of an id to the function that says such claims, from the rest of it and their extras.
FAMILIES = {
    "check": checks.say, "audit": checks.say_audit, "start": checks.say_start, "counted": checks.say_counted,
    "contention": answers.say_scaling, "scaling": answers.say_scaling, "plain": answers.say_plain,
    "bottleneck": breakdown.say_bottleneck, "step": breakdown.say_step, "breakdown": breakdown.say_part,
    "latency": checks.say_latency, "outlier": checks.say_pair_outlier, "pairs": checks.say_pairs,
    "remedy": breakdown.say_remedy, "finding": breakdown.say_finding, "collective": answers.say_collective,
    "auto": answers.say_auto, "overlap": answers.say_overlap, "bandwidth": answers.say_rate, "rate": answers.say_rate,
    "threshold": answers.say_threshold, "probe": answers.say_probe, "pace": answers.say_pace,
    "replay": answers.say_replay, "depends": answers.say_dependence, "whatif": answers.say_whatif,
    "alternative": answers.say_whatif, "interference": answers.say_interference, "shared": answers.say_shared,
    "trace": answers.say_trace, "share": answers.say_trace, "failure": answers.say_failure,
}  # fmt: skip
#: Why a claim has no value, by the reason that it states or its family.
UNTIMED = {
    "nothing-replayed": "the trace has no call that is replayed",
    "not-simulated": "the unchanged machine, or every alternative, has no simulated time",
    "replay": "no replay has a time", "trace": "no MPI call was recorded",
}  # fmt: skip
ANSWERS, PARTS = 3, 4  # rows of one kind on the card; ``--all`` and the page have the others
#: Claims of the breakdown that stand on the card.
SHOWN = frozenset({
    "depends", "bottleneck", "step", "latency", "threshold", "rate", "pace", "assumed", "ratio", "share",
    "alternative", "overlap", "start", "counted", "shared", "audit",
})  # fmt: skip


def say(claim: ClaimRow) -> Row:
    """Label, value and note of a claim."""
    family, _, name = claim["id"].partition(".")
    if claim["kind"] == "doubt":
        return _say_doubt(claim)
    more = extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", UNTIMED.get(more.get("reason", family), "no time was measured"))
    if family in FAMILIES:
        return Row(claim["id"], *FAMILIES[family](claim, name, more))
    from weft.words.comparisons import SAID  # imports what compares runs, which a single run does not need

    return Row(claim["id"], *SAID[family](claim, name, more))


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


def _say_doubt(claim: ClaimRow) -> Row:
    """``launch medians vary by more than 25 % in 10 of 15 rows``."""
    more, share = extras(claim), percent(claim["value"] or 0)
    if claim["subject"] == "load":
        who = f"{share} of the cores"
    elif claim["subject"].startswith("trace"):
        who = more.get("noun") or share
    elif claim["subject"] == "failed":
        who = f"{more['count']:,} of {plural(more['of'], 'cell')}"
    else:
        who = f"{more['count']:,} of {more['of']:,} {more.get('noun', '')}".rstrip()
    worst = more.get("worst")
    error = f"error on cells left out {percent(worst)}" if worst else "error on other cells unknown"
    text = TEXTS[claim["subject"]].format(who=who, worst=times_text(worst) if worst else "–", error=error)
    text = f"{more['run']}: {text}" if more.get("run") else text
    note = f"could turn the answer: {more['turns']}" if more.get("turns") else ""
    return Row(claim["id"], claim["confidence"], text, note, claim["next"])


def grade_text(claims: Sequence[ClaimRow]) -> tuple[str, str]:
    """The worst grade of some doubts, and its reason with the number of others."""
    if not claims:
        return "A", "no disturbance was recorded"
    more = f" (and {plural(len(claims) - 1, 'other doubt')})" if len(claims) > 1 else ""
    return claims[0]["confidence"], f"{_say_doubt(claims[0]).value}{more}"
