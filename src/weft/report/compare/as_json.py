# SPDX-License-Identifier: BSD-3-Clause
"""Output of ``weft compare --format json``: schema weft-compare/1, described field by field in docs/dev/show-json.md.

Fields may be added within a version; none is renamed, removed or changed in meaning.
"""

import json
from collections.abc import Sequence
from typing import Any

from weft.analyse.compare import Compared, Comparison, Side, Summary, Verdict, exit_code
from weft.analyse.compare.claims import claim_ratio
from weft.analyse.tables.claims import extras
from weft.report.compare.load import Compare
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
