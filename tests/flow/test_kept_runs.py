# SPDX-License-Identifier: BSD-3-Clause
"""Runs that were measured once and are kept: their tables stay the same, to the last digit."""

from pathlib import Path

import pytest

from made.kept import RUNS, copy_of, kept_runs, make_tables_of


def test_there_is_a_run_of_each_kernel() -> None:
    assert kept_runs() == ["bandwidth", "collective", "exchange", "pairs"]


@pytest.mark.parametrize("name", kept_runs())
def test_the_tables_of_a_kept_run_stay_the_same(name: str, tmp_path: Path) -> None:
    assert make_tables_of(copy_of(name, tmp_path)).splitlines() == (RUNS / name / "tables.txt").read_text().splitlines()
