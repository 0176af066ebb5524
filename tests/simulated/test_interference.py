# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs in the simulator: those that share no cable leave each other alone, and a model has no tail."""

from pathlib import Path

import pytest

from made.two_jobs import EIGHT_HOSTS
from weft.analyse.tables.answers import IMPACTS
from weft.cli.app import main
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated
FABRIC = EIGHT_HOSTS.format(name="two-jobs", nodes="n[0-7]")
STUDY = """
name = "two-jobs"
kernel = "interference"
[measure]
min_samples = 6
max_samples = 6
warmup_most = 2
seed = 4
[interference]
victims = ["allreduce", "stream", "exchange"]
aggressors = ["stream", "shift", "alltoall", "incast"]
places = ["alternating", "other-leaf"]
large = "256 KiB"
chunk = 3
[[series]]
name = "s"
nodes = [8]
ranks_per_node = 1
"""


def test_jobs_on_cables_of_their_own_leave_each_other_alone(tmp_path: Path, programs: Programs) -> None:
    fabric, study, run = tmp_path / "fabric.toml", tmp_path / "study.toml", tmp_path / "run"
    fabric.write_text(FABRIC)
    study.write_text(STUDY)
    assert main(["run", str(study), "--on", str(fabric), "--into", str(run)]) == 0
    rows = IMPACTS.read(run)
    assert {row["victim"] for row in rows} == {"stream", "exchange"}  # of an allreduce a model knows no more
    assert all(row["p95"] is None and row["p99"] is None for row in rows)
    for row in rows:
        # minimal routes by destination take the jobs of alternating nodes over cables of their own, too
        assert (row["link"], row["predicted"]) == ("", 1.0)
        assert row["factor"] == pytest.approx(1, abs=0.05), row
