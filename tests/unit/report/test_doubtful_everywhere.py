# SPDX-License-Identifier: BSD-3-Clause
"""A doubtful run says so alike on every surface: card, headline, figures, tables, page, JSON, comparison."""

import json
from pathlib import Path

import pytest

from made.kept import copy_of, kept_runs, make_tables_of
from made.pairs import Cluster, Faults
from made.pairs_run import make_pairs_run
from made.sweeps import make_sweep
from weft.analyse.pairs.findings import pair_findings
from weft.analyse.tables.quality import QUALITY, Grade, QualityRow
from weft.analyse.tables.remedies import REMEDIES, RemedyRow
from weft.report.card import card_of
from weft.report.compare.as_json import compare_object
from weft.report.compare.figures import all_figures as figures_of
from weft.report.compare.load import load_compare
from weft.report.compare.page import render as compare_page
from weft.report.compare.tables import render as rendered
from weft.report.figures import all_figures
from weft.report.page import write
from weft.report.show_json import show_object
from weft.report.tables import render
from weft.report.view import RunView, load_view
from weft.run.refresh import refresh

HELD = "If the numbers hold"
#: Figures that show what was planned, or how far launches differ, and those whose verdict is worded elsewhere.
WITHOUT = ("schematic", "spread", "time-")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of every kernel with their tables."""
    found = {name: copy_of(name, tmp_path_factory.mktemp("kept")) for name in kept_runs()}
    for run in found.values():
        make_tables_of(run)
    return found


def at(run: Path, grade: Grade) -> RunView:
    """A run of another quality."""
    doubt = QualityRow(doubt="steal", grade=grade, count=1, of=1, share=1.0, what="stolen time", remedy="wait")
    QUALITY.write(run, [doubt])
    return load_view(run)


@pytest.mark.parametrize("grade", ["B", "C", "D"])
@pytest.mark.parametrize("name", kept_runs())
def test_every_figure_that_claims_something_is_a_supposition(kept: dict[str, Path], name: str, grade: Grade) -> None:
    readings = {each.name: each.reading for each in all_figures(at(kept[name], grade))}
    claimed = {figure: text for figure, text in readings.items() if not figure.startswith(WITHOUT)}
    assert claimed
    assert {text.startswith(HELD) for text in claimed.values()} == {grade != "B"}, claimed
    assert not any(text.count(HELD) > 1 for text in readings.values())


@pytest.mark.parametrize("grade", ["C", "D"])
@pytest.mark.parametrize("name", kept_runs())
def test_the_quality_is_the_same_on_every_surface(
    kept: dict[str, Path], name: str, grade: Grade, tmp_path: Path
) -> None:
    view = at(kept[name], grade)
    shown = show_object(view)
    assert shown["quality"]["grade"] == grade
    page = write([view.path], tmp_path / "page.html", files_too=False).read_text()
    for text in (" ".join([card_of(view).line, *card_of(view).sentences]), render(view, "text"), page):
        assert "stolen time" in text
        assert f"quality {grade}" in text or "No verdict" in text
    assert f"quality {grade}" in shown["headline"] or "No verdict" in shown["headline"]


def test_at_d_no_part_is_advised_and_no_step_is_drawn(kept: dict[str, Path], tmp_path: Path) -> None:
    run = kept["exchange"]
    row = load_view(run).rows[0]
    remedy = RemedyRow(
        cell=row["cell"], call=row["call"], nodes=1, ranks=2, seconds=1.0, remedy="twice the cables", saves_s=0.5,
        basis="only bounded", why="the floor falls", setting="",
    )  # fmt: skip
    REMEDIES.write(run, [remedy])
    told = {}
    grades: tuple[Grade, ...] = ("B", "C", "D")
    for grade in grades:
        at(run, grade)
        page = write([run], tmp_path / "page.html", files_too=False).read_text()
        told[grade] = [
            "twice the cables" in page,
            "true only if the numbers hold" in page,
            "Nothing is advised" in page,
        ]
    assert told == {"B": [True, False, False], "C": [True, True, False], "D": [False, False, True]}


def test_at_d_no_node_is_called_slow(tmp_path: Path) -> None:
    """Neither in the table of nodes nor among the findings, which both are written from what is blamed."""
    run = make_pairs_run(tmp_path / "run", Cluster(8, 2, 2, uplinks=1), Faults(senders={5: 2.0}))
    refresh(run)
    assert "slow as sender" in render(at(run, "C"), "md")
    assert "slow as sender" not in render(at(run, "D"), "md")
    assert [each["rule"] for each in pair_findings(run) if each["rule"].startswith("slow-")]
    assert not [each for each in pair_findings(run, named=False) if each["rule"].startswith("slow-")]


@pytest.mark.parametrize("grade", ["B", "C"])
def test_a_comparison_with_a_doubtful_run_is_a_supposition_everywhere(tmp_path: Path, grade: Grade) -> None:
    runs = [make_sweep(tmp_path / name) for name in ("first", "second")]
    for run in runs:
        refresh(run)
    at(runs[1], grade)
    found = load_compare(runs)
    assert found.comparisons[0].outcome != "no verdict"
    texts = [
        json.dumps(compare_object(found)["comparisons"][0]["headline"]),
        rendered(found, (), "text"),
        rendered(found, (), "md"),
        compare_page(found, (), ()),
        *(figure.reading for figure in figures_of(found)),
    ]
    assert [HELD in text for text in texts] == [grade == "C"] * len(texts)
