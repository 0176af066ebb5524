# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a comparison, and their output formats.

JSON is of schema weft-compare/1, described field by field in docs/dev/show-json.md: fields may be added within a
version; none is renamed, removed or changed in meaning.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

from weft.analyse.compare.claims import claim_gate, claim_ratio, describe_place
from weft.analyse.compare.comparison import Compared, Comparison, Summary
from weft.analyse.compare.gate import Verdict, exit_code
from weft.analyse.compare.sides import Side
from weft.analyse.tables.claims import extras
from weft.format import format_bytes, measured_seconds
from weft.report.card import print_rows, row_lines
from weft.report.compare.load import Compare
from weft.report.tabular import Table, Words, comma_separated, make_table, markdown, terminal
from weft.text import console, markdown_text
from weft.words.comparisons import mean_text, ratio_text
from weft.words.row import name_call
from weft.words.say import say

SCHEMA = "weft-compare/1"
#: Fields of a row; a summary over several sizes or process counts has null for fields in which its rows differ.
FIELDS = (
    "base", "other", "summary", "kernel", "operation", "call", "bytes", "phase", "nodes", "ranks", "n", "m",
    "parameters", "rows", "base_s", "other_s", "ratio", "low", "high", "base_launches", "other_launches", "p", "p_holm",
    "p_launches", "shown", "outcome", "why", "oversubscribed", "statement",
)  # fmt: skip


def compare_object(found: Compare, verdicts: Sequence[Verdict] = ()) -> dict[str, Any]:
    """The printed object as plain data."""
    return {
        "schema": SCHEMA,
        "runs": [_run(side) | {"quality": view.grade} for side, view in zip(found.sides, found.views, strict=True)],
        "comparisons": [
            {
                "base": comparison.base.name,
                "other": comparison.other.name,
                "outcome": comparison.outcome,
                "margin": comparison.margin,
                "headline": f"{card.title}: {card.rows[0].label}: {card.rows[0].text}",
                "card": [row._asdict() for row in card.rows],
                "claims": [{**claim, "more": extras(claim)} for claim in claims],
                "assumed": comparison.assumed,
                "rows": rows_of(comparison),
                "unmatched": [
                    {**_identity(each.key), "run": each.run, "missing": each.missing, "reason": each.reason}
                    for each in comparison.unmatched
                ],
            }
            for comparison, card, claims in zip(found.comparisons, found.cards, found.claims, strict=True)
        ],
        "gates": [
            {
                "gate": str(verdict.gate),
                "state": verdict.state,
                "offenders": [_statement(*each) for each in verdict.offenders],
                "missing": verdict.missing,
                "why": verdict.why,
            }
            for verdict in verdicts
        ],
        "exit_code": exit_code(verdicts),
    }


