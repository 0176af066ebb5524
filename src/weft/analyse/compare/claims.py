# SPDX-License-Identifier: BSD-3-Clause
"""What a comparison may claim: its answer, ratios, assumed numbers, doubts; and gates that fail a build."""

import json
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from weft.analyse.claims.make import judge
from weft.analyse.compare.comparison import Compared, Comparison, Evidence, Summary, beyond
from weft.analyse.compare.sides import Key
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, QualityRow, extras, make_claim
from weft.errors import CompareError
from weft.fabric.numbers import SPREADS
from weft.format import format_factor, plural

KINDS = ("slower", "faster", "different")
GRAMMAR = "slower:1.10, faster:1.10, different:1.10 (factors of at least 1), or missing"
State = Literal["passed", "failed", "undecided"]
Each = Compared | Summary
OUTCOMES = {
    "slower": "slower", "faster": "faster", "mixed": "mixed", "no difference shown": "no-difference",
    "ratio only": "predicted", "no verdict": INCONCLUSIVE,
}  # fmt: skip
DIFFERENT = ("slower", "faster")


@dataclass(frozen=True)
class Gate:
    """A shown difference of at least a factor; or ``missing``, a row of the base that the other run did not measure."""

    kind: str  # ``slower``, ``faster``, ``different``, ``missing``
    factor: float = 1.0  # at least 1; nothing for ``missing``

    def __str__(self) -> str:
        return self.kind if self.kind == "missing" else f"{self.kind}:{self.factor:g}"

    def _reached(self, slower: float, faster: float) -> bool:
        return {"slower": slower, "faster": faster, "different": max(slower, faster)}[self.kind] >= self.factor

    def turned_by(self, found: Evidence) -> bool:
        """Whether one end of a simulated ratio's range meets the gate, and the other does not."""
        low, high = found.low or found.ratio, found.high or found.ratio
        return not self._reached(low, 1 / high) and self._reached(high, 1 / low)

    def met_by(self, found: Evidence, margin: float) -> bool:
        """Whether a ratio lies beyond the gate, and its interval beyond the margin (of a narrow gate: beyond it)."""
        return self._reached(found.ratio, 1 / found.ratio) and beyond(found, min(margin, (self.factor - 1) / 2))


class Verdict(NamedTuple):
    """The result of a gate."""

    gate: Gate
    state: State
    offenders: tuple[tuple[Comparison, Compared | Summary], ...] = ()  # rows and summaries beyond it
    missing: int = 0  # how many rows the other runs lack
    why: str = ""  # why the gate could not be decided


def parse_gate(text: str) -> Gate:
    """Parse a gate. Raises CompareError: the condition is unknown, or its factor is below 1."""
    kind, colon, factor = text.strip().partition(":")
    if kind == "missing" and not colon:
        return Gate(kind)
    if kind not in KINDS or not colon:
        raise CompareError(f'--fail-if "{text}" is no condition', f"write {GRAMMAR}")
    try:
        number = float(factor)
    except ValueError:
        number = math.nan
    if not 1 <= number < math.inf:
        raise CompareError(f'--fail-if "{text}": "{factor}" is no factor of at least 1', f"write {GRAMMAR}")
    return Gate(kind, number)


def decide(gate: Gate, comparisons: Sequence[Comparison]) -> Verdict:
    """Check all comparisons against a gate; one that no row could have failed is undecided, not passed. A difference
    counts if it is shown, its ratio is at least the factor, and its interval lies beyond the margin. For two simulated
    runs the ratio alone decides, or both ends of its range where their models leave something out.
    """
    if gate.kind == "missing":
        unmatched = [(each, comparison.other.name) for comparison in comparisons for each in comparison.unmatched]
        missing = sum(each.missing and name in each.run for each, name in unmatched)
        return Verdict(gate, "failed" if missing else "passed", missing=missing)
    offenders: list[tuple[Comparison, Compared | Summary]] = []
    undecided: list[str] = []
    for comparison in comparisons:
        exact = comparison.base.modelled and comparison.other.modelled
        every: list[Compared | Summary] = [*comparison.summaries, *comparison.rows]
        decidable = [each for each in every if exact or each.evidence.outcome not in ("no verdict", "ratio only")]
        turned = [each for each in every if exact and gate.turned_by(each.evidence)]
        shown = [each for each in decidable if (exact or each.evidence.shown) and each not in turned]
        offenders += [(comparison, each) for each in shown if gate.met_by(each.evidence, comparison.margin)]
        if turned:
            undecided.append(_turned(comparison, turned, gate))
        if not decidable:
            undecided.append(f"{comparison.other.name} against {comparison.base.name}: {every[0].evidence.why}")
    if offenders:
        return Verdict(gate, "failed", tuple(offenders))
    return Verdict(gate, "undecided" if undecided else "passed", why="; ".join(undecided))


