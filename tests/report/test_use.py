# SPDX-License-Identifier: BSD-3-Clause
"""What a reader does on a page, by real clicks: contents, folded tables, copying, legends, the command to type."""

import csv
import io
import shlex
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser

from made.pages import make_hostile, trace_page
from made.run import Made, make_run
from weft.report.compare import load_compare
from weft.report.compare.page import write as write_compare
from weft.report.page import write
from weft.run.refresh import refresh

pytestmark = [
    pytest.mark.report,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not here: apt install chromium"),
]
FAINT = (
    "new Promise(done => setTimeout(done, 100)).then(() => "
    "[...document.querySelectorAll('.canvas svg .mark-symbol.role-mark path')]"
    ".filter(each => +getComputedStyle(each).opacity < .1).length)"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run with a hostile name, and one to compare it with."""
    folder = tmp_path_factory.mktemp("use")
    made = [make_hostile(folder / '=it\'s "a", run; $HOME'), make_run(folder / "-other", Made(samples=3))]
    for run in made:
        refresh(run)
    return made


@pytest.fixture
def page(runs: list[Path], browser: Browser) -> Browser:
    """The page of the hostile run, open."""
    browser.open(write(runs[:1], runs[0].parent / "one.html"), unfold=False)
    browser.ask("document.querySelectorAll('details.fold').forEach((each) => { each.open = true; })")
    return browser


@pytest.fixture
def compared(runs: list[Path], browser: Browser) -> Browser:
    """The page of both runs compared, open."""
    browser.open(write_compare(load_compare(runs), [], runs[0].parent / "both.html"))
    return browser


def test_a_click_unfolds_a_table_and_another_folds_it(page: Browser) -> None:
    folded = "document.querySelectorAll('details.table')[1]"
    seen = f"{folded}.querySelector('table').checkVisibility()"
    assert not page.ask(seen)
    page.click(f"{folded}.querySelector('summary')")
    assert page.ask(seen)
    page.click(f"{folded}.querySelector('summary')")
    assert not page.ask(seen)


def copied(page: Browser, table: int = 0) -> list[list[str]]:
    """Rows of what a click on the button of a table leaves to be pasted."""
    button = f"document.querySelectorAll('button.copy')[{table}]"
    page.ask(f"{button}.closest('details').open = true")
    page.click(button)
    assert page.ask(f"new Promise((done) => setTimeout(() => done({button}.textContent), 50))") == "Copied"
    return list(csv.reader(io.StringIO(page.pasted())))


def test_a_copied_table_is_pasted_with_units_and_a_column_for_each_number(page: Browser) -> None:
    head, _, first, bound, *_ = copied(page)
    assert head == ["Nodes N", "1", "", "1", ""]
    assert first[0] == "m = 512 (constant-global)"
    assert first[1].endswith((" ms", " us"))
    assert first[2].startswith("(")
    assert bound[0] == "at least"
    assert bound[2] == "memory copy"
    page.ask("document.querySelector('td').textContent = '1,234,567 B'")
    assert copied(page)[2][1] == "1234567 B"


@pytest.mark.parametrize(
    ("hostile", "pasted"),
    [
        ('=HYPERLINK("http://x","y")', '\'=HYPERLINK("http://x","y")'),
        ("@SUM(A1), b", "'@SUM(A1), b"),
        ("-cmd|x", "'-cmd|x"),
        ("-1.5 us", "-1.5 us"),
        ('a "b", c', 'a "b", c'),
        ("two\nlines", "two lines"),
    ],
)
def test_a_hostile_name_is_pasted_as_one_field_and_never_as_a_formula(hostile: str, pasted: str, page: Browser) -> None:
    page.ask(f"document.querySelector('tbody th').textContent = {hostile!r}")
    assert copied(page)[2][0] == pasted


def test_a_comparison_has_folded_tables_and_what_to_type(compared: Browser, runs: list[Path]) -> None:
    assert len({len(row) for row in copied(compared)}) == 1
    words = shlex.split(compared.ask("document.querySelector('code.command').textContent"))
    assert words == ["weft", "compare", *map(str, runs), "-o", "compare.html"]


def test_the_commands_of_a_page_can_be_typed_whatever_the_run_is_called(page: Browser, runs: list[Path]) -> None:
    digits, again = page.ask("[...document.querySelectorAll('code.command')].map(each => each.textContent)")
    assert shlex.split(digits) == ["weft", "show", str(runs[0]), "--format", "csv"]
    words = shlex.split(again)
    assert (words[:2], words[3], words[5:]) == (["weft", "run"], "--on", ["--into", "NEW"])
    assert [Path(words[2]).is_file(), Path(words[4]).is_file()] == [True, True]
    assert "</script><b>MPI</b>" in page.ask("document.querySelector('.what').textContent")
    assert page.ask("heard.length + document.querySelectorAll('.what b').length") == 0


def test_a_click_in_a_legend_shows_one_run_shift_adds_one_and_a_double_click_all(
    compared: Browser,
) -> None:
    entry = "document.querySelectorAll('.canvas svg .role-legend-symbol path')[{}]"
    assert compared.ask(FAINT) == 0
    compared.click(entry.format(0))
    hidden = compared.ask(FAINT)
    assert hidden > 0
    compared.click(entry.format(1), shift=True)
    assert compared.ask(FAINT) == 0
    compared.click(entry.format(1))
    assert compared.ask(FAINT) == hidden
    for place in (entry.format(0), "document.querySelector('.canvas svg g.mark-group path.background')"):
        compared.click(entry.format(1))
        assert compared.ask(FAINT) == hidden
        compared.click(place, times=2)
        assert compared.ask(FAINT) == 0


def test_the_lanes_of_a_trace_are_zoomed_and_read_under_the_pointer(tmp_path: Path, browser: Browser) -> None:
    trace_page(tmp_path, tmp_path / "trace.html")
    browser.open(tmp_path / "trace.html", unfold=False)
    view = "document.querySelector('svg.timeline').dataset.view"
    browser.click("document.querySelector('.zoom button[data-by=\"0.5\"]')")
    columns = int(browser.ask("document.querySelector('svg.lanes image').width.baseVal.value"))
    assert browser.ask(view) == f"{columns // 4} {columns // 2}"
    browser.click("document.querySelector('.zoom button[data-by=\"0\"]')")
    assert browser.ask(view) == f"0 {columns}"
    browser.click("document.querySelector('svg.lanes image')")
    assert browser.ask("document.querySelector('svg.timeline').dataset.pointed").startswith("rank ")
