# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a comparison, and their output formats.
JSON is of schema weft-compare/1 (docs/dev/show-json.md): fields may be added within a version; none changes or goes.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

from weft.analyse.compare.claims import Verdict, claim_gate, claim_ratio, describe_place, exit_code
from weft.analyse.compare.comparison import Compared, Comparison, Summary
from weft.analyse.compare.sides import Key
from weft.analyse.tables.claims import ClaimRow, extras
from weft.format import format_bytes, measured_seconds
from weft.report.card import print_rows, row_lines
from weft.report.compare import Compare
from weft.report.tabular import Column, Table, Words, comma_separated, existing, make_table, markdown, terminal
from weft.text import console, markdown_text
from weft.words import name_call
from weft.words.card import Card, say
from weft.words.comparisons import mean_text, ratio_text

SCHEMA = "weft-compare/1"
#: Fields of a row; a summary over several sizes or process counts has null for fields in which its rows differ.
FIELDS = (
    "base", "other", "summary", "kernel", "operation", "call", "bytes", "phase", "nodes", "ranks", "n", "m",
    "parameters", "rows", "base_s", "other_s", "ratio", "low", "high", "base_launches", "other_launches", "p", "p_holm",
    "p_launches", "shown", "outcome", "why", "oversubscribed", "statement",
)  # fmt: skip
Format = Literal["text", "md", "csv", "json"]
MEANING = (
    "Ratio: the other's median over the base's (95 % bootstrap interval over launches). p: rank test of the launches' "
    "medians alone; corrected: the smaller of Holm's correction over all rows and the permutation of whole launches. "
    "* more ranks than cores."
)
MOST_UNMATCHED = 20