def _turned(comparison: Comparison, turned: Sequence[Compared | Summary], gate: Gate) -> str:
    ends = [end for each in turned for end in (each.evidence.low, each.evidence.high) if end]
    between = f"{format_factor(min(ends))} and {format_factor(max(ends))}"
    return (
        f"{comparison.other.name} takes between {between} times {comparison.base.name}'s time in "
        f"{plural(len(turned), 'row')} or summaries, because {', '.join(comparison.left_out)} is not modelled, and "
        f"{gate} is in that range"
    )


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """1 if a gate failed, 2 if one could not be decided, else 0."""
    states = {verdict.state for verdict in verdicts}
    return 1 if "failed" in states else 2 if "undecided" in states else 0


def claim_comparison(
    comparison: Comparison, doubts: Iterable[ClaimRow] = (), quality: Sequence[QualityRow] = ()
) -> list[ClaimRow]:
    """The claims of a comparison, through the gate of its runs' quality."""
    first, *others = choose_ratios(comparison)
    # numbers that one of two models assumes and in which they differ: the ratios follow from them
    more: dict[str, Any] = {"digits": certain_digits(first.evidence.low, first.evidence.high), "confidence": "B"}
    units = {spread.key: spread.unit for spread in SPREADS}
    assumed = [
        make_claim("assumed.number", "breakdown", key, base=base, other=other, number_unit=units[key], **more)
        for key, (base, other) in comparison.assumed.items()
    ]
    ratios = [claim_ratio(comparison, each) for each in others]
    worst_first = sorted(doubts, key=lambda each: each["confidence"], reverse=True)
    return judge([_answer(comparison), *assumed, *ratios, *worst_first], quality)


def name_doubts(doubts: Iterable[ClaimRow], name: str, path: str) -> list[ClaimRow]:
    """Doubts about one of several runs, which they name."""
    known = [(each, json.dumps({**extras(each), "run": name})) for each in doubts]
    return [{**each, "more": more, "next": each["next"].replace("{run}", shlex.quote(path))} for each, more in known]


def choose_ratios(comparison: Comparison) -> list[Each]:
    """The ratios that answer, most telling first: calls over all their rows, and at a count if that adds something."""
    every: list[Each] = [*comparison.summaries, *comparison.rows]
    if comparison.outcome == "no verdict":
        return every[:1]
    first = max(every, key=_telling)
    chosen: list[Each] = [first]
    for phase in ("warm", "cold"):
        own = [each for each in comparison.summaries if each.phase == phase]
        alike = [each for each in own if each.ranks is None and each.evidence.outcome not in DIFFERENT]
        shown = {(each.operation, each.evidence.outcome) for each in alike}
        known = [each for each in own if each.ranks is None or (each.operation, each.evidence.outcome) not in shown]
        rows = known or [each for each in comparison.rows if each.key.phase == phase]
        chosen += [each for each in rows if each is not first]
    return chosen


def _telling(each: Each) -> tuple[bool, bool, int, float]:
    """Sorts ratios: shown ones, of warm calls, over many rows, far from 1."""
    warm = (each.phase if isinstance(each, Summary) else each.key.phase) == "warm"
    rows = len(each.keys) if isinstance(each, Summary) else 1
    return each.evidence.outcome in DIFFERENT, warm, rows, abs(math.log(each.evidence.ratio))


