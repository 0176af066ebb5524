# SPDX-License-Identifier: BSD-3-Clause
"""What `weft why` prints: the card, then the breakdown of each call as far as the run may claim it."""

import json
from pathlib import Path
from typing import Any

import pytest

from made.run import Made, make_run
from made.view import load_view
from weft.analyse.claims.make import write_claims
from weft.analyse.tables.breakdown import BREAKDOWN, BreakdownRow
from weft.analyse.tables.claims import QUALITY, Grade, QualityRow
from weft.report.card import as_json, as_text
from weft.report.page import all_figures
from weft.report.view import RunView
from weft.report.view import load_view as view_of


def step(view: RunView, name: Any, seconds: float, factor: float | None) -> BreakdownRow:
    row = view.rows[0]
    return BreakdownRow(
        cell=row["cell"], call="C", nodes=row["nodes"], ranks=row["ranks"], block_bytes=1000, step=name, name="",
        seconds=seconds, low=None, high=None, factor=factor, factor_low=None, factor_high=None, launches=4,
        effect="adds" if factor else "floor", mover="placement",
    )  # fmt: skip


def explained(path: Path, grade: Grade) -> RunView:
    """A run with one breakdown, of a quality."""
    view = load_view(make_run(path, Made(samples=3)))
    BREAKDOWN.write(view.path, [step(view, "messages", 1e-3, None), step(view, "contention", 1.9e-3, 1.9)])
    doubt = QualityRow(
        doubt="steal", grade=grade, count=1, of=1, share=1.0, noun="rows", worst=None, launches=None, turns=""
    )
    QUALITY.write(view.path, [] if grade == "A" else [doubt])
    write_claims(view.path, view.plan, view.rows)
    return view_of(view.path)


@pytest.mark.parametrize("grade", ["A", "B", "C", "D"])
def test_a_breakdown_is_printed_and_drawn_as_far_as_the_run_claims_it(tmp_path: Path, grade: Grade) -> None:
    view = explained(tmp_path / "run", grade)
    claimed = grade in ("A", "B")
    text, told = as_text(view), json.loads(as_json(view))
    assert ("contention +90 %" in text) is claimed
    assert bool(told["breakdowns"]) is claimed
    assert [row["id"] for row in told["card"]] == [row["id"] for row in json.loads(as_json(view))["card"]]
    assert bool([figure for figure in all_figures(view) if figure.name == "breakdown"]) is claimed
