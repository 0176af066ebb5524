# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in sentences: "A takes 8.8 % (8.1–9.5) of B's time in alltoall at p = 16"."""

import math
import shlex
from collections import Counter
from pathlib import Path

from weft.analyse.compare import Compared, Comparison, Evidence, Key, Summary, Verdict
from weft.analyse.tables.claims import is_doubtful
from weft.fabric.numbers import SPREADS
from weft.format import format_bytes, format_factor, plural
from weft.report.compare.load import Compare
from weft.report.view import CALLS
from weft.words.answers import number_text
from weft.words.doubts import grade_text

Each = Compared | Summary


def call_text(operation: str) -> str:
    """The name of the MPI call for calls of the exchange; other operations keep their own."""
    return CALLS.get(operation, operation).split(". ")[-1]


def decimals(value: float) -> int:
    """Digits after the decimal point: three near 1, two significant digits for a small ratio."""
    if value >= 2:
        return 2 if value < 10 else 1 if value < 100 else 0
    return 3 if value >= 0.1 else 1 - math.floor(math.log10(value))


def scaled_text(found: Evidence, scale: float, digits: int, unit: str) -> str:
    """A ratio and its interval, times a scale, with the same number of digits."""
    text = f"{found.ratio * scale:,.{digits}f}{unit}"
    if found.low is None or found.high is None:
        return text
    return f"{text} ({found.low * scale:,.{digits}f}–{found.high * scale:,.{digits}f})"


def ratio_text(found: Evidence) -> str:
    """A ratio and its interval as numbers: ``0.088 (0.081–0.095)``."""
    return scaled_text(found, 1.0, decimals(found.ratio), "")


def takes(found: Evidence, base: str) -> str:
    """``takes 8.8 % (8.1–9.5) of BASE's time``, or ``takes 1.25 times (1.20–1.31) BASE's time``."""
    if found.ratio < 0.995:
        digits = 1 if found.ratio >= 0.0095 else 2
        return f"takes {scaled_text(found, 100.0, digits, ' %')} of {base}'s time"
    return f"takes {scaled_text(found, 1.0, min(2, decimals(found.ratio)), ' times')} {base}'s time"


def place(each: Each) -> str:
    """The identity of a row or summary: ``alltoall warm, N = 4, p = 16, 1 KiB``."""
    if isinstance(each, Summary):
        words = [f"{call_text(each.operation)} {each.phase}"]
        words += [f"N = {each.nodes}, p = {each.ranks}"] if each.ranks is not None else []
        return ", ".join(words)
    return place_of(each.key)


def place_of(key: Key) -> str:
    """The identity of a row: ``alltoall warm, N = 4, p = 16, 1 KiB``."""
    words = [f"{call_text(key.operation)} {key.phase}", f"N = {key.nodes}", f"p = {key.ranks}"]
    words += [format_bytes(key.size)] if key.size is not None else []
    words += [f"m = {key.m:,}"] if key.m is not None else []
    return ", ".join(words)


def over(summary: Summary) -> str:
    """What a summary averages: ``geometric mean of 11 sizes``."""
    rows = summary.keys
    sized = all(key.size is not None for key in rows)
    noun = "size" if sized and len({(key.nodes, key.ranks) for key in rows}) == 1 else "row"
    text = f"geometric mean of {plural(len(rows), noun)}"
    counts = sorted({key.ranks for key in rows})
    return f"{text}, p = {', '.join(map(str, counts))}" if summary.ranks is None and len(counts) < 8 else text


def sentence(comparison: Comparison, each: Each) -> str:
    """A row or summary as a sentence."""
    found, base, other = each.evidence, comparison.base.name, comparison.other.name
    mean = f" ({over(each)})" if isinstance(each, Summary) else ""
    if found.outcome in ("slower", "faster"):
        return f"{other} {takes(found, base)} in {place(each)}{mean}."
    if found.outcome == "no difference shown":
        return f"No difference shown in {place(each)}{mean}: ratio {ratio_text(found)}; {found.why}."
    label = "; no verdict: " if found.outcome == "no verdict" else "; "
    return f"{other} {takes(found, base)} in {place(each)}{mean}{label}{found.why}."


