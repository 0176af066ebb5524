# SPDX-License-Identifier: BSD-3-Clause
"""Measure some cells of a machine, fit a rough description of it to two of them, and predict the others."""

from pathlib import Path

import pytest
from simulated_cells import TARA

from weft.cli.app import main
from weft.fabric import load_fabric
from weft.fit.inputs import read_cells
from weft.fit.run import fit_cells
from weft.kernel.studies import load_study
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.run.one import run_study

pytestmark = pytest.mark.simulated
STUDY = """
name = "small"
kernel = "exchange"
[exchange]
calls = ["C"]
[[series]]
name = "strong"
scaling = "strong"
nodes = [1, 2, 4, 8]
ranks_per_node = 2
n = 25600
m = 512
"""
ROUGH = TARA.replace('"5.36 GB/s"', '"9 GB/s"').replace('"2.62 GB/s"', '"1 GB/s"')


@pytest.fixture
def measured(tmp_path: Path, programs: Programs) -> Path:
    """A run on the machine as it is; here that machine is simulated, too, so that its numbers are known."""
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "true.toml").write_text(TARA)
    fabric = load_fabric(tmp_path / "true.toml")
    study = load_study(tmp_path / "study.toml")
    return run_study(study, fabric, tmp_path / "run", SimulatedLauncher(fabric, programs)).path


def test_a_fit_to_two_cells_of_a_run_finds_the_machine_and_predicts_the_other_cells(
    tmp_path: Path, measured: Path
) -> None:
    rough = tmp_path / "rough.toml"
    rough.write_text(ROUGH)
    found = fit_cells(load_fabric(rough), read_cells(measured, "C"), ["copy_rate", "adapter_rate"], [], simulate=True)
    assert found.parameters["copy_rate"] == pytest.approx(5.36e9, rel=0.01)
    assert found.parameters["adapter_rate"] == pytest.approx(2.62e9, rel=0.01)
    predicted = [cell for cell in found.cells if not cell.fitted]
    assert len(predicted) == 2
    assert max(abs(cell.error) for cell in predicted) < 0.01


def test_the_fitted_fabric_is_written_and_runs_the_study_with_the_same_times(
    tmp_path: Path, measured: Path, programs: Programs
) -> None:
    rough, new = tmp_path / "rough.toml", tmp_path / "new.toml"
    rough.write_text(ROUGH)
    told = ["--parameters", "copy_rate,adapter_rate", "-o", str(new)]
    assert main(["fabric", "fit", str(rough), "--to", str(measured), *told]) == 0
    fabric = load_fabric(new)
    assert "by simulation" in fabric.sources["node.copy_rate"]
    again = run_study(
        load_study(tmp_path / "study.toml"), fabric, tmp_path / "again", SimulatedLauncher(fabric, programs)
    )
    compared = fit_cells(fabric, read_cells(again.path, "C"), ["copy_rate"], [], simulate=True)
    assert compared.parameters["copy_rate"] == pytest.approx(5.36e9, rel=0.01)
