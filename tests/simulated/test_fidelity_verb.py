# SPDX-License-Identifier: BSD-3-Clause
"""A part of `weft fidelity` that CI can afford: Tables 4.2, 4.4 and 4.6 against the papers' figures."""

import json
from pathlib import Path

import pytest

from weft.cli.app import main
from weft.launch.simulated.programs import Programs

pytestmark = [pytest.mark.simulated, pytest.mark.timeout(900)]


def values(tmp_path: Path, part: str) -> dict[str, float]:
    page = tmp_path / f"{part}.html"
    assert main(["fidelity", part, "-o", str(page), "--into", str(tmp_path / "runs")]) == 0
    assert page.with_suffix(".md").read_text().startswith("# Fidelity")
    return json.loads(page.with_suffix(".json").read_text())[part]


def test_three_cells_of_tara_predict_the_six_others(tmp_path: Path, programs: Programs) -> None:
    found = values(tmp_path, "tables")
    assert found["largest"] < 0.05
    assert found["mean"] < 0.025
    assert found["adapter_rate"] == pytest.approx(2.66e9, rel=0.01)
    assert found["copy_rate"] == pytest.approx(5.36e9, rel=0.01)


def test_row_b_is_slow_at_first_contact_and_fast_when_connections_are_warm(tmp_path: Path, programs: Programs) -> None:
    found = values(tmp_path, "calls")
    row_b = {name: error for name, error in found.items() if name in ("B9", "B18", "B36")}
    assert len(row_b) == 3
    assert max(map(abs, row_b.values())) < 0.25
    assert found["B_warm"] < 0.005