def headline(comparison: Comparison) -> str:
    """How many rows differ, in one sentence, and how many could not be compared."""
    base, other, rows = comparison.base.name, comparison.other.name, comparison.rows
    seen = Counter(each.evidence.outcome for each in rows)
    count = plural(len(rows), "common row")
    if comparison.outcome == "no verdict":
        few = min((comparison.base, comparison.other), key=lambda side: side.launches)
        text = f"No verdict on {other} against {base}: {rows[0].evidence.why}; add the missing ones with "
        text += f"`{more_launches(few.path)}`"
    elif comparison.modelled:
        ratios = [each.evidence.ratio for each in rows]
        text = f"Over {count} {other} takes {format_factor(min(ratios))} to {format_factor(max(ratios))} times "
        text += f"{base}'s time; {modelled_text(comparison)}{assumed_text(comparison)}"
    else:
        counted = [f"{seen[word]} {word}" for word in ("slower", "faster") if seen[word]]
        same = seen["no difference shown"]
        if counted:
            text = f"{other} against {base}: of {count} {' and '.join(counted)}, {same} without a shown difference"
        else:
            calls = [each for each in comparison.summaries if each.evidence.outcome in ("slower", "faster")]
            few = f", though {calls[0].evidence.outcome} over all rows of {place(calls[0])}" if calls else ""
            text = f"No difference between {other} and {base} is shown in any of {count}{few}"
        text += f", {seen['no verdict']} with too few launches" if seen["no verdict"] else ""
    lost = len(comparison.unmatched)
    return text + (f"; {plural(lost, 'row')} without a partner." if lost else ".")


def modelled_text(comparison: Comparison) -> str:
    """What takes the place of an interval in a comparison with a simulated run."""
    ranges = [(each.evidence.low, each.evidence.high) for each in comparison.rows]
    known = [(low, high) for low, high in ranges if low is not None and high is not None]
    if not known:
        return "a simulated run has no noise, so there is no interval and no test"
    low, high = format_factor(min(low for low, _ in known)), format_factor(max(high for _, high in known))
    whose = "" if len(known) == len(ranges) else f"in {len(known)} of them "
    text = f"{whose}it may be {low} to {high} times, by what is not modelled ({', '.join(comparison.left_out)})"
    turned = sum(low < 1 < high for low, high in known)
    return f"{text}, and which is slower is undecided in {turned} of them" if turned else text


def assumed_text(comparison: Comparison) -> str:
    """Which digits of the ratios were put in: ``; assumed: network.latency 50 us against 5.45 us``; empty if none."""
    units = {spread.key: spread.unit for spread in SPREADS}
    told = [
        f"{key} " + " against ".join("none" if each is None else number_text(each, units[key]) for each in values)
        for key, values in comparison.assumed.items()
    ]
    return f"; assumed, so that ratios follow from them: {', '.join(told)}" if told else ""


def more_launches(path: str) -> str:
    """The command that adds launches to a run until there are ten."""
    run = Path(path)
    words = [run / "study.toml", "--on", run / "fabric.toml", "--into", run, "--launches", 10]
    return f"weft run {shlex.join(map(str, words))}"


def quality_notes(found: Compare) -> list[str]:
    """What the confidence of runs at C or D means for their comparison; none for others."""
    graded = [
        (side.name, view, *grade_text(view.claimed("doubt")))
        for side, view in zip(found.sides, found.views, strict=True)
    ]
    return [
        f"{name} has confidence {grade}: {reason}" for name, view, grade, reason in graded if is_doubtful(view.claims)
    ]


def if_all_hold(text: str, found: Compare) -> str:
    """A statement on runs; where the quality of one of them is C or D, as a supposition."""
    return f"Inconclusive: {text}" if text and quality_notes(found) else text


def told(comparison: Comparison, found: Compare) -> str:
    """The headline of a comparison; a supposition where a run is doubtful and it gives a verdict."""
    text = headline(comparison)
    return text if comparison.outcome == "no verdict" else if_all_hold(text, found)


def sentences(comparison: Comparison, phase: str = "warm") -> list[str]:
    """Sentences as in the paper: one per call over all process counts, and per count if that adds something."""
    if comparison.outcome == "no verdict":
        return []  # the headline gives the reason, which would be the same in each
    own = [each for each in comparison.summaries if each.phase == phase]
    whole = {each.operation: each.evidence.outcome for each in own if each.ranks is None}
    idle = "no difference shown"
    known = [
        each for each in own if each.ranks is None or not whole.get(each.operation) == each.evidence.outcome == idle
    ]
    if known:
        return [sentence(comparison, each) for each in known]
    return [sentence(comparison, each) for each in comparison.rows if each.key.phase == phase]


def gate_text(verdict: Verdict) -> str:
    """A gate's result: ``slower:1.1 failed: ...``."""
    text = f"gate {verdict.gate}: {verdict.state}"
    if verdict.state == "undecided":
        return f"{text}: {verdict.why}"
    if verdict.missing:
        return f"{text}: {plural(verdict.missing, 'row')} of the base not measured in the other runs"
    if verdict.offenders:
        comparison, worst = max(
            verdict.offenders, key=lambda pair: max(pair[1].evidence.ratio, 1 / pair[1].evidence.ratio)
        )
        text += f": {plural(len(verdict.offenders), 'row')} or summaries, most in {place(worst)}: "
        text += f"{comparison.other.name} {takes(worst.evidence, comparison.base.name)}"
    return text


def title(found: Compare) -> str:
    """The compared runs: ``B, C against A``."""
    others = ", ".join(side.name for side in found.sides[1:])
    return found.titled(f"{others} against {found.sides[0].name}")
