# SPDX-License-Identifier: BSD-3-Clause
"""The verdict card and the terminal: the answer first, then what was found, then a short table; names stay whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from made.pages import make_empty
from made.run import make_run, tara_like
from made.view import load_view
from weft.report.bars import BOUND, WIDTH, Bar, bar_lines
from weft.report.card import card_of
from weft.report.figures import all_figures
from weft.report.figures.theme import Figure
from weft.report.tables import print_view
from weft.report.tabular import Table, terminal
from weft.report.view import RunView
from weft.text import console


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """A run that may claim what it found: of its few samples three rows beat their bound, else a C."""
    made = load_view(make_run(tmp_path_factory.mktemp("card") / "run", tara_like(samples=5)))
    vars(made)["quality"] = []
    return made


def printed(view: RunView, width: int = 100, *, every: bool = False) -> str:
    out = console(width)
    with out.capture() as captured:
        print_view(view, out, every=every)
    return captured.get()


def test_at_quality_c_every_statement_is_a_supposition(view: RunView) -> None:
    bad = replace(view)
    vars(bad)["quality"] = [{"grade": "C", "what": "made to be bad", "remedy": "make it good"}]
    text = " ".join(printed(bad).split())
    assert text.count("scaling (constant") == 2
    assert text.count("): If the numbers hold, ") == 2
    assert "times the time from" not in text
    readings = [figure.reading for figure in all_figures(bad) if isinstance(figure, Figure) and "time-" in figure.name]
    assert readings
    assert all(reading.startswith("If the numbers hold, ") for reading in readings)


def test_findings_stand_after_the_verdict_and_before_the_first_table(view: RunView) -> None:
    text = printed(view)
    places = [text.index(word) for word in ("times  the time from", "scaling (constant", "note: ", "Time of C.")]
    assert places == sorted(places)


def test_one_table_is_printed_and_the_command_for_the_others(view: RunView) -> None:
    short, whole = printed(view), printed(view, every=True)
    assert "5 more tables: weft show" in " ".join(short.split())
    assert "--all" in short
    assert "memory of one array" not in short
    assert "memory of one array" in whole
    assert "--all" not in whole


def test_bars_share_an_axis_and_are_marked_at_their_bound() -> None:
    lines = bar_lines([Bar("N = 1", 1.0, 0.5), Bar("N = 10", 4.0, None)])
    assert lines[0].index(BOUND) - lines[0].index("█") == WIDTH // 8
    assert lines[0].count("█") == WIDTH // 4 - 1
    assert lines[1].count("█") == WIDTH
    assert "its lower bound" in lines[2]
    assert bar_lines([Bar("N = 1", 1.0, 0.5)]) == []


def test_bars_get_shorter_before_a_line_of_theirs_breaks() -> None:
    lines = bar_lines([Bar("MPI_Reduce_scatter", 1.0, 0.5), Bar("MPI_Bcast", 4.0, None)], 60)
    assert max(map(len, lines)) == 60
    assert lines[1].count("█") == lines[1].rindex("█") - lines[1].index("█") + 1 < WIDTH


def test_a_bound_beyond_every_bar_stays_on_the_axis() -> None:
    line = bar_lines([Bar("a", 1.0, 9.0), Bar("b", 1.0, None)])[0]
    assert line.index(BOUND) == line.index("█") + WIDTH - 1


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_name_with_underscores_is_never_broken(width: int) -> None:
    name = "coll_tuned_alltoall_intermediate_msg"
    table = Table(
        "t", ("Change-over of", "Knob", "Kind"), ((f"MPI_Alltoall, {name}", name, "jump"),), frozenset({0, 1})
    )
    out = console(width + 40)
    with out.capture() as captured:
        out.print(terminal(table, width))
    text = captured.get()
    assert text.count(name) == 2
    assert "Change-over" in text


def test_a_run_without_a_sample_has_no_quality(tmp_path: Path) -> None:
    """It was rated A, since nothing spoke against its numbers."""
    assert card_of(load_view(make_empty(tmp_path / "run"))).numbers == ()
