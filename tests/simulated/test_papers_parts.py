# SPDX-License-Identifier: BSD-3-Clause
"""Each other part of `weft papers`, at a few of its own cells: what it finds there is what it says."""

from pathlib import Path
from typing import Any

import pytest

from weft.format import percent
from weft.launch.simulated.simgrid import Programs
from weft.papers import Bench, Part, beyond, datasheet, memory, published, scaling
from weft.papers.tables import cells

pytestmark = pytest.mark.simulated
STUDY = """
name = "{name}"
kernel = "exchange"
explain = false
[measure]
launches = 1
budget = "30 s"
[placement]
nodes = "compact"
[exchange]
data = "contention"
calls = ["C"]
"""
SERIES = """
[[series]]
name = "{name}"
scaling = "{scaling}"
nodes = {nodes}
ranks_per_node = 8
n = 1492992
m = "{m}"
"""


def written(folder: Path, name: str, *series: dict[str, Any]) -> str:
    """A study of these series."""
    path = folder / f"{name}.toml"
    path.write_text(STUDY.format(name=name) + "".join(SERIES.format(**each) for each in series))
    return str(path)


def test_strong_scaling_falls_and_weak_scaling_rises(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    strong = written(tmp_path, "strong", {"name": "constant-global", "scaling": "strong", "nodes": [1, 3], "m": "512"})
    weak = written(tmp_path, "weak", {"name": "constant-local", "scaling": "weak", "nodes": [1, 3], "m": "512 * N"})
    studies = {"constant-global": (strong, "strong"), "constant-local": (weak, "weak")}
    monkeypatch.setattr(scaling, "STUDIES", studies)
    found = scaling.compute(Bench(tmp_path / "runs"))
    paper = published("tara")["seconds"]
    assert found.values["equal"] == 1
    for series in studies:
        expected = paper[series][1] / paper[series][0]  # the paper's own factor from N = 1 to 3
        assert found.values[f"{series}_simulated"] == pytest.approx(expected, rel=0.05)
    assert found.found[0] == "Both verdicts equal the paper's."
    # turned round, a verdict that differs is said
    monkeypatch.setattr(scaling, "published", lambda _: {"seconds": {name: [1.0, 2.0] for name in studies}})
    assert scaling.compute(Bench(tmp_path / "runs")).found[0] == "A verdict differs from the paper's."


def test_a_cell_that_the_paper_marks_err_is_refused_and_another_runs(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = written(tmp_path, "limit", {"name": "m1024N", "scaling": "weak", "nodes": [1, 9], "m": "1024 * N"})
    tara = published("tara")
    few = {"experiment": tara["experiment"] | {"nodes": [1, 9]}, "memory": {"1024": [85.0, float("nan")]}}
    monkeypatch.setattr(memory, "STUDY", study)
    monkeypatch.setattr(memory, "published", lambda _: few)
    monkeypatch.setattr(memory, "peer_buffers_that_explain", lambda: (1.0, 2.0))  # of all cells: its own unit test
    right = memory.compute(Bench(tmp_path / "runs"))
    assert counted(right) == (2, 0)
    # it counts what fits, not times, which may be off by any factor
    assert right.found[0].startswith(
        "2 of 2 cells fit into memory, or do not, as in the paper: all that print ERR, and"
    )
    few["memory"]["1024"] = [float("nan"), 1.0]
    wrong = memory.compute(Bench(tmp_path / "runs"))
    assert counted(wrong) == (0, 2)
    assert wrong.found[0].startswith(
        "0 of 2 cells fit into memory, or do not, as in the paper: not all that print ERR,"
    )


def counted(part: Part) -> tuple[float, float]:
    return part.values["right"], part.values["wrong"]


def test_beyond_tara_the_closed_form_stands_beside_what_was_simulated(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    strong = {"name": "constant-global", "scaling": "strong", "nodes": [9, 18], "m": "512"}
    study = written(tmp_path, "far", strong, strong | {"name": "constant-local", "scaling": "weak", "m": "512 * N"})
    monkeypatch.setattr(beyond, "STUDY", study)
    found = beyond.compute(Bench(tmp_path / "runs"))
    for series in ("constant-global", "constant-local"):
        for nodes in (9, 18):
            simulated, closed = found.values[f"{series}{nodes}"], found.values[f"{series}{nodes}_closed"]
            assert closed == pytest.approx(simulated, rel=0.1)
    assert any("still falls at N = 18" in sentence for sentence in found.found)
    assert any("up to N = 18 in constant-global and up to N = 18 in constant-local" in each for each in found.found)


@pytest.mark.long
def test_a_data_sheet_alone_errs_by_what_its_page_says(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [cell for cell in cells() if cell.nodes in (1, 3)]
    assert len(few) == 3
    monkeypatch.setattr(datasheet, "cells", lambda: few)
    monkeypatch.setattr(datasheet, "both_tables", lambda _: ())  # of all nine cells
    found = datasheet.compute(Bench(tmp_path / "runs"))
    assert 0 < found.values["mean"] <= found.values["largest"] < 0.2
    assert any(percent(found.values["largest"]) in sentence for sentence in found.found)
    # N = 1 errs by its copies alone, so the largest error follows from the preset's rate by hand: 5.36 / 25.6 - 1
    assert found.values["sheet_fair_largest"] == pytest.approx(1 - 5.36 / 25.6, rel=0.01)
    assert "the preset has 25.6 GB/s" in found.found[-1]
    assert (
        "the paper's time asks for 5.36 GB/s. With 20 GB/s taken from the same data sheet it would be 73 %."
        in found.found[-1]
    )
