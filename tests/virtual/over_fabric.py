# SPDX-License-Identifier: BSD-3-Clause
"""A study measured by the real kernels over a virtual network: what the tests that do so share."""

from pathlib import Path

import pytest
from clusters import Installed
from walked import walked

from weft.fabric import Fabric
from weft.launch.build import build_kernels
from weft.launch.virtual.launcher import VirtualLauncher
from weft.launch.virtual.spec import spec_of
from weft.store.folder import RunFolder

#: Marks of a module whose tests do so; which MPI it is does not matter to them.
OVER_FABRIC = [
    pytest.mark.virtual,
    pytest.mark.mpi,
    pytest.mark.timeout(900),  # the kernels may have to be built first
    pytest.mark.parametrize("installed", ["openmpi5"], indirect=True),
]


def launcher_over(fabric: Fabric, installed: Installed) -> VirtualLauncher:
    """The launcher of a virtual fabric, with the kernels built for an MPI."""
    return VirtualLauncher(spec_of(fabric), build_kernels(installed.mpi))


def run_over(fabric: Fabric, installed: Installed, study: str, folder: Path) -> RunFolder:
    """A run of a study's text over the fabric; what is there of it already is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    return walked(folder, study, fabric, launcher_over(fabric, installed))
