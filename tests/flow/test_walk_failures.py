# SPDX-License-Identifier: BSD-3-Clause
"""Launches that crash, hang or do not start: what the walk of a run makes of them."""

from pathlib import Path

import pytest
from walked import record, walk

from made.fake_kernel import FakeLauncher
from weft.errors import DataError, LaunchError
from weft.fabric import Fabric
from weft.launch.launcher import LaunchRequest, Outcome
from weft.plan.records import Plan
from weft.run.folder import locked
from weft.run.one import begin, exit_code, plan_study, statuses
from weft.run.progress import Progress
from weft.run.walk import Walk
from weft.store.folder import RunFolder
from weft.study import Study

pytestmark = pytest.mark.usefixtures("only_measure")


def test_a_crash_is_a_row_with_exit_code_phases_and_log_and_the_walk_goes_on(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "crash"}))
    row = record(folder, "c001", 1)
    assert row["status"] == "crash"
    assert row["returncode"] == 137
    assert "SIGKILL" in str(row["reason"])
    assert row["log_tail"] == ["rank 1: something broke"]
    assert {"rank": 1, "cell": "c001", "op": "C", "phase": "warm", "state": "measuring"} in row["phases"]  # type: ignore[operator]
    assert statuses(folder) == {"ok": 10, "crash": 2}
    assert exit_code(statuses(folder)) == 1
    assert not (folder.cells / "c001.l1.npy").exists()


def test_a_hung_launch_is_a_row_and_the_walk_goes_on(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c002.l2": "hang"}))
    assert record(folder, "c002", 2)["status"] == "timeout"
    assert "7 s" in str(record(folder, "c002", 2)["reason"])
    assert statuses(folder) == {"ok": 10, "timeout": 2}


def test_failed_rows_are_tried_again_by_the_same_command(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(
        study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "crash", "c002.l2": "hang", "c000.l1": "start"})
    )
    assert statuses(folder) == {"ok": 6, "crash": 2, "timeout": 2, "launch": 2}
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert sorted(again.started) == ["c000.l1", "c001.l1", "c002.l2"]
    assert statuses(folder) == {"ok": 12}


def test_an_invalid_cell_is_final_and_the_exit_code_says_so(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l2": "invalid"}))
    assert statuses(folder) == {"ok": 10, "invalid": 2}
    assert exit_code(statuses(folder)) == 1
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert again.started == []


def test_a_launch_that_ends_well_without_a_record_is_a_crash(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "silent"}))
    assert record(folder, "c001", 1)["status"] == "crash"
    assert "exit code 0" in str(record(folder, "c001", 1)["reason"])


def test_mpiexec_that_fails_three_times_at_the_start_ends_the_run(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    launcher = FakeLauncher({f"{kind}00{k}.l1": "start" for k in range(3) for kind in "cf"})
    with pytest.raises(LaunchError) as caught:
        walk(study, fabric, tmp_path / "run", launcher)
    assert len(launcher.started) == 3
    assert launcher.closed == 1
    assert "exit code 1" in str(caught.value)
    assert "not enough slots" in str(caught.value)
    assert f"{launcher.started[-1]}.log" in str(caught.value)


def test_failed_starts_later_on_are_rows_and_the_walk_goes_on(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    faults = {f"c00{k}.l2": "start" for k in range(3)}
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher(faults))
    assert statuses(folder) == {"ok": 6, "launch": 6}


def test_a_start_that_fails_once_is_tried_again_and_leaves_no_row(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    launcher = FakeLauncher({"c001.l1": "start"})
    launcher.before = lambda request: launcher.faults.clear() if launcher.started.count("c001.l1") == 2 else None
    folder = walk(study, fabric, tmp_path / "run", launcher)
    assert launcher.started.count("c001.l1") == 2
    assert len(launcher.started) == 7
    assert statuses(folder) == {"ok": 12}


def test_the_next_launch_reads_the_settings_where_the_first_did_not_start(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    """Later launches named one without a record, and the run had no settings."""
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c000.l1": "start"}))
    plans = {launch: folder.of(launch, "plan").read_text() for launch in ("c000.l1", "c000.l2", "c001.l2")}
    assert "settings_of" not in plans["c000.l2"]
    assert "settings_of c000.l2" in plans["c000.l1"]
    assert "settings_of c001.l1" in plans["c001.l2"]


def test_the_kernels_own_row_wins_over_what_the_launcher_saw(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    """A cell that the kernel itself gave the status `launch` was overwritten as a crash."""
    launcher = FakeLauncher({"c001": "refuse"})
    folder = walk(study, fabric, tmp_path / "run", launcher)
    row = record(folder, "c001", 1)
    assert (row["status"], row["reason"]) == ("launch", "the kernel's own reason")
    assert launcher.started.count("c001.l1") == 1
    crashed = FakeLauncher({"c001.l1": "crash"})
    walk(study, fabric, tmp_path / "run", crashed)
    assert record(folder, "c001", 1)["status"] == "crash", "a word of an earlier launch is none of this one"


def test_what_the_kernel_complained_of_is_the_reason_and_is_not_tried_twice(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    launcher = FakeLauncher({"c001.l1": "word"})
    folder = walk(study, fabric, tmp_path / "run", launcher)
    row = record(folder, "c001", 1)
    assert (row["status"], row["reason"]) == ("launch", "rank 0: no such thing; bring it")
    assert launcher.started.count("c001.l1") == 2  # once for the cell, once for the floor behind it


def test_a_floor_is_measured_without_a_cell_that_the_kernel_refuses(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    launcher = FakeLauncher({"c001.l1": "word"})
    launcher.before = lambda request: launcher.faults.clear() if launcher.started.count("c001.l1") == 2 else None
    folder = walk(study, fabric, tmp_path / "run", launcher)
    assert statuses(folder) == {"ok": 11, "launch": 1}
    assert record(folder, "c001", 1)["status"] == "launch"


def test_an_old_status_file_does_not_turn_a_failed_start_into_a_crash(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "crash"}))
    walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "start"}))
    assert record(folder, "c001", 1)["status"] == "launch"


class Followed(FakeLauncher):
    """Follows a job in which a launch has ended while no weft looked."""

    def _one(self, request: LaunchRequest) -> Outcome:
        if request.id == "c001.l1":
            return Outcome(request.id, 139, 3.0, False, request.log, before=True)
        return super()._one(request)


def test_a_crash_in_a_followed_job_is_told_with_what_its_ranks_had_written_before(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "crash"}))
    row = record(walk(study, fabric, tmp_path / "run", Followed()), "c001", 1)
    assert row["status"] == "crash"
    assert "last seen: rank 0: C warm measuring" in str(row["reason"])


