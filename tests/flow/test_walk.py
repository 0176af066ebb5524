# SPDX-License-Identifier: BSD-3-Clause
"""The whole walk of a run, on a fake launcher with a fake kernel: order, resuming, what a folder is."""

import os
import shutil
from pathlib import Path

import pytest
from walked import bytes_of_cells, walk

from made.fake_kernel import FakeLauncher
from made.view import load_view
from weft.errors import DataError
from weft.fabric import Fabric, load_fabric
from weft.kernel.studies import load_study
from weft.plan.stored import plan_of
from weft.plan.wire import flat_plan
from weft.run.one import run_study, statuses
from weft.run.progress import Progress
from weft.store.folder import RunFolder
from weft.study import Study

pytestmark = pytest.mark.usefixtures("only_measure")


def test_each_round_measures_floors_and_starts_no_ranks_for_them(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    launcher = FakeLauncher()
    walk(study, fabric, tmp_path / "run", launcher)
    assert sorted(launcher.started) == [f"c00{k}.l{index}" for k in range(3) for index in (1, 2)]
    floors = [name for name in launcher.measured if name.startswith("f")]
    assert sorted(floors) == [f"f00{k}.l{index}" for k in range(3) for index in (1, 2)]


class Told(Progress):
    """Keeps the remaining time that a walk tells."""

    def __init__(self) -> None:
        self.left: list[float | None] = []

    def start(self, total: int, done: int, remaining_s: float | None) -> None:
        self.left.append(remaining_s)

    def settled(self, words: str, status: str, done: int, remaining_s: float | None) -> None:
        self.left.append(remaining_s)


def test_slow_launches_teach_how_long_the_rest_takes(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    """Each launch takes 50 s; the plan's lower bounds expect a fraction of a second."""
    told = Told()
    folder = run_study(study, fabric, tmp_path / "r", FakeLauncher(wall_s=50.0), told)
    launches = plan_of(folder).launches
    assert told.left[0] is None, "bounds alone are no remaining time"
    rounds = len({launch.index for launch in launches})
    in_a_round = len(launches) // rounds
    assert told.left[-1] == 0
    last_round = told.left[::2][-in_a_round:]  # each launch settles its cell and the floor behind it
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


def test_other_kernels_are_refused_half_way_and_not_at_the_end(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    """Launches of two kernels, which may measure in different ways, merged without a word."""
    with pytest.raises(KeyboardInterrupt):
        walk(study, fabric, tmp_path / "run", FakeLauncher({"c001": "interrupt"}))
    other = FakeLauncher(kernels="fake-2")
    with pytest.raises(DataError, match=r"fake-1.*fake-2") as caught:
        walk(study, fabric, tmp_path / "run", other)
    assert other.started == []
    assert f"--into {tmp_path / 'run'}-again" in caught.value.remedy
    walk(study, fabric, tmp_path / "run", FakeLauncher())
    assert statuses(walk(study, fabric, tmp_path / "run", other)) == {"ok": 12}


def test_another_version_of_weft_is_refused_half_way(
    study: Study, fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        walk(study, fabric, tmp_path / "run", FakeLauncher({"c001": "interrupt"}))
    with monkeypatch.context() as later:
        later.setattr("weft.run.one.__version__", "9.9")
        other = FakeLauncher()
        with pytest.raises(DataError, match=r"weft 9\.9"):
            walk(study, fabric, tmp_path / "run", other)
        assert other.started == []
    assert statuses(walk(study, fabric, tmp_path / "run", FakeLauncher())) == {"ok": 12}


def test_leftovers_of_killed_launches_are_removed(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = walk(study, fabric, tmp_path / "run", FakeLauncher())
    (folder.cells / "c000.l1.npy.part").write_bytes(b"half")
    folder.tables.mkdir(exist_ok=True)
    (folder.tables / "calls.parquet.part").write_bytes(b"half")
    walk(study, fabric, tmp_path / "run", FakeLauncher())
    assert not list(folder.leftovers({"c000", "c001", "g000"}))


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
        plan, launch, folder.path, run=folder.run_id(), settings_of=f"{launch.id.partition('.')[0]}.l1"
    )
