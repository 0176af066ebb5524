# SPDX-License-Identifier: BSD-3-Clause
"""Cells that would cost the simulator too much: rows with their lower bound, and the run goes on."""

import math
from pathlib import Path

import pytest
from simulated_cells import TARA

from made.view import load_view
from weft.errors import LaunchError
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch.simulated import learned
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs, build_programs
from weft.report import tables
from weft.run.one import exit_code, run_study, statuses

pytestmark = pytest.mark.simulated
STUDY = """
name = "small"
kernel = "exchange"
explain = false
[exchange]
calls = ["C"]
[[series]]
name = "strong"
scaling = "strong"
nodes = [1, 2, 4, 8]
ranks_per_node = 2
n = 256
m = 64
"""


@pytest.fixture(autouse=True)
def unlearned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a slow host takes teaches nothing: the costs are those of the table."""
    monkeypatch.setattr(learned, "LEAST_S", math.inf)


def run(tmp_path: Path, programs: Programs, budget: str) -> Path:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "fabric.toml").write_text(TARA + f'budget = "{budget}"\nengine = "ranks"\n')
    study, fabric = load_study(tmp_path / "study.toml"), load_fabric(tmp_path / "fabric.toml")
    folder = run_study(study, fabric, tmp_path / "run", SimulatedLauncher(fabric, programs))
    assert exit_code(statuses(folder)) == 0
    return folder.path


def test_what_would_cost_too_much_is_a_row_with_its_bound_and_no_failure(tmp_path: Path, programs: Programs) -> None:
    path = run(tmp_path, programs, "8 ms")
    rows = {row["nodes"]: row for row in load_view(path).rows if row["phase"] == "warm"}
    assert [rows[nodes]["status"] for nodes in (1, 2, 4, 8)] == ["ok", "ok", "ok", "bound"]
    refused = rows[8]
    assert refused["median_s"] is None
    assert refused["bound_s"] > 0
    assert "not simulated: simulating" in refused["reason"]
    assert "the lower bound instead: at least" in refused["reason"]
    text = tables.render(load_view(path), "text")
    assert "bound" in text
    assert "raise simulation.budget" in text


def test_a_run_of_nothing_but_bounds_is_not_taken_for_ranks_that_do_not_start(
    tmp_path: Path, programs: Programs
) -> None:
    rows = load_view(run(tmp_path, programs, "1 us")).rows
    assert {row["status"] for row in rows} == {"bound"}


def test_a_refused_cell_is_final(tmp_path: Path, programs: Programs) -> None:
    path = run(tmp_path, programs, "8 ms")
    before = {file: file.stat().st_mtime_ns for file in (path / "cells").iterdir()}
    assert run(tmp_path, programs, "8 ms") == path
    assert {file: file.stat().st_mtime_ns for file in (path / "cells").iterdir()} == before


def test_a_kernel_that_calls_what_smpi_lacks_is_told_by_that_call(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "native" / "simulate").mkdir(parents=True)
    (tmp_path / "native" / "CMakeLists.txt").write_text("")
    (tmp_path / "native" / "simulate" / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(small LANGUAGES CXX)\nadd_executable(weft-measure main.cpp)\n"
    )
    (tmp_path / "native" / "simulate" / "main.cpp").write_text(
        "#include <mpi.h>\nint main() { return MPI_Bcast_from_tomorrow(0); }\n"
    )
    with pytest.raises(LaunchError, match="has no MPI_Bcast_from_tomorrow, which a kernel calls"):
        build_programs(programs.simgrid, sources=tmp_path / "native")