def as_json(found: Compare, verdicts: Sequence[Verdict] = ()) -> str:
    """The object as text."""
    return json.dumps(compare_object(found, verdicts), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def rows_of(comparison: Comparison) -> list[dict[str, Any]]:
    """Each summary and row of a comparison with the `FIELDS`."""
    return [_row(comparison, each) for each in (*comparison.summaries, *comparison.rows)]


def _statement(comparison: Comparison, each: Compared | Summary) -> str:
    row = say(claim_ratio(comparison, each))
    return f"{comparison.other.name} against {comparison.base.name}: {row.label}: {row.text}"


def _run(side: Side) -> dict[str, Any]:
    names = ("name", "path", "study", "fabric", "kind", "mpi", "launches")
    row = {name: getattr(side, name) for name in names}
    return row | {"simulated": side.modelled, "virtual": side.emulated}


def _identity(key: Any) -> dict[str, Any]:
    names = ("kernel", "operation", "call", "phase", "nodes", "ranks", "n", "m", "parameters")
    return {name: getattr(key, name) for name in names} | {"bytes": key.size}


def _row(comparison: Comparison, each: Compared | Summary) -> dict[str, Any]:
    found = each.evidence
    if isinstance(each, Summary):
        kernels = {key.kernel for key in each.keys}
        own = dict.fromkeys(("call", "bytes", "n", "m", "parameters", "base_s", "other_s", "oversubscribed"))
        own |= {"operation": each.operation, "phase": each.phase, "nodes": each.nodes, "ranks": each.ranks}
        own |= {"summary": True, "rows": len(each.keys), "kernel": kernels.pop() if len(kernels) == 1 else None}
    else:
        own = _identity(each.key) | {"summary": False, "rows": 1, "base_s": each.base_s, "other_s": each.other_s}
        own |= {"oversubscribed": each.oversubscribed}
    launches = dict(zip(("base_launches", "other_launches"), found.launches, strict=True))
    evidence = ("ratio", "low", "high", "p", "p_holm", "p_launches", "shown", "outcome", "why")
    own |= launches | {name: getattr(found, name) for name in evidence}
    own |= {"base": comparison.base.name, "other": comparison.other.name, "statement": _statement(comparison, each)}
    return {name: own[name] for name in FIELDS}


Format = Literal["text", "md", "csv", "json"]

MEANING = (
    "Ratio: the other's median over the base's (95 % bootstrap interval over launches). p: rank test of the launches' "
    "medians alone; corrected: the smaller of Holm's correction over all rows and the permutation of whole launches. "
    "* more ranks than cores."
)
MOST_UNMATCHED = 20


def all_tables(comparison: Comparison) -> list[Table]:
    """Every table of one comparison: summaries, then each call's rows, warm before cold, then rows of only one run."""
    calls = dict.fromkeys((each.key.operation, each.key.phase) for each in warm_first(comparison.rows))
    found = [summary_table(comparison)] if comparison.summaries else []
    found += [call_table(comparison, *call) for call in calls]
    return [*found, *([unmatched_table(comparison)] if comparison.unmatched else [])]


def warm_first(rows: Sequence[Any]) -> list[Any]:
    """Rows or summaries of the steady state, then the others, each in their order."""
    phases = {id(each): getattr(each, "phase", "") or each.key.phase for each in rows}
    return sorted(rows, key=lambda each: phases[id(each)] != "warm")


def summary_table(comparison: Comparison) -> Table:
    """Each call over its sizes."""
    summaries: list[Summary] = warm_first(comparison.summaries)
    return make_table(
        f"{comparison.other.name} against {comparison.base.name}", summaries,
        (Words("Call"), "", lambda each: f"{name_call(each.operation)}, {each.phase}"),
        ("p", "", lambda each: f"{each.ranks:,}" if each.ranks is not None else "all"),
        (Words("Over"), "", lambda each: mean_text(describe_place(each))),
        ("Ratio", "", lambda each: ratio_text(each.evidence)), ("p alone", "", lambda each: p_text(each.evidence.p)),
        ("corrected", "", lambda each: corrected_text(each.evidence)),
        (Words("Verdict"), "", lambda each: outcome_text(each.evidence)),
    )  # fmt: skip


def call_table(comparison: Comparison, operation: str, phase: str) -> Table:
    """One call's rows."""
    own = [each for each in comparison.rows if (each.key.operation, each.key.phase) == (operation, phase)]
    sized = all(each.key.m is None for each in own)
    first = "Size" if sized else "m"
    base, other = comparison.base.name, comparison.other.name
    columns = (first, "N", "p", base, other, "Ratio", "p alone", "corrected", Words("Verdict"))
    rows = tuple(_call_row(each, sized) for each in own)
    return Table(f"{name_call(operation)}, {phase}", columns, rows)


def _call_row(each: Compared, sized: bool) -> tuple[str, ...]:
    key, found = each.key, each.evidence
    size = (format_bytes(key.size) if key.size is not None else "–") if sized else (f"{key.m:,}" if key.m else "–")
    times = measured_seconds(each.base_s), measured_seconds(each.other_s)
    ranks = f"{key.ranks:,}{' *' if each.oversubscribed else ''}"
    return (size, f"{key.nodes:,}", ranks, *times, ratio_text(found), p_text(found.p), corrected_text(found),
            outcome_text(found))  # fmt: skip


def unmatched_table(comparison: Comparison) -> Table:
    """Rows without a partner, and why; only the first if there are many."""
    rows = [
        (f"{each.key.call} {each.key.phase}", f"{each.key.nodes:,}", f"{each.key.ranks:,}", each.run, each.reason)
        for each in comparison.unmatched
    ]
    more = len(rows) - MOST_UNMATCHED
    shown = [*rows[:MOST_UNMATCHED], *([(f"and {more} more", "", "", "", "")] if more > 0 else [])]
    columns = (Words("Row"), "N", "p", Words("Not in"), Words("Because"))
    return Table("Rows without a partner", columns, tuple(shown))


def outcome_text(found: Any) -> str:
    """An outcome, with its reason if that is unusual."""
    if found.outcome in ("slower", "faster"):
        return found.outcome
    if found.outcome == "no difference shown":
        return "no difference shown" + (", below the noise floor" if "floor" in found.why else "")
    return found.outcome


def p_text(p: float | None) -> str:
    """A probability with two digits."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}" if p < 0.0995 else f"{p:.2f}"


def p_equals(p: float) -> str:
    """A probability in a sentence: ``p = 0.032``, ``p < 0.001``."""
    text = p_text(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def corrected_text(found: Any) -> str:
    """The smaller of the two corrected probabilities."""
    known = [p for p in (found.p_holm, found.p_launches) if p is not None]
    return p_text(min(known, default=None))


def render(found: Compare, verdicts: Sequence[Verdict] = (), format: Format = "text") -> str:
    """A comparison as text in one of the formats. Raises ValueError: the format is unknown."""
    if format == "md":
        return as_markdown(found, verdicts)
    if format == "csv":
        return as_csv(found)
    if format == "json":
        return as_json(found, verdicts)
    if format == "text":
        out = console(width=140)
        with out.capture() as captured:
            print_compare(found, verdicts, out)
        return captured.get()
    raise ValueError(f"no format {format}")


def print_compare(found: Compare, verdicts: Sequence[Verdict], out: Any) -> None:
    """Print a comparison on a console (:func:`weft.text.console`)."""
    for comparison, card, claims in zip(found.comparisons, found.cards, found.claims, strict=True):
        print_rows(card, claims[0]["confidence"], out)
        for table in all_tables(comparison):
            out.print()
            out.print(terminal(table))
    out.print(MEANING, style="dim")
    for verdict in verdicts:
        style = {"failed": "bold red", "undecided": "yellow"}.get(verdict.state, "green")
        for line in row_lines(say(claim_gate(verdict)), out.width):
            out.print(line, style=style)


def as_markdown(found: Compare, verdicts: Sequence[Verdict] = ()) -> str:
    """A comparison in Markdown."""
    parts = [f"# {markdown_text(found.title)}"]
    for comparison, card in zip(found.comparisons, found.cards, strict=True):
        rows = [f"- **{markdown_text(row.label)}** {markdown_text(row.text or row.next)}" for row in card.rows]
        parts += ["\n".join(rows), *(markdown(table) for table in all_tables(comparison))]
    gates = [say(claim_gate(verdict)) for verdict in verdicts]
    parts += [MEANING, *(f"**{markdown_text(row.label)}** {markdown_text(row.text)}" for row in gates)]
    return "\n\n".join(part for part in parts if part) + "\n"


def as_csv(found: Compare) -> str:
    """One line per row and summary, unrounded: the fields of the JSON's rows."""
    rows = [row for comparison in found.comparisons for row in rows_of(comparison)]
    return comma_separated(FIELDS, [[row[name] for name in FIELDS] for row in rows])
