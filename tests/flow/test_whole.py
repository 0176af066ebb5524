# SPDX-License-Identifier: BSD-3-Clause
"""A whole run on a fake kernel, tables included."""

from pathlib import Path

from made.fake_kernel import FakeLauncher
from weft.fabric import Fabric
from weft.plan.stored import plan_of
from weft.run.one import exit_code, run_study, statuses
from weft.study import Study


def test_a_study_is_measured_whole_and_its_tables_are_made(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    launcher = FakeLauncher()
    folder = run_study(study, fabric, tmp_path / "run", launcher)
    plan = plan_of(folder)
    assert launcher.started == [launch.id for launch in plan.launches]
    assert len(launcher.started) == 2 * 3
    assert statuses(folder) == {"ok": 12}
    assert exit_code(statuses(folder)) == 0
    assert (folder.tables / "calls.parquet").is_file()
    assert folder.study.read_bytes() == study.path.read_bytes()
    assert folder.fabric.read_bytes() == fabric.path.read_bytes()
    assert not list(folder.leftovers({"c000", "c001", "g000"}))
