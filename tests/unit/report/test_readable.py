# SPDX-License-Identifier: BSD-3-Clause
"""Terminal tables of 80 columns keep names whole; numbers are written out; colours do not exaggerate."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made.links import make_virtual_run
from made.plain_run import make_probe_run, make_replay_run
from made.sweeps import BANDWIDTH, COLLECTIVE, MadeSweep, make_sweep
from made.view import load_view
from weft.format import format_factor, with_title
from weft.report.card import card_of, factor_text
from weft.report.compare.tables import p_equals
from weft.report.figures.matrix import NARROWEST, palette, scale_of
from weft.report.figures.sizes import KEY, RATE_KEY, TILE_COLOURS
from weft.report.figures.theme import BLUE, DARKER, GREEN, GREY, INK, ORANGE, RED
from weft.report.html import unbroken
from weft.report.page import NO_FIGURES, NO_TIME, write
from weft.report.tables import held_back_table, print_view
from weft.report.tabular import Number, Table, Words, terminal
from weft.report.view import RunView
from weft.text import console

NAMES = (
    "coll_tuned_alltoall_intermediate_msg", "node.multi{nl=4,inner=pairwise,outer=bruck}",
    "btl_sm_eager_limit", "MPI_Reduce_scatter_block",
)  # fmt: skip


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> list[RunView]:
    """A sweep over algorithms, whose tables have the longest names, and one of bandwidth."""
    folder = tmp_path_factory.mktemp("sweeps")
    made = [MadeSweep(COLLECTIVE.format(algorithms="each")), MadeSweep(BANDWIDTH.format(cache="hot"))]
    return [load_view(make_sweep(folder / str(number), each)) for number, each in enumerate(made)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [Words, Number])
def test_no_name_is_broken_in_a_table_of_80_columns(name: str, kind: type[str]) -> None:
    columns = (Words("Change-over of"), kind("Knob or algorithm"), "Time of one call", "Bytes", "Kind")
    row = (f"MPI_Alltoall, {name}", name, "52.1 ms (51.8–52.9)", "4,096 – 8,192", "jump")
    assert printed(Table("t", columns, (row, row))).count(name) == 4


@pytest.mark.parametrize("width", [60, 80])
def test_no_column_of_a_table_is_cut_off_where_its_words_fit(width: int) -> None:
    """Left to itself, rich made columns too narrow, and let the last ones go beyond the screen's edge."""
    columns = (Words("Message, pairs"), Words("hops"), "pairs", "samples", "min", "mean", "median", "p99", "max")
    units = ("", "", "", "", "of the pairs' medians: half a round trip", "", "", "", "")
    row = ("256 KiB, isolated", "0 hops, same leaf", "768", "768", *("3.88 ns",) * 4, "929 us")
    text = printed(Table("t", columns, (units, row)), width)
    assert max(map(len, text.splitlines())) <= width
    assert {"max", "929", "us"} <= set(re.findall(r"\w+", text))


def printed(table: Table, width: int = 80) -> str:
    out = console(200)
    with out.capture() as captured:
        out.print(terminal(table, width))
    return captured.get()


def test_every_name_of_a_run_stands_whole_on_a_terminal_of_80_columns(sweeps: list[RunView]) -> None:
    for view in sweeps:
        out = console(80)
        with out.capture() as captured:
            print_view(view, out, every=True)
        text = captured.get()
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80
        told = {word for line in lines for word in re.findall(r"[A-Za-z]\w*_\w+", line)}
        known = set(re.findall(r"[A-Za-z]\w*_\w+", known_words(view)))
        assert told <= known, "half a name is none"


def known_words(view: RunView) -> str:
    """All names that a run may print, one a word."""
    from weft.report.tables import all_tables

    cells = [cell for table in all_tables(view) for row in (table.columns, *table.rows, (table.title,)) for cell in row]
    found = [text for each in view.findings for text in (each["where"], each["what"], each["remedy"])]
    return " ".join([*cells, *found, *(row.text for row in card_of(view).rows), str(view.path)])


def test_a_factor_is_written_out_wherever_it_stands(tmp_path: Path) -> None:
    assert (format_factor(170.4), format_factor(1700)) == ("170", "1,700")
    row: Any = {"factor": 1700.0, "factor_low": 1650.0, "factor_high": 17_300.0}
    assert factor_text(row) == "  x 1,700 (1,650 to 17,300)"
    table = held_back_table(load_view(make_virtual_run(tmp_path / "run", 400e6, 100e6, reached=1 / 1700)))
    assert table is not None
    assert sum(bool(re.match(r"1,69\d x", text)) for row in table.rows for text in row) == 2
    assert (p_equals(0.0315), p_equals(1.2e-5)) == ("p = 0.032", "p < 0.001")


def test_the_limit_of_a_rate_is_an_upper_one_and_that_of_a_time_a_lower_one() -> None:
    assert "upper limit" in RATE_KEY
    assert "Dashed: lower bound" not in RATE_KEY
    assert "Dashed: lower bound" in KEY


def test_values_03_per_cent_apart_have_one_colour_and_values_apart_by_a_quarter_two() -> None:
    near, far = np.array([[1.0, 1.003]]), np.array([[1.0, NARROWEST]])
    shown = [palette()[scale_of(each, np.inf).indices(each)].astype(int) for each in (near, far)]
    apart = [int(np.abs(each[0, 0] - each[0, 1]).max()) for each in shown]
    assert apart[0] <= 5, "of 255: nobody sees that"
    assert apart[1] > 100


def test_words_in_figures_are_dark_enough_to_read() -> None:
    words = [DARKER.get(colour, colour) for colour in (BLUE, ORANGE, GREEN, RED, GREY, INK)]
    assert min(contrast(colour) for colour in (*words, *TILE_COLOURS)) >= 4.5
    assert min(contrast(colour) for colour in DARKER) < 4.5, "this test would see a colour that is too light"


def contrast(colour: str) -> float:
    """The contrast of a colour with white, by WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def test_runs_without_figures_say_so_and_do_not_say_that_nothing_was_timed(tmp_path: Path) -> None:
    for make in (make_probe_run, make_replay_run):
        view = load_view(make(tmp_path / make.__name__))
        assert view.claimed("answer")[0]["id"].partition(".")[0] in ("probe", "replay")
        page = write([view.path], tmp_path / "page.html").read_text()
        assert NO_FIGURES in page
        assert NO_TIME not in page
        assert "come from a <b>virtual network</b>" in page


def test_a_name_without_a_title_has_no_colon() -> None:
    assert with_title("made", "All-to-all") == "made: All-to-all"
    assert with_title("made", "") == "made"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("add launches: --launches 10.", 'add launches: <span class="option">--launches 10</span>.'),
        ("<b>--into</b> DIR", '&lt;b&gt;<span class="option">--into</span>&lt;/b&gt; DIR'),
        ("a -- b, n--m, 10--20", "a -- b, n--m, 10--20"),
    ],
)  # fmt: skip
def test_no_line_of_a_page_ends_within_an_option_and_markup_stays_text(text: str, html: str) -> None:
    assert str(unbroken(text)) == html
