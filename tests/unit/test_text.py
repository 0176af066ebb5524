# SPDX-License-Identifier: BSD-3-Clause
"""Names of others as plain text, in each medium."""

import csv
import io
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import FabricError
from weft.report.tabular import Table, comma_separated, markdown, terminal
from weft.text import console, csv_field, directive, latex, one_line, plain, plain_tree

SOURCES = Path(__file__).parents[2] / "src" / "weft"
HOSTILE = "[red]a[/] \x1b[31mb\x1b]0;title\x07 \x9b2J \u202ec \r\n=d:smile: \\input{/etc/passwd} % | <script>"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    assert not RAW.search(plain(text))
    assert "\n" not in one_line(text)
    assert not RAW.search(latex(text))
    assert len(plain(text)) == len(text)
    assert plain(plain(text)) == plain(text)


@given(st.text(alphabet=st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=40))
def test_a_text_without_any_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


def test_a_terminal_gets_the_text_and_nothing_to_obey() -> None:
    out = console(width=200, file=io.StringIO(), force_terminal=True)
    out.print(HOSTILE, style="bold")
    out.print(terminal(Table(HOSTILE, (HOSTILE,), ((HOSTILE,),))))
    shown = out.file.getvalue()
    assert "\x1b[1m" in shown, "rich's own codes pass"
    assert not re.search("\x1b\\[31m|\x1b\\]|\x9b|\x07|\u202e|\r", shown)
    assert shown.count("[red]a[/]") == 4
    assert shown.count(":smile:") == 4


@pytest.mark.parametrize("begin", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_gets_no_formula(begin: str) -> None:
    text = comma_separated(("name", "value"), [(begin, -1.5)])
    row = list(csv.reader(io.StringIO(text)))[1]
    assert row[0].startswith("'")
    assert row[1] == "-1.5", "a number stays one"
    assert csv_field(None) is None


def test_markdown_cells_stay_in_their_row() -> None:
    table = markdown(Table("t", ("a", "b"), (("x|y\nz", "<script>"),)))
    assert len(table.splitlines()) == 5
    assert "<script" not in table


@pytest.mark.parametrize("value", ["p\nrm -rf ~", "a\rb", "a\x1b", "a\x85b"])
def test_no_line_end_gets_into_the_head_of_a_job_script(value: str) -> None:
    with pytest.raises(FabricError, match="cannot be written into a job script"):
        directive(value)
    assert directive("gpu,low@x") == "gpu,low@x"


def test_trees_are_made_plain_to_their_leaves() -> None:
    assert plain_tree({"a\x1b": [{"b": "\x07"}, 1, None]}) == {"a␛": [{"b": "␇"}, 1, None]}


def test_every_console_is_this_one() -> None:
    """A console of rich's own would take markup, and pass on ESC."""
    found = [path for path in SOURCES.rglob("*.py") if re.search(r"\bConsole\(", path.read_text())]
    assert found == []
    words = subprocess.run(
        ["grep", "-rlE", r"\[(bold|dim|red|/)\]|from_markup", str(SOURCES), "--include=*.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert words.stdout == "", "no text is put together as markup"


@pytest.mark.parametrize("columns", [40, 132])
def test_a_terminal_that_knows_no_control_codes_has_its_own_width(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", str(columns))
    assert console(force_terminal=True).width == columns