def batched(plan: Plan) -> Plan:
    """The plan with all cells in one launch, on all of its ranks, as a kernel that takes batches would have it."""
    first = plan.launches[-1]
    cells = tuple(cell.id for cell in plan.measured)
    launch = first.model_copy(update={"id": "g000.l1", "index": 1, "cells": cells, "limit_s": 30.0})
    alike = tuple(cell.model_copy(update={"ranks": launch.ranks}) for cell in plan.cells)
    return plan.model_copy(update={"launches": (launch,), "cells": alike})


def test_a_batch_that_dies_is_started_again_without_the_cell_that_killed_it(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    launcher = FakeLauncher({"c001": "crash"})
    folder = RunFolder(tmp_path / "run")
    with locked(folder):
        plan = plan_study(study, fabric)
        begin(folder, study, fabric, launcher, plan)
        plan = batched(plan)
        Walk(folder, plan, launcher, Progress()).go()
    assert launcher.started == ["g000.l1", "g000.l1"]
    assert launcher.measured == ["c000.l1", "c002.l1"]
    assert record(folder, "c001", 1)["status"] == "crash"
    # the second launch has the time of its one cell, not of all three
    assert launcher.limits == [30.0, 30.0 - 2 * 7.0]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("No space left on device", "disk is full"),
        ("Disk quota exceeded", "quota is used up"),
        ("File too large", "ulimit -f"),
    ],
)
def test_a_full_disk_in_the_ranks_ends_the_run_with_one_message(
    study: Study, fabric: Fabric, tmp_path: Path, reason: str, told: str
) -> None:
    launcher = FakeLauncher({"c001.l1": "crash"})
    original = launcher._one

    def full(request: object) -> object:
        outcome = original(request)  # type: ignore[arg-type]
        outcome.log.write_text(f"rank 0: cannot write cells/c001.l1.npy.part: {reason}\n")
        return outcome

    launcher._one = full  # type: ignore[method-assign,assignment]
    with pytest.raises(DataError, match=told):
        walk(study, fabric, tmp_path / "run", launcher)
    assert launcher.started[-1] == "c001.l1"


@pytest.mark.parametrize("replaced", [True, False])
def test_a_run_whose_folder_was_moved_does_not_go_on_in_the_one_that_took_its_place(
    study: Study, fabric: Fabric, tmp_path: Path, replaced: bool
) -> None:
    """It wrote its plans and records over those of the other run, which holds the lock of another folder."""
    place = tmp_path / "run"
    launcher = FakeLauncher()

    def moved(_: object) -> None:
        if len(launcher.started) == 3:
            place.rename(tmp_path / "moved")
            walk(study, fabric, place, FakeLauncher())
            if not replaced:
                (place / "weft.json").unlink()

    launcher.before = moved
    with pytest.raises(DataError, match="run .* is there now" if replaced else "nothing is there now"):
        walk(study, fabric, place, launcher)
    assert len(launcher.started) == 3
    again = FakeLauncher()
    assert statuses(walk(study, fabric, tmp_path / "moved", again)) == {"ok": 12}
    assert len(again.started) == 4
