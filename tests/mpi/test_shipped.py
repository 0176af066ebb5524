# SPDX-License-Identifier: BSD-3-Clause
"""What users run has no code for the faults that tests plant, and does not ask the environment for any."""

import subprocess
from pathlib import Path

import pytest
from real_weft import AS_SHIPPED, MPIS, build_with

from weft.launch.build import Kernels

FAULTS = ("planted", "plant_", "step_hook", "platform::hang", "platform::crash", "platform::stop", "::corrupt")
ASKED = (b"WEFT_PLANT", b"WEFT_PLANT_LATE_NS")


def faults_in(program: Path) -> list[str]:
    """Symbols of faults, and names of variables that ask for one, in a program."""
    done = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=True)
    names = [line.split(maxsplit=2)[-1] for line in done.stdout.splitlines()]
    assert any("weft::run_cell" in name or "weft::Cell" in name for name in names)  # it is not stripped
    found = [name for name in names if any(fault in name for fault in FAULTS)]
    return found + [name.decode() for name in ASKED if name in program.read_bytes()]


def test_the_kernels_that_users_run_have_no_faults_to_plant(shipped: Kernels) -> None:
    assert faults_in(shipped.program) == []


@pytest.mark.long
@pytest.mark.parametrize("name", MPIS)
def test_nor_have_those_of_any_other_mpi(name: str) -> None:
    """`make test` builds what users have under one MPI alone: a build takes a minute, and the sources are the same."""
    if not MPIS[name].exists():
        pytest.skip(f"{name} is not installed: {MPIS[name]}")
    assert faults_in(build_with(MPIS[name], AS_SHIPPED["CXXFLAGS"]).program) == []


def test_the_kernels_of_tests_have_them(kernels: Kernels, shipped: Kernels) -> None:
    assert kernels.folder.name != shipped.folder.name
    assert {name.decode() for name in ASKED} <= {*faults_in(kernels.program)}