def as_json(found: Compare, verdicts: Sequence[Verdict] = ()) -> str:
    """The printed object as text."""
    names = ("name", "path", "study", "fabric", "kind", "mpi", "launches")
    runs = [
        {name: getattr(side, name) for name in names}
        | {"simulated": side.modelled, "virtual": side.emulated, "quality": view.grade}
        for side, view in found.runs
    ]
    tree = {
        "schema": SCHEMA,
        "runs": runs,
        "comparisons": [_comparison(*each) for each in zip(found.comparisons, found.cards, found.claims, strict=True)],
        "gates": [
            {"gate": str(each.gate), "state": each.state, "offenders": [_statement(*of) for of in each.offenders]}
            | {"missing": each.missing, "why": each.why}
            for each in verdicts
        ],
        "exit_code": exit_code(verdicts),
    }
    return json.dumps(tree, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _comparison(comparison: Comparison, card: Card, claims: Sequence[ClaimRow]) -> dict[str, Any]:
    base, other = comparison.base.name, comparison.other.name
    head = {"base": base, "other": other, "outcome": comparison.outcome, "margin": comparison.margin}
    return head | {
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


def rows_of(comparison: Comparison) -> list[dict[str, Any]]:
    """Each summary and row of a comparison with the `FIELDS`."""
    return [_row(comparison, each) for each in (*comparison.summaries, *comparison.rows)]


def _statement(comparison: Comparison, each: Compared | Summary) -> str:
    row = say(claim_ratio(comparison, each))
    return f"{comparison.other.name} against {comparison.base.name}: {row.label}: {row.text}"


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
    evidence = ("ratio", "low", "high", "p", "p_holm", "p_launches", "shown", "outcome", "why")
    own |= {name: getattr(found, name) for name in evidence}
    own |= dict(zip(("base_launches", "other_launches"), found.launches, strict=True))
    own |= {"base": comparison.base.name, "other": comparison.other.name, "statement": _statement(comparison, each)}
    return {name: own[name] for name in FIELDS}


def all_tables(comparison: Comparison) -> list[Table]:
    """Every table of one comparison: summaries, then each call's rows, warm before cold, then rows of only one run."""
    calls = dict.fromkeys((each.key.operation, each.key.phase) for each in comparison.rows)
    of_calls = (_call_table(comparison, *call) for call in sorted(calls, key=lambda call: call[1] != "warm"))
    return existing(_summary_table(comparison), *of_calls, unmatched_table(comparison))


#: The columns of a ratio.
JUDGED: tuple[Column[Compared | Summary], ...] = (
    ("Ratio", "", lambda each: ratio_text(each.evidence)),
    ("p alone", "", lambda each: _p_text(each.evidence.p)),
    ("corrected", "", lambda each: _p_text(each.evidence.p_holm, each.evidence.p_launches)),
    (Words("Verdict"), "", lambda each: each.evidence.outcome + (", below the noise floor" if _is_lost(each) else "")),
)


def _summary_table(comparison: Comparison) -> Table:
    return make_table(
        f"{comparison.other.name} against {comparison.base.name}",
        sorted(comparison.summaries, key=lambda each: each.phase != "warm"),
        (Words("Call"), "", lambda each: f"{name_call(each.operation)}, {each.phase}"),
        ("p", "", lambda each: f"{each.ranks:,}" if each.ranks is not None else "all"),
        (Words("Over"), "", lambda each: mean_text(describe_place(each))), *JUDGED,
    )  # fmt: skip


def _call_table(comparison: Comparison, operation: str, phase: str) -> Table:
    own = [each for each in comparison.rows if (each.key.operation, each.key.phase) == (operation, phase)]
    sized = all(each.key.m is None for each in own)
    return make_table(
        f"{name_call(operation)}, {phase}", own,
        ("Size" if sized else "m", "", lambda each: _size(each.key, sized)),
        ("N", "", lambda each: f"{each.key.nodes:,}"),
        ("p", "", lambda each: f"{each.key.ranks:,}{' *' if each.oversubscribed else ''}"),
        (comparison.base.name, "", lambda each: measured_seconds(each.base_s)),
        (comparison.other.name, "", lambda each: measured_seconds(each.other_s)), *JUDGED,
    )  # fmt: skip


def _size(key: Key, sized: bool) -> str:
    if sized:
        return "–" if key.size is None else format_bytes(key.size)
    return f"{key.m:,}" if key.m else "–"


def unmatched_table(comparison: Comparison) -> Table:
    """Rows without a partner, and why; only the first if there are many."""
    rows = [
        (f"{each.key.call} {each.key.phase}", f"{each.key.nodes:,}", f"{each.key.ranks:,}", each.run, each.reason)
        for each in comparison.unmatched
    ]
    if len(rows) > MOST_UNMATCHED:
        rows[MOST_UNMATCHED:] = [(f"and {len(rows) - MOST_UNMATCHED} more", "", "", "", "")]
    return Table("Rows without a partner", (Words("Row"), "N", "p", Words("Not in"), Words("Because")), tuple(rows))


def _is_lost(each: Compared | Summary) -> bool:
    return each.evidence.outcome == "no difference shown" and "floor" in each.evidence.why


def _p_text(*given: float | None) -> str:
    p = min((each for each in given if each is not None), default=None)
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}" if p < 0.0995 else f"{p:.2f}"


def p_equals(p: float) -> str:
    """A probability in a sentence: ``p = 0.032``, ``p < 0.001``."""
    text = _p_text(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def render(found: Compare, verdicts: Sequence[Verdict] = (), format: Format = "text") -> str:
    """A comparison as text in one of the formats. Raises ValueError: the format is unknown."""
    makers = {"md": as_markdown, "json": as_json}
    if format in makers:
        return makers[format](found, verdicts)
    if format == "csv":  # one line per row and summary, unrounded: the fields of the JSON's rows
        rows = [row for comparison in found.comparisons for row in rows_of(comparison)]
        return comma_separated(FIELDS, [[row[name] for name in FIELDS] for row in rows])
    if format == "text":
        out = console(width=140)
        with out.capture() as captured:
            print_compare(found, verdicts, out)
        return captured.get()
    raise ValueError(f"no format {format}")


def print_compare(found: Compare, verdicts: Sequence[Verdict], out: Any) -> None:
    """Print a comparison on a console (:func:`weft.text.console`)."""
    for comparison, card in zip(found.comparisons, found.cards, strict=True):
        print_rows(card, out, *map(terminal, all_tables(comparison)))
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
