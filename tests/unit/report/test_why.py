# SPDX-License-Identifier: BSD-3-Clause
"""What `weft why` says before its sentences: what the run's own warnings doubt of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from made.run import Made, make_run, tara_like
from made.view import load_view
from weft.analyse.checks import finding
from weft.analyse.tables.answers import FINDINGS
from weft.analyse.tables.breakdown import BREAKDOWN, BreakdownRow
from weft.analyse.tables.quality import QUALITY, Grade, QualityRow
from weft.report.figures import all_figures
from weft.report.view import RunView
from weft.report.view import load_view as view_of
from weft.report.why import as_json, as_text


def step(view: RunView, name: Any, seconds: float, factor: float | None, launches: int) -> BreakdownRow:
    row = view.rows[0]
    return BreakdownRow(
        cell=row["cell"], call="C", nodes=row["nodes"], ranks=row["ranks"], block_bytes=1000, step=name, name="",
        seconds=seconds, low=None, high=None, factor=factor, factor_low=None, factor_high=None, launches=launches,
        statement="2 ms at p = 2: contention adds 90 %.", mover="placement",
    )  # fmt: skip


def explained(path: Path, launches: int, grade: Grade | None = None, made: Made | None = None) -> RunView:
    """A run with one breakdown, of a quality."""
    view = load_view(make_run(path, made or Made(samples=3)))
    BREAKDOWN.write(
        view.path, [step(view, "messages", 1e-3, None, launches), step(view, "contention", 2e-3, 1.9, launches)]
    )
    doubt = QualityRow(doubt="steal", grade=grade or "B", count=1, of=1, share=1.0, what="stolen time", remedy="wait")
    QUALITY.write(view.path, [doubt] if grade else [])
    return view_of(view.path)


def test_a_run_of_doubtful_quality_says_so_before_it_says_why(tmp_path: Path) -> None:
    text = as_text(explained(tmp_path / "run", 4, "C"))
    assert "Not shown (quality C): stolen time. What follows is true only if the numbers hold." in text
    assert text.index("Not shown") < text.index("contention adds 90 %")


@pytest.mark.parametrize("grade", ["B", "C", "D"])
def test_at_d_no_step_is_named_as_a_cause(tmp_path: Path, grade: Grade) -> None:
    view = explained(tmp_path / "run", 4, grade)
    text, told = as_text(view), json.loads(as_json(view))
    assert ("contention" in text) is ("placement" in text) is (grade != "D")
    assert bool(told["breakdowns"]) is (grade != "D")
    assert ("no step is named as a cause: stop what disturbs the run" in text) is (grade == "D")


@pytest.mark.parametrize(("grade", "opening"), [("B", ["2 ms at p"]), ("C", ["If the nu"]), ("D", [])])
def test_the_reading_of_the_breakdown_is_a_supposition_where_the_run_is_doubtful(
    tmp_path: Path, grade: Grade, opening: list[str]
) -> None:
    """At D it is not drawn: each of its steps is a cause."""
    found = all_figures(explained(tmp_path / "run", 4, grade))
    assert [figure.reading[:9] for figure in found if figure.name == "breakdown"] == opening


def test_a_step_of_one_launch_is_not_told_apart_from_chance(tmp_path: Path) -> None:
    view = explained(tmp_path / "run", 1)
    told = "Of 1 launch, where 4 are needed to tell a step from chance: add launches with --launches 4."
    assert told in as_text(view)
    assert json.loads(as_json(view))["doubts"] == [told]


def test_a_sure_run_has_no_such_sentence(tmp_path: Path) -> None:
    view = explained(tmp_path / "run", 4, "B")
    assert json.loads(as_json(view))["doubts"] == []
    assert as_text(view).splitlines()[1] == ""


def test_a_model_needs_no_further_launch(tmp_path: Path) -> None:
    assert "launch" not in as_text(explained(tmp_path / "run", 1, made=tara_like(samples=3)))


def test_what_the_model_leaves_out_is_said_before_the_bars(tmp_path: Path) -> None:
    # on a network that routes adaptively it was a single number, and nothing said so
    view = explained(tmp_path / "run", 4, made=tara_like(samples=3))
    said = "adaptive routing is not modelled: bytes spread over more links; this time lies between 1 ms and 2 ms"
    FINDINGS.write(view.path, [finding("note", "range", "C, N = 2, p = 2", said, "take both ends")])
    text = as_text(view_of(view.path))
    assert f"C, N = 2, p = 2: {said}." in text
    assert text.index(said) < text.index("contention adds 90 %")
    assert any(said in each for each in json.loads(as_json(view_of(view.path)))["doubts"])
