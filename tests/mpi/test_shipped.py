# SPDX-License-Identifier: BSD-3-Clause
"""What users run has no code for the faults that tests plant, and does not ask the environment for any."""

import subprocess
from pathlib import Path

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


def test_the_kernels_of_tests_have_them(kernels: Kernels, shipped: Kernels) -> None:
    assert kernels.key != shipped.key
    assert {name.decode() for name in ASKED} <= {*faults_in(kernels.program)}
