# SPDX-License-Identifier: BSD-3-Clause
"""The names of SMPI's algorithms that a fabric file may ask for are those that SimGrid has."""

import re
import subprocess
from pathlib import Path

import pytest

from weft.fabric.simulation import ALGORITHMS
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated
HOST = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full"><host id="a" speed="1Gf"/></zone></platform>
"""


@pytest.mark.parametrize("call", sorted(ALGORITHMS))
def test_weft_knows_each_algorithm_that_simgrid_has_and_no_other(tmp_path: Path, programs: Programs, call: str) -> None:
    (tmp_path / "host.xml").write_text(HOST)
    (tmp_path / "hosts").write_text("a\n")
    refused = subprocess.run(
        [
            programs.simgrid.smpirun, "-np", "1", "-platform", "host.xml", "-hostfile", "hosts",
            f"--cfg=smpi/{call}:none", programs.kernels, "no.plan",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    told = re.search(rf"'{call}' has no algorithm 'none'! Valid algorithms: ([\w, ]+)\.", refused.stderr)
    assert told, refused.stderr
    assert set(told[1].split(", ")) == ALGORITHMS[call] | {"automatic"}
