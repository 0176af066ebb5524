# SPDX-License-Identifier: BSD-3-Clause
"""Conditions under which a comparison fails a build: ``slower:1.10``."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from weft.analyse.compare.comparison import Compared, Comparison, Summary
from weft.analyse.compare.evidence import Evidence, beyond
from weft.errors import CompareError
from weft.format import format_factor, plural

KINDS = ("slower", "faster", "different")
GRAMMAR = "slower:1.10, faster:1.10, different:1.10 (factors of at least 1), or missing"
State = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True)
class Gate:
    """A shown difference of at least a factor; or ``missing``, a row of the base that the other run did not measure."""

    kind: str  # ``slower``, ``faster``, ``different``, ``missing``
    factor: float = 1.0  # at least 1; nothing for ``missing``

    def __str__(self) -> str:
        return self.kind if self.kind == "missing" else f"{self.kind}:{self.factor:g}"

    def _reached(self, slower: float, faster: float) -> bool:
        """Whether times by such a factor slower, or faster, meet it."""
        return {"slower": slower, "faster": faster, "different": max(slower, faster)}[self.kind] >= self.factor

    def turned_by(self, found: Evidence) -> bool:
        """Whether one end of a simulated ratio's range meets the gate, and the other does not."""
        low, high = found.low or found.ratio, found.high or found.ratio
        return not self._reached(low, 1 / high) and self._reached(high, 1 / low)

    def met_by(self, found: Evidence, margin: float) -> bool:
        """Whether a ratio lies beyond the gate, and its interval beyond the margin (of a narrow gate: beyond it)."""
        met = self._reached(found.ratio, 1 / found.ratio)
        return met and beyond(found, min(margin, (self.factor - 1) / 2))


@dataclass(frozen=True)
class Verdict:
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
    """Check all comparisons against a gate.

    A difference counts if it is shown, its ratio is at least the factor, and its interval lies beyond the margin. For
    two simulated runs, which have no noise, the ratio alone decides; where their models leave something out, both ends
    of its range must agree. A gate that no row could have failed is undecided, not passed.
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
    """Why rows whose range holds the gate's factor decide nothing."""
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
