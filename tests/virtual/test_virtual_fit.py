# SPDX-License-Identifier: BSD-3-Clause
"""Two cells measured over virtual links give the rates of a model, and the model the times of the other cells."""

from pathlib import Path
from statistics import fmean

import pytest
from clusters import Installed

from weft.cli.app import main
from weft.fabric import Fabric, load_fabric
from weft.files.shipped import shipped
from weft.fit.inputs import read_cells
from weft.kernel.studies import load_study
from weft.launch.build import build_kernels
from weft.launch.simulated.launcher import make_launcher
from weft.launch.virtual.launcher import VirtualLauncher
from weft.launch.virtual.spec import spec_of
from weft.run.one import run_study

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.mpi,
    pytest.mark.simulated,
    pytest.mark.timeout(900),  # the kernels may have to be built first, for the MPI and for SimGrid
    pytest.mark.parametrize("installed", ["openmpi5"], indirect=True),
]

# Of the cells that the fit did not see: 2 % and 5 % were measured; a machine on which eight others work adds to that.
MEAN, WORST = 0.25, 0.5
FITTED = ("N=3 m=256", "N=6 m=256")
HOST, UPLINK, GUESS = 16e6, 8e6, 32e6


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The shipped study, but for its largest size."""
    text = (shipped("studies") / "virtual-fit.toml").read_text()
    path = tmp_path / "study.toml"
    path.write_text(text.replace("m = [128, 256, 512]", "m = [128, 256]"))
    return path


@pytest.fixture
def guessed(tmp_path: Path) -> Path:
    """A description of the machine by somebody who has its plan, and does not know its rates."""
    text = (shipped("fabrics") / "virtual-slow.toml").read_text()
    path = tmp_path / "guessed.toml"
    path.write_text(text.replace('"16 MB/s"', '"32 MB/s"').replace('"8 MB/s"', '"32 MB/s"'))
    return path


@pytest.fixture
def measured(installed: Installed, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The study over the links as they are."""
    # Above it Open MPI waits for an answer, which comes on the socket and behind the bytes of the other way.
    monkeypatch.setenv("OMPI_MCA_btl_tcp_eager_limit", str(4 << 20))
    fabric = load_fabric("virtual-slow")
    launcher = VirtualLauncher(spec_of(fabric), build_kernels(installed.mpi))
    return run_study(load_study(study), fabric, tmp_path / "measured", launcher).path


def times(run: Path) -> dict[str, float]:
    """Medians of the study's cells, by their names."""
    return {cell.label: cell.seconds for cell in read_cells(run)}


def errors(study: Path, fabric: Fabric, measured: Path, into: Path) -> dict[str, float]:
    """How far the study on a simulated machine is from what was measured, in the cells that no fit saw."""
    predicted = times(run_study(load_study(study), fabric, into, make_launcher(fabric, None, lambda _: None)).path)
    return {name: predicted[name] / seconds - 1 for name, seconds in times(measured).items() if name not in FITTED}


@pytest.mark.long
def test_two_measured_cells_predict_the_others(measured: Path, study: Path, guessed: Path, tmp_path: Path) -> None:
    new = tmp_path / "fitted.toml"
    words = ["--parameters", "adapter_rate,link_rate", "--cells", ",".join(FITTED), "-o", str(new)]
    assert main(["fabric", "fit", str(guessed), "--to", str(measured), *words]) == 0
    fitted = load_fabric(new)
    assert (fitted.kind, fitted.name) == ("simulated", "virtual-slow-simulated")
    network = fitted.network
    assert network is not None
    assert network.tree is not None
    assert network.adapter_rate == pytest.approx(HOST, rel=MEAN), "the limit that tc holds the hosts' links to"
    assert network.tree.link_rate == pytest.approx(UPLINK, rel=MEAN), "and that of the uplinks"
    assert "by simulation" in fitted.sources["network.tree.link_rate"]

    unseen = errors(study, fitted, measured, tmp_path / "predicted")
    assert len(unseen) == 6
    assert fmean(map(abs, unseen.values())) < MEAN, unseen
    assert max(map(abs, unseen.values())) < WORST, unseen

    # with the rates as they were guessed the same machine misses that by far: the tolerance is one that can fail
    rates = {"adapter_rate": GUESS, "tree": network.tree.model_copy(update={"link_rate": GUESS})}
    wrong = fitted.model_copy(update={"network": network.model_copy(update=rates), "name": "wrong"})
    folder = errors(study, wrong, measured, tmp_path / "wrong")
    assert fmean(map(abs, folder.values())) > 2 * MEAN, folder
