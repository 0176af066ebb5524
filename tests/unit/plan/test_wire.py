# SPDX-License-Identifier: BSD-3-Clause
"""The flat plan is read back as it was written: no value is cut, joined or taken for another."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made.flat import read_flat
from weft.errors import DataError
from weft.plan.records import LaunchCell
from weft.plan.wire import FlatHead, Rules, flat_launch, write_flat
from weft.study import Measure

HEAD = {"launch": "c000.l1", "launch_index": 1}
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(TEXTS.filter(lambda text: text))
def test_every_text_comes_back(text: str) -> None:
    found = read_flat(write_flat(HEAD | {"folder": text}, [{"cell": "c000", "file": text, "n": 3}]))
    assert found.head["folder"] == text
    assert found.cells == ({"cell": "c000", "file": text, "n": "3"},)


@pytest.mark.parametrize("byte", range(1, 128))
def test_every_ascii_character_comes_back_on_a_line_of_its_own(byte: int) -> None:
    text = f"/runs/p{chr(byte)}2{chr(byte)}"
    written = write_flat(HEAD | {"folder": text}, [])
    assert read_flat(written).head["folder"] == text
    assert written.count("\n") == 4  # a newline in a name must not become a line


def test_a_path_of_bytes_that_are_no_utf8_is_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"udcff.*not UTF-8"):
        write_flat(HEAD | {"folder": "/runs/\udcff"}, [])


def test_a_word_that_would_become_two_is_refused() -> None:
    with pytest.raises(DataError, match="'A B'"):
        write_flat(HEAD, [{"cell": "c000", "calls": ["A B"]}])


@pytest.mark.parametrize("value", ['"open', '"a" b', '"\\n"', '"\\x4"', '"a\\"'])
def test_quotes_that_are_wrong_are_refused(value: str) -> None:
    with pytest.raises(DataError, match="line 2"):
        read_flat(f"weft-plan 2\nfolder {value}\n")


def test_another_version_is_refused() -> None:
    with pytest.raises(DataError, match="version 2"):
        read_flat("weft-plan 1\nfolder /runs\n")


CELL = LaunchCell("c000", "exchange", {"n": 16, "m": 8, "data": "contention", "calls": ["C"]}, 4, "0123", 30.0)
MEASURE = Measure(start="window", warmup_most=50)  # pyright: ignore[reportCallIssue]


def test_without_rules_the_study_says_how_samples_are_taken() -> None:
    head = read_flat(flat_launch(FlatHead("c000.l1", 1, Path("/runs")), [CELL], MEASURE)).head
    assert (head["io"], head["start"], head["limit_ns"]) == ("mpi", "window", "30000000000")
    assert (head["min_samples"], head["max_samples"], head["warmup_most"]) == ("10", "1000", "50")


def test_a_launch_names_the_one_that_has_the_settings() -> None:
    plain, later = (
        read_flat(flat_launch(FlatHead("g000.l2", 2, Path(), settings_of=of), [CELL], MEASURE)).head
        for of in ("", "g000.l1")
    )
    assert "settings_of" not in plain
    assert later["settings_of"] == "g000.l1"


def test_a_launchers_rules_win_over_the_study_and_change_no_cell() -> None:
    rules = Rules(io="posix", start="barrier", samples=1, watchdog=False)
    plain, ruled = (
        read_flat(flat_launch(FlatHead("l", 1, Path()), [CELL], MEASURE, each)) for each in (Rules(), rules)
    )
    assert (ruled.head["io"], ruled.head["start"], ruled.head["limit_ns"]) == ("posix", "barrier", "0")
    assert (ruled.head["min_samples"], ruled.head["max_samples"], ruled.head["warmup_most"]) == ("1", "1", "0")
    assert ruled.cells == plain.cells
    assert ruled.head.keys() == plain.head.keys()
