# SPDX-License-Identifier: BSD-3-Clause
"""The whole walk of a run, on a fake launcher with a fake kernel."""

import json
import os
import shutil
from pathlib import Path

import pytest

from made.fake_kernel import FakeLauncher
from made.view import load_view
from weft.errors import DataError, LaunchError
from weft.fabric import Fabric, load_fabric
from weft.kernel.studies import load_study
from weft.plan.records import Plan, plan_of
from weft.plan.wire import flat_plan
from weft.run.folder import locked
from weft.run.one import begin, exit_code, run_study, statuses
from weft.run.progress import Silent
from weft.run.walk import Walk
from weft.store.folder import RunFolder
from weft.study import Study

pytestmark = pytest.mark.usefixtures("only_measure")


def walk(study: Study, fabric: Fabric, into: Path, launcher: FakeLauncher) -> RunFolder:
    """Run without an interest in the progress."""
    return run_study(study, fabric, into, launcher)


def record(folder: RunFolder, cell: str, launch: int) -> dict[str, object]:
    return json.loads(folder.cell_record(cell, launch).read_text())


def bytes_of_cells(folder: RunFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.cells.iterdir())}


def test_floors_are_launched_once_in_each_round(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    launcher = FakeLauncher()
    walk(study, fabric, tmp_path / "run", launcher)
    floors = {f"f00{k}" for k in range(3)}
    first, second = launcher.started[:6], launcher.started[6:]
    assert {name for name in first if name.startswith("f")} == {f"{floor}.l1" for floor in floors}
    assert {name for name in second if name.startswith("f")} == {f"{floor}.l2" for floor in floors}


class Told(Silent):
    """Keeps the remaining time that a walk tells."""

    def __init__(self) -> None:
        self.left: list[float] = []

    def start(self, total: int, done: int, remaining_s: float) -> None:
        self.left.append(remaining_s)

    def settled(self, words: str, status: str, done: int, remaining_s: float) -> None:
        self.left.append(remaining_s)


def test_slow_launches_teach_how_long_the_rest_takes(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    """Each launch takes 50 s; the plan's lower bounds expect a fraction of a second."""
    told = Told()
    folder = run_study(study, fabric, tmp_path / "r", FakeLauncher(wall_s=50.0), told)
    launches = plan_of(folder).launches
    assert told.left[0] == pytest.approx(sum(launch.expected_s for launch in launches))
    rounds = len({launch.index for launch in launches})
    in_a_round = len(launches) // rounds
    assert told.left[-1] == 0
    last_round = told.left[-in_a_round:]
    assert last_round == pytest.approx([50.0 * left for left in reversed(range(in_a_round))])


@pytest.mark.parametrize("io", ["mpi", "posix"])
def test_the_kernel_is_told_how_the_study_wants_samples_written(
    study: Study, fabric: Fabric, tmp_path: Path, io: str
) -> None:
    text = study.text.replace("[measure]", f'[measure]\nio = "{io}"')
    (tmp_path / "study.toml").write_text(text)
    folder = walk(load_study(tmp_path / "study.toml"), fabric, tmp_path / "run", FakeLauncher())
    plans = [path.read_text().splitlines() for path in folder.launches.glob("*.plan")]
    assert plans
    assert all(f"io {io}" in lines for lines in plans)


def test_the_same_command_again_starts_nothing_and_changes_nothing(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    before = bytes_of_cells(folder)
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert again.started == []
    assert bytes_of_cells(folder) == before


def test_an_interrupted_run_goes_on_where_it_stopped(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    first = FakeLauncher({"c001": "interrupt"})
    with pytest.raises(KeyboardInterrupt):
        walk(study, fabric, tmp_path / "run", first)
    assert first.closed == 1
    folder = RunFolder.open(tmp_path / "run")
    before = bytes_of_cells(folder)
    second = FakeLauncher()
    walk(study, fabric, tmp_path / "run", second)
    assert sorted(first.measured + second.measured) == sorted(set(first.measured) | set(second.measured))
    assert statuses(folder) == {"ok": 12}
    assert before.items() <= bytes_of_cells(folder).items()


def test_a_torn_cell_is_measured_again_and_the_others_are_not(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    samples = folder.cells / "c001.l2.npy"
    data = bytearray(samples.read_bytes())
    data[-17] ^= 1  # one bit of one duration: only the checksum can tell
    samples.write_bytes(data)
    kept = bytes_of_cells(folder)
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert again.started == ["c001.l2"]
    after = bytes_of_cells(folder)
    assert {name for name in kept if kept[name] != after[name]} == {"c001.l2.json", "c001.l2.npy"}


@pytest.mark.parametrize("damage", ["cut", "gone", "json"])
def test_damage_of_any_kind_makes_a_cell_unfinished(study: Study, fabric: Fabric, tmp_path: Path, damage: str) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    if damage == "cut":
        samples = folder.cells / "c000.l1.npy"
        samples.write_bytes(samples.read_bytes()[:-8])
    elif damage == "gone":
        (folder.cells / "c000.l1.npy").unlink()
    else:
        folder.cell_record("c000", 1).write_text('{"schema": "weft-cell/2", "cell')
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert again.started == ["c000.l1"]


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
    assert statuses(folder) == {"ok": 11, "crash": 1}
    assert exit_code(statuses(folder)) == 1
    assert not (folder.cells / "c001.l1.npy").exists()


def test_a_hung_launch_is_a_row_and_the_walk_goes_on(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c002.l2": "hang"}))
    assert record(folder, "c002", 2)["status"] == "timeout"
    assert "7 s" in str(record(folder, "c002", 2)["reason"])
    assert statuses(folder) == {"ok": 11, "timeout": 1}


def test_failed_rows_are_tried_again_by_the_same_command(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(
        study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "crash", "c002.l2": "hang", "c000.l1": "start"})
    )
    assert statuses(folder) == {"ok": 9, "crash": 1, "timeout": 1, "launch": 1}
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert sorted(again.started) == ["c000.l1", "c001.l1", "c002.l2"]
    assert statuses(folder) == {"ok": 12}


def test_an_invalid_cell_is_final_and_the_exit_code_says_so(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l2": "invalid"}))
    assert statuses(folder) == {"ok": 11, "invalid": 1}
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
    faults = {f"c00{k}.l{index}": "start" for k in range(3) for index in (1, 2)}
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher(faults))
    assert statuses(folder) == {"ok": 6, "launch": 6}


def test_a_start_that_fails_once_is_tried_again_and_leaves_no_row(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    launcher = FakeLauncher({"c001.l1": "start"})
    launcher.before = lambda request: launcher.faults.clear() if launcher.started.count("c001.l1") == 2 else None
    folder = walk(study, fabric, tmp_path / "run", launcher)
    assert launcher.started.count("c001.l1") == 2
    assert len(launcher.started) == 13
    assert statuses(folder) == {"ok": 12}


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
    assert launcher.started.count("c001.l1") == 1


def test_an_old_status_file_does_not_turn_a_failed_start_into_a_crash(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "crash"}))
    walk(study, fabric, tmp_path / "run", FakeLauncher({"c001.l1": "start"}))
    assert record(folder, "c001", 1)["status"] == "launch"


def batched(plan: Plan) -> Plan:
    """The plan with all cells of two ranks and fewer in one launch, as a kernel that takes batches would have it."""
    first = plan.launches[-1]
    cells = tuple(cell.id for cell in plan.measured)
    launch = first.model_copy(update={"id": "g000.l1", "index": 1, "cells": cells, "limit_s": 30.0})
    return plan.model_copy(update={"launches": (launch,)})


def test_a_batch_that_dies_is_started_again_without_the_cell_that_killed_it(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    launcher = FakeLauncher({"c001": "crash"})
    folder = RunFolder(tmp_path / "run")
    with locked(folder):
        plan = batched(begin(folder, study, fabric, launcher))
        Walk(folder, plan, launcher, Silent()).go()
    assert launcher.started == ["g000.l1", "g000.l1"]
    assert launcher.measured == ["c000.l1", "c002.l1"]
    assert record(folder, "c001", 1)["status"] == "crash"
    # the second launch has the time of its one cell, not of all three
    assert launcher.limits == [30.0, 30.0 - 2 * 7.0]


def test_a_stored_plan_is_used_even_where_a_new_one_would_differ(study: Study, tmp_path: Path) -> None:
    given = tmp_path / "seedless.toml"
    given.write_text(study.text.replace("seed = 3\n", ""))
    where = tmp_path / "host.toml"
    where.write_text('name = "here"\nkind = "local"\n[node]\ncores = 4\nmemory = "1 GiB"\ncopy_rate = "8 GB/s"\n')
    with pytest.raises(KeyboardInterrupt):
        walk(load_study(given), load_fabric(where), tmp_path / "run", FakeLauncher({"c001": "interrupt"}))
    before = (tmp_path / "run" / "plan.json").read_bytes()
    folder = walk(load_study(given), load_fabric(where), tmp_path / "run", FakeLauncher())
    assert folder.plan.read_bytes() == before
    seeds = {
        line for path in folder.launches.glob("*.plan") for line in path.read_text().splitlines() if line[:4] == "seed"
    }
    assert seeds == {f"seed {plan_of(folder).seed}"}


def test_another_study_is_refused_and_the_difference_named(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    walk(study, fabric, tmp_path / "run", FakeLauncher())
    study.path.write_text(study.text.replace("n = 1600", "n = 3200"))
    other = FakeLauncher()
    with pytest.raises(DataError) as caught:
        walk(load_study(study.path), fabric, tmp_path / "run", other)
    assert "another study" in caught.value.what
    assert "n = 1600" in caught.value.what
    assert "n = 3200" in caught.value.what
    assert "--into" in caught.value.remedy
    assert other.started == []


def test_another_mpi_is_refused_half_way(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        walk(study, fabric, tmp_path / "run", FakeLauncher({"c001": "interrupt"}))
    with pytest.raises(DataError, match=r"started with Fake MPI 1\.0") as caught:
        walk(study, fabric, tmp_path / "run", FakeLauncher(library="Fake MPI 2.0"))
    assert "--mpicxx /fake/mpicxx" in caught.value.remedy


def test_a_full_disk_in_the_ranks_ends_the_run_with_one_message(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    launcher = FakeLauncher({"c001.l1": "crash"})
    original = launcher._one

    def full(request: object) -> object:
        outcome = original(request)  # type: ignore[arg-type]
        outcome.log.write_text("rank 0: cannot write cells/c001.l1.npy.part: No space left on device\n")
        return outcome

    launcher._one = full  # type: ignore[method-assign,assignment]
    with pytest.raises(DataError, match="disk is full"):
        walk(study, fabric, tmp_path / "run", launcher)
    assert launcher.started[-1] == "c001.l1"


def test_leftovers_of_killed_launches_are_removed(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    (folder.cells / "c000.l1.npy.part").write_bytes(b"half")
    folder.tables.mkdir(exist_ok=True)
    (folder.tables / "calls.parquet.part").write_bytes(b"half")
    walk(study, fabric, tmp_path / "run", FakeLauncher())
    assert not list(folder.leftovers())


@pytest.mark.parametrize("name", ["p#2", "p\n2", "p ", 'p"', "p\\x41", "p\u00e9\t", "#"])
def test_a_run_never_writes_into_another(study: Study, fabric: Fabric, tmp_path: Path, name: str) -> None:
    first = walk(study, fabric, tmp_path / "p", FakeLauncher())
    before = {path.name: path.read_bytes() for path in first.cells.iterdir()}
    second = walk(study, fabric, tmp_path / name, FakeLauncher())
    assert {path.name: path.read_bytes() for path in first.cells.iterdir()} == before
    assert {path.name for path in second.cells.iterdir()} == set(before)


def test_records_of_another_run_are_measured_anew(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    foreign = walk(study, fabric, tmp_path / "foreign", FakeLauncher())
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    for path in foreign.cells.glob("c000.l1.*"):
        shutil.copy(path, folder.cells / path.name)
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert again.measured == ["c000.l1"]


def test_a_record_of_other_parameters_is_refused_and_measured_anew(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    record = folder.cell_record("c000", 1)
    record.write_text(record.read_text().replace(plan_of(folder).cell("c000").hash, "0" * 16))
    with pytest.raises(DataError, match="other parameters"):
        load_view(folder.path)
    again = FakeLauncher()
    walk(study, fabric, tmp_path / "run", again)
    assert again.measured == ["c000.l1"]


def test_a_folder_whose_name_is_no_utf8_is_refused(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not UTF-8"):
        walk(study, fabric, tmp_path / os.fsdecode(b"run\xff"), FakeLauncher())


def test_the_flat_plan_names_only_the_cells_that_are_left(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    plan = plan_of(folder)
    launch = plan.launches[-1]
    assert (folder.launches / f"{launch.id}.plan").read_text() == flat_plan(
        plan, launch, folder.path, run=folder.run_id()
    )