def describe_place(each: Each | Key) -> dict[str, Any]:
    """What identifies a row or summary: operation, phase, nodes, ranks, bytes, m; how many rows and which ranks."""
    if isinstance(each, Summary):
        shapes = {(key.nodes, key.ranks) for key in each.keys}
        by_size = len(shapes) == 1 and all(key.size is not None for key in each.keys)
        return {
            "operation": each.operation, "phase": each.phase, "nodes": each.nodes, "ranks": each.ranks,
            "mean": len(each.keys), "noun": "size" if by_size else "row",
            "counts": sorted({key.ranks for key in each.keys}) if each.ranks is None else [],
        }  # fmt: skip
    key = each if isinstance(each, Key) else each.key
    return {"operation": key.operation, "phase": key.phase, "nodes": key.nodes, "ranks": key.ranks, "bytes": key.size,
            "m": key.m}  # fmt: skip


def claim_ratio(comparison: Comparison, each: Each) -> ClaimRow:
    """One ratio as a claim, before the gate."""
    return _ratio(comparison, f"ratio.{OUTCOMES[each.evidence.outcome]}", each, "breakdown")


def _ratio(comparison: Comparison, id: str, each: Each, kind: Any, **more: Any) -> ClaimRow:
    found = each.evidence
    return make_claim(
        id, kind, f"{comparison.other.name} against {comparison.base.name}", found.ratio, "factor",
        (found.low, found.high), coverage=None if comparison.modelled else 0.95, why=found.why,
        base=comparison.base.name, other=comparison.other.name, where=describe_place(each), **more,
    )  # fmt: skip


def _answer(comparison: Comparison) -> ClaimRow:
    rows, outcome = comparison.rows, comparison.outcome
    seen = Counter(each.evidence.outcome for each in rows)
    few = min((comparison.base, comparison.other), key=lambda side: side.launches)
    predicted: dict[str, Any] = {}
    if comparison.modelled:
        ends = [(each.evidence.low, each.evidence.high) for each in rows]
        ratios = [each.evidence.ratio for each in rows]
        turned = sum(low is not None and high is not None and low < 1 < high for low, high in ends)
        left_out = ", ".join(comparison.left_out)
        predicted = {"smallest": min(ratios), "largest": max(ratios), "turned": turned, "left_out": left_out}
    return _ratio(
        comparison, f"compare.{OUTCOMES[outcome]}", choose_ratios(comparison)[0], "answer", rows=len(rows),
        slower=seen["slower"], faster=seen["faster"], same=seen["no difference shown"], few=seen["no verdict"],
        unmatched=len(comparison.unmatched), next=more_launches(few.path) if outcome == "no verdict" else "",
        **predicted,
    )  # fmt: skip


def more_launches(path: str) -> str:
    """The command that adds launches to a run until there are ten."""
    run = Path(path)
    words = [run / "study.toml", "--on", run / "fabric.toml", "--into", run, "--launches", 10]
    return f"weft run {shlex.join(map(str, words))}"


def certain_digits(low: float | None, high: float | None) -> int | None:
    """How many leading digits of a ratio both ends of its range have, at most 3; None without a range."""
    if low is None or high is None:
        return None
    return max((digits for digits in (1, 2, 3) if f"{low:.{digits}g}" == f"{high:.{digits}g}"), default=0)


def claim_gate(verdict: Verdict) -> ClaimRow:
    """A gate's result: ``gate.failed`` with the ratio furthest beyond it, ``gate.passed``, ``gate.undecided``."""
    worst = max(verdict.offenders, key=lambda pair: abs(math.log(pair[1].evidence.ratio)), default=None)
    id, count = f"gate.{verdict.state}", len(verdict.offenders)
    if worst is None:
        return make_claim(id, "answer", str(verdict.gate), missing=verdict.missing, why=verdict.why)
    return {**_ratio(worst[0], id, worst[1], "answer", count=count), "subject": str(verdict.gate)}
