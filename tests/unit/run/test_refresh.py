# SPDX-License-Identifier: BSD-3-Clause
"""Tables are made by one function before they are read; reading makes none."""

import os
from pathlib import Path

import pytest

from made.run import Made, make_run
from weft.errors import CompareError, DataError
from weft.report.view import load_view
from weft.run.refresh import refresh, refresh_compared


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose tables nobody has made yet."""
    return make_run(tmp_path / "run", Made(samples=3))


def test_a_view_makes_no_tables_and_names_the_verb_that_does(run: Path) -> None:
    with pytest.raises(DataError, match=r"calls\.parquet") as caught:
        load_view(run)
    assert "weft show" in caught.value.remedy
    assert not (run / "tables").exists()


def test_tables_are_made_once_and_again_after_a_cell_has_come(run: Path) -> None:
    calls = refresh(run).tables / "calls.parquet"
    assert load_view(run).rows
    made = calls.stat().st_mtime_ns
    refresh(run)
    assert calls.stat().st_mtime_ns == made
    later = made / 1e9 + 1
    os.utime(run / "cells", (later, later))
    refresh(run)
    assert calls.stat().st_mtime_ns > made


def test_a_mistyped_run_of_a_comparison_is_a_mistake_of_its_arguments(run: Path) -> None:
    with pytest.raises(CompareError, match="nowhere does not exist"):
        refresh_compared([run.with_name("nowhere")])


def test_tables_whose_columns_an_earlier_weft_wrote_are_made_anew(run: Path) -> None:
    import pyarrow.parquet as pq

    calls = refresh(run).tables / "calls.parquet"
    pq.write_table(pq.read_table(calls).drop_columns(["interval"]), calls)
    assert load_view(refresh(run).path).rows[0]["interval"]
