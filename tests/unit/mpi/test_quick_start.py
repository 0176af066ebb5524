# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI starts on one host without what only delays it, unless somebody asked for it."""

from pathlib import Path

import pytest

from weft.mpi.library import parse_library
from weft.mpi.starting import settings_without_delay

FIVE = parse_library("Open MPI v5.0.11")
STARTER = Path("usr/bin/mpiexec")


def found(root: Path, **environment: str) -> dict[str, str]:
    return settings_without_delay(FIVE, root / STARTER, {"HOME": str(root / "home")} | environment, root)


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_host_without_adapters_opens_shared_memory_only(tmp_path: Path) -> None:
    assert found(tmp_path) == {"OMPI_MCA_btl": "^ofi,openib,usnic", "OMPI_MCA_pml": "ob1"}


@pytest.mark.parametrize("adapter", ["infiniband", "cxi", "hfi1"])
def test_where_an_adapter_may_carry_messages_only_the_sleeping_component_goes(tmp_path: Path, adapter: str) -> None:
    (tmp_path / "sys/class" / adapter).mkdir(parents=True)
    assert found(tmp_path) == {"OMPI_MCA_btl": "^ofi"}


def test_what_the_user_sets_stays(tmp_path: Path) -> None:
    assert found(tmp_path, OMPI_MCA_btl="self,tcp") == {"OMPI_MCA_pml": "ob1"}
    assert "OMPI_MCA_pml" not in found(tmp_path, OMPI_MCA_pml="ucx")
    assert "OMPI_MCA_pml" not in found(tmp_path, OMPI_MCA_mtl="psm2")
    written(tmp_path / "home/.openmpi/mca-params.conf", "# mine\nbtl = self,tcp\n")
    assert found(tmp_path) == {"OMPI_MCA_pml": "ob1"}


def test_exclusions_of_the_sites_file_are_kept_and_its_choices_stay(tmp_path: Path) -> None:
    written(tmp_path / "etc/openmpi/openmpi-mca-params.conf", "btl = ^uct,openib,ofi\npml = ^ucx\n# btl = tcp\n")
    assert found(tmp_path) == {"OMPI_MCA_btl": "^ofi,openib,uct,usnic", "OMPI_MCA_pml": "ob1"}
    written(tmp_path / "usr/etc/openmpi-mca-params.conf", "btl = self,tcp\npml = ucx\n")
    assert found(tmp_path) == {}


def test_other_libraries_are_left_alone(tmp_path: Path) -> None:
    assert settings_without_delay(parse_library("MPICH Version: 4.3.0"), tmp_path / STARTER, {}, tmp_path) == {}
