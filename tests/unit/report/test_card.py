# SPDX-License-Identifier: BSD-3-Clause
"""The verdict card and the terminal: the answer first, then what was found, then a short table; names stay whole."""

import re
from html import unescape
from pathlib import Path

import pytest

from made.links import make_virtual_run
from made.pages import make_empty
from made.run import make_run, tara_like
from made.view import load_view
from weft.report.bars import BOUND, CROWDED, WIDTH, Bar, bar_lines, draw_times
from weft.report.card import card_of, row_lines
from weft.report.export import show_object
from weft.report.page import write
from weft.report.tables import print_view
from weft.report.tabular import Table, Words, terminal
from weft.report.view import RunView
from weft.text import console
from weft.words import Row


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """A run that may claim what it found: of its few samples three rows beat their bound, else a C."""
    return load_view(make_run(tmp_path_factory.mktemp("card") / "run", tara_like(samples=5)))


def printed(view: RunView, width: int = 100, *, every: bool = False) -> str:
    out = console(width)
    with out.capture() as captured:
        print_view(view, out, every=every)
    return captured.get()


def test_the_card_stands_above_findings_and_the_first_table(view: RunView) -> None:
    text = printed(view)
    rows = card_of(view).rows
    places = [text.index(word) for word in (view.mpi, rows[0].label, rows[-1].label, "note: ", "Time of C.")]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_row_of_the_card_is_wrapped_behind_its_label(width: int) -> None:
    row = Row("x", "Bottleneck", "uplink of leaf0: 79 % busy; bound 343 ms of 400 ms measured (86 %)", "a note")
    lines = row_lines(row, width)
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("  Bottleneck           uplink")
    assert all(line.startswith(" " * 23) for line in lines[1:])
    tried = row_lines(row._replace(next="weft tune --probe"), width)
    assert tried == [*lines, f"{' ' * 23}weft tune --probe"]


def test_the_card_is_the_same_on_terminal_page_and_in_json(view: RunView, tmp_path: Path) -> None:
    shown = show_object(view)["card"]
    assert [row["id"] for row in shown] == [row.id for row in card_of(view).rows]
    page = write([view.path], tmp_path / "page.html").read_text()
    places = [page.index(f"<dt>{row['label']}</dt>") for row in shown[1:]]
    assert places == sorted(places)
    terminal_text = " ".join(printed(view).split())
    assert all(" ".join(row["value"].split()) in terminal_text for row in shown)


GRADED = re.compile(r'<span class="grade (\w)" title="confidence">\1</span>(?:<span>)?([^<]*)<')


@pytest.mark.parametrize("launches", [3, 4])
def test_a_page_has_the_reason_of_its_grade_beside_it(launches: int, tmp_path: Path) -> None:
    run = load_view(make_virtual_run(tmp_path / "run", 400e6, 100e6, launches=launches))
    ((grade, reason),) = GRADED.findall(write([run.path], tmp_path / "page.html").read_text())
    (row,) = [row for row in card_of(run).rows if row.id == "confidence" or row.label == "Why"]
    assert grade == run.confidence == ("C" if launches < 4 else "A")  # too few launches are a reason of their own
    assert reason == "3 launches of at least 4" or launches == 4
    assert unescape(reason).replace("\u00a0", " ") == (row.note if row.id == "confidence" else row.value)
    assert len(reason) > len("confidence")


def test_a_bar_with_more_ranks_than_cores_is_marked_and_never_the_hot_one(tmp_path: Path) -> None:
    """Four ranks on two cores stood in red beside an answer about two ranks."""
    run = load_view(make_run(tmp_path / "run"))  # p = 1, 2 and, oversubscribed, 4
    bars = run.story.bars(run)
    assert [bar.crowded for bar in bars] == [False, False, True]
    assert [bar.name.endswith(" *") for bar in bars] == [bar.crowded for bar in bars]
    assert bar_lines(bars)[-1].endswith(CROWDED)
    picture = draw_times(run)
    assert picture is not None and CROWDED in picture.key
    kinds = re.findall(r'class="(\w+)-bar"', picture.svg)
    assert kinds[-1] == "open" and "open" not in kinds[:-1]


def test_bars_without_an_answer_are_those_of_the_series_that_the_card_names(tmp_path: Path) -> None:
    """A card named weak scaling, 225x slower, beside bars of strong scaling, which grow 59 times."""
    run = load_view(make_virtual_run(tmp_path / "run", 400e6, 100e6, launches=3))
    named = next(row for row in run.verdicts if row["kind"] == "weak")
    assert card_of(run).rows[0].value.startswith("weak scaling")
    bars = run.story.bars(run)
    assert bars[-1].seconds / bars[0].seconds == pytest.approx(named["factor"])


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
    table = Table("t", (Words("Change-over of"), Words("Knob"), "Kind"), ((f"MPI_Alltoall, {name}", name, "jump"),))
    out = console(width + 40)
    with out.capture() as captured:
        out.print(terminal(table, width))
    text = captured.get()
    assert text.count(name) == 2
    assert "Change-over" in text


def test_a_run_without_a_sample_claims_nothing(tmp_path: Path) -> None:
    """It was rated A, since nothing spoke against its numbers."""
    view = load_view(make_empty(tmp_path / "run"))
    assert [each["id"] for each in view.claimed("answer")] == ["contention.inconclusive"]
