# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs in the simulator: those that share no cable leave each other alone, and a model has no tail."""

from pathlib import Path

import pytest

from made.two_jobs import EIGHT_HOSTS, ONE_CABLE
from weft.analyse.tables.answers import IMPACTS
from weft.analyse.tables.claims import CLAIMS, extras
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


@pytest.mark.parametrize(("bytes_beside", "burst"), [("512 KiB", 1), ("16 KiB", 2), ("4 KiB", 4)])
def test_streams_that_share_a_cable_get_halves_of_it(
    bytes_beside: str, burst: int, tmp_path: Path, programs: Programs
) -> None:
    fabric, study, run = tmp_path / "fabric.toml", tmp_path / "study.toml", tmp_path / "run"
    fabric.write_text(ONE_CABLE)
    text = STUDY.replace('large = "256 KiB"', f'large = "1 MiB"\nwindow = {2 * burst}\ntraffic = "{bytes_beside}"')
    text = text.replace("seed = 4", "seed = 8").replace('"other-leaf"', '"other-leaf", "random"')
    text = text.replace("chunk = 3", f"chunk = 3\nburst = {burst}").replace('"allreduce", "stream"', '"stream"')
    study.write_text(text)
    assert main(["run", str(study), "--on", str(fabric), "--into", str(run)]) == 0
    rows = {(row["victim"], row["aggressor"], row["place"]): row for row in IMPACTS.read(run)}
    for (victim, aggressor, place), row in rows.items():
        if row["link"] == "":
            assert row["factor"] == pytest.approx(1, abs=0.01), row
        elif victim == "stream":
            assert row["predicted"] and row["factor"] == pytest.approx(row["predicted"], rel=0.05), row
        if (victim, aggressor, place) == ("stream", "stream", "alternating"):
            assert row["link"] == "leaf0 -> spine0"
            assert row["factor"] == pytest.approx(2, rel=0.05)
    assert [extras(each).get("unchecked", "") for each in CLAIMS.read(run) if each["id"] == "shared.link"] == [""]
    assert len(rows) == 24  # of random places rank 0 makes traffic, and only one of two streams shares a cable
