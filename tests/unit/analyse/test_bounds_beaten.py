# SPDX-License-Identifier: BSD-3-Clause
"""A bound whose rate was measured twice, before the cells and beside them, and that samples beat both times."""

from pathlib import Path
from typing import cast

import pytest

from made.run import LOCAL, Made, make_run
from made.view import load_view
from weft.analyse.checks import bounds_beaten
from weft.analyse.doubts import quality
from weft.analyse.floor import Floor
from weft.analyse.tables.times import CallRow, holding_bound_s, is_beaten, timed
from weft.report.intervals import bound_text
from weft.report.view import RunView

SLOW = 8e6
"""Bytes a second of copies that met other work; the calls move 4 GB/s."""


def run_with(folder: Path, beside: float) -> RunView:
    fabric = LOCAL.replace('copy_rate = "8 GB/s"\n', "")
    return load_view(make_run(folder, Made(fabric=fabric, copy_rate=SLOW, copy_rate_beside=beside)))


def exchanges(view: RunView) -> list[CallRow]:
    rows = [row for row in timed(view.rows, "C", "warm") if row["ranks"] > 1]
    assert rows
    return rows


def test_a_bound_that_is_beaten_by_both_measurements_is_none_and_says_why(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", beside=2 * SLOW)
    first = exchanges(run_with(tmp_path / "before", beside=SLOW / 2))
    for row, before in zip(exchanges(view), first, strict=True):
        assert row["bound_s"] == pytest.approx((before["bound_s"] or 0.0) / 2, rel=0.05), "the better of both counts"
        assert is_beaten(before) and is_beaten(row)
        assert row["bound_basis"] == "measured"
        assert holding_bound_s(row) is None
        assert "a sample beat it" in bound_text(row)
    beaten = [each for each in view.findings if each["rule"] == "bound-beaten"]
    assert {each["where"] for each in beaten} >= {f"C warm, N = 1, p = {row['ranks']}, m = 512" for row in first[:1]}
    assert {each["level"] for each in beaten} == {"error"}
    assert all("fabric file" not in each["remedy"] for each in beaten)
    (doubt,) = [each for each in view.claimed("doubt") if each["id"] == "times.below-bound"]
    assert doubt["next"].startswith("weft run"), "its fabric file states no rate that could be wrong"


@pytest.mark.parametrize(("basis", "below", "level", "doubted"), [
    ("measured", 0.007, "note", False), ("measured", 0.2, "error", True), ("stated", 0.007, "error", True),
])  # fmt: skip
def test_a_sample_within_the_error_of_a_measured_bound_is_no_doubt_about_the_run(
    tmp_path: Path, basis: str, below: float, level: str, doubted: bool
) -> None:
    """A sample 0.7 % below a measured bound: the run was doubted, and advised to look into a file without rates."""
    (row, *_) = exchanges(run_with(tmp_path / "run", beside=80e9))
    beaten = row | {"bound_s": (row["min_s"] or 0.0) / (1 - below), "bound_basis": basis}
    assert holding_bound_s(cast(CallRow, beaten)) is None
    (finding,) = bounds_beaten([cast(CallRow, beaten)])
    assert finding["level"] == level
    found = {each["doubt"] for each in quality([cast(CallRow, beaten)], [], Floor([]), 0.05)}
    assert ("bound" in found) == doubted


def test_a_bound_that_is_mended_beside_its_cell_holds(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", beside=80e9)
    for row in exchanges(view):
        assert holding_bound_s(row)
    assert not [each for each in view.findings if each["rule"] == "bound-beaten"]
