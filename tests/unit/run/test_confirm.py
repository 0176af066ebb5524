# SPDX-License-Identifier: BSD-3-Clause
"""``weft run --confirm``: each knob of a change-over is moved in launches of its own, in rounds with unmoved ones."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made.sweeps import COLLECTIVE, VALUES, MadeSweep, make_sweep, write_cell, write_launch
from made.view import load_view
from weft.analyse.tables.answers import CHANGES
from weft.analyse.tables.breakdown import REMEDIES
from weft.analyse.tables.sweeps import TRIALS
from weft.cli.app import main
from weft.errors import DataError
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch.launcher import LaunchRequest, Outcome
from weft.plan.records import Cell
from weft.plan.stored import plan_of
from weft.plan.wire import Rules
from weft.report.tables import all_tables
from weft.run import many
from weft.run.one import choose_folder
from weft.run.progress import Progress
from weft.run.refine import confirm, is_left
from weft.run.refresh import refresh
from weft.store.folder import RunFolder

RIGHT, WRONG = "btl_sm_eager_limit", "coll_tuned_alltoall_intermediate_msg"
STUDY = (
    COLLECTIVE.format(algorithms="default").replace('["Bcast", "Alltoall"]', '["Alltoall"]').replace("[2, 4]", "[2]")
)


def nothing(*_: Any) -> list[Any]:
    return []


def seconds(cell: Cell, size: int) -> float:
    """A step at the eager limit, whatever else is set."""
    limit = int(cell.parameters.get("setting", {}).get(f"OMPI_MCA_{RIGHT}", VALUES[RIGHT]))
    return (1e-6 * cell.ranks + size / 4e9) * (2.2 if size >= limit else 1.0)


MADE = MadeSweep(study=STUDY, seconds=seconds, named_settings={**VALUES, WRONG: "3000"})


class Stand:
    """A launcher that writes made cells, and breaks off after some launches."""

    rules = Rules()

    def __init__(self, most: int = 10**6) -> None:
        self.most = most
        self.started: list[str] = []
        self.environments: list[dict[str, str]] = []

    def provenance(self) -> dict[str, Any]:
        return {}

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        for request in requests:
            if len(self.started) == self.most:
                raise KeyboardInterrupt
            folder = RunFolder(request.folder)
            plan = plan_of(folder)
            launch = next(each for each in plan.launches if each.id == request.id)
            self.started.append(request.id)
            self.environments.append(request.environment)
            for name in launch.cells:
                rng = np.random.default_rng(len(self.started))
                write_cell(folder.path, MADE, plan.cell(name), launch, rng, folder.run_id())
            write_launch(folder.path, MADE, launch)
            yield Outcome(request.id, 0, 0.1, False, request.log)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_sweep(tmp_path_factory.mktemp("confirm") / "run", MADE)
    refresh(path)
    return path


@pytest.fixture(scope="module")
def confirmed(measured: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Stand]:
    launcher = Stand()
    run = RunFolder(Path(shutil.copytree(measured, tmp_path_factory.mktemp("confirmed") / "run")))
    confirm(run, launcher, Progress())
    return run, launcher


@pytest.fixture
def run(measured: Path, tmp_path: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(measured, tmp_path / "run")))


def test_before_it_the_knobs_are_only_possible_ones(run: RunFolder) -> None:
    assert {row["confirmed"] for row in CHANGES.read(run.path)} == {""}
    assert all(WRONG in row["knobs"] for row in CHANGES.read(run.path))
    assert TRIALS.read(run.path) == []
    assert "--confirm" in " ".join(row["remedy"] for row in load_view(run.path).findings)


def test_the_right_knob_is_confirmed_and_the_wrong_one_is_not(confirmed: tuple[RunFolder, Stand]) -> None:
    run, _ = confirmed
    assert {(row["knob"], row["outcome"]) for row in TRIALS.read(run.path)} == {
        (RIGHT, "confirmed"), (WRONG, "not confirmed"),
    }  # fmt: skip
    (change,) = CHANGES.read(run.path)
    assert (change["confirmed"], change["refuted"]) == (RIGHT, [WRONG])
    (remedy,) = [row["remedy"] for row in load_view(run.path).findings if row["rule"] == "change-over"]
    assert f"with OMPI_MCA_{RIGHT}=16384 sizes from" in remedy
    told = next(table for table in all_tables(load_view(run.path)) if table.title == "Knobs that were moved")
    assert {(row[1], row[3], row[7]) for row in told.rows[1:]} == {
        (RIGHT, "confirmed", f"OMPI_MCA_{RIGHT}=5792"), (WRONG, "not confirmed", "–"),
    }  # fmt: skip


def test_the_gain_is_measured_at_four_times_the_likeliest_knob_and_stands_under_what_would_help(
    confirmed: tuple[RunFolder, Stand],
) -> None:
    run, _ = confirmed
    right, wrong = sorted(TRIALS.read(run.path), key=lambda row: row["knob"] != RIGHT)
    assert (right["far"], right["far_setting"]) == (16384, f"OMPI_MCA_{RIGHT}=16384")
    assert right["far_ratio"] == pytest.approx(1 / 2.2, rel=0.05)
    assert (wrong["far"], wrong["far_ratio"]) == (None, None)
    (helps,) = REMEDIES.read(run.path)
    assert (helps["call"], helps["setting"], helps["basis"]) == ("alltoall@8192", right["far_setting"], "measured")
    assert helps["saves_s"] / helps["seconds"] == pytest.approx(1 - 1 / 2.2, rel=0.05)
    told = [each["subject"] for each in load_view(run.path).claimed("remedy")]
    assert f"OMPI_MCA_{RIGHT}=16384" in told
    assert not [each for each in told if WRONG in each]


def test_each_round_has_one_launch_of_each_kind_in_an_order_of_its_own(confirmed: tuple[RunFolder, Stand]) -> None:
    right = f"OMPI_MCA_{RIGHT}"
    kinds: list[dict[str, str]] = [{}, {right: "5792"}, {right: "16384"}, {f"OMPI_MCA_{WRONG}": "4240"}]
    environments = confirmed[1].environments
    rounds = [environments[place : place + 4] for place in range(0, len(environments), 4)]
    assert len(rounds) == 9
    assert all(sorted(map(str, each)) == sorted(map(str, kinds)) for each in rounds)
    assert len({str(each) for each in rounds}) > 1


def test_killed_in_between_it_goes_on_and_moves_nothing_twice(run: RunFolder) -> None:
    first, second = Stand(most=5), Stand()
    with pytest.raises(KeyboardInterrupt):
        confirm(run, first, Progress())
    assert is_left(run)
    assert {row["confirmed"] for row in CHANGES.read(run.path)} == {""}
    confirm(run, second, Progress())
    assert sorted([*first.started, *second.started]) == sorted({*first.started, *second.started})
    assert len(first.started) + len(second.started) == 36
    assert not is_left(run)


def test_without_a_folder_the_same_command_goes_on_until_the_knobs_were_moved(
    run: RunFolder, confirmed: tuple[RunFolder, Stand], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.run.one.RUNS", tmp_path / "runs")
    monkeypatch.setattr("weft.run.one.pending", nothing)  # made runs have no floors
    study, fabric = load_study(run.study), load_fabric(run.fabric)
    usual = tmp_path / "runs" / f"{study.name}-on-{fabric.name}"
    shutil.copytree(run.path, usual)
    assert choose_folder(study, fabric, Progress(), is_left).path == usual
    assert choose_folder(study, fabric, Progress()).path != usual
    shutil.copytree(confirmed[0].confirm, usual / "confirm")
    assert choose_folder(study, fabric, Progress(), is_left).path != usual


def test_trials_of_another_run_are_refused(run: RunFolder, confirmed: tuple[RunFolder, Stand]) -> None:
    shutil.copytree(confirmed[0].confirm, run.confirm)
    run.meta.write_text(run.meta.read_text().replace('"run": "made"', '"run": "other"'))
    with pytest.raises(DataError, match=r"confirm belongs to another run(?s:.*)rm -r"):
        confirm(run, Stand(), Progress())


def test_the_tables_made_again_still_know_of_the_trials(run: RunFolder, confirmed: tuple[RunFolder, Stand]) -> None:
    shutil.copytree(confirmed[0].confirm, run.confirm)
    shutil.rmtree(run.tables)
    shutil.rmtree(run.confirm / "tables")
    refresh(run.path)
    assert {row["confirmed"] for row in CHANGES.read(run.path)} == {RIGHT}


def test_the_verb_moves_them_after_the_run(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def launcher(*_: Any, **__: Any) -> Stand:
        return Stand()

    def measured(*_: Any, **__: Any) -> RunFolder:
        return run

    def confirmed(folder: RunFolder, *_: Any) -> None:
        asked.append(folder.path)

    monkeypatch.setattr(many, "launcher_for", launcher)
    monkeypatch.setattr(many, "run_study", measured)
    monkeypatch.setattr("weft.run.refine.confirm", confirmed)
    words = ["run", str(run.study), "--on", str(run.fabric), "--into", str(run.path)]
    main(words)
    assert asked == []
    main([*words, "--confirm"])
    assert asked == [run.path]


def test_the_matrix_of_the_run_is_handed_on_whatever_became_of_the_file(run: RunFolder) -> None:
    """The cells name the file itself, and a launch takes the copy of its own run: there was none."""
    run.inputs.mkdir()
    (run.inputs / "traffic.txt").write_text("0 1\n1 0\n")
    with pytest.raises(KeyboardInterrupt):
        confirm(run, Stand(most=0), Progress())
    assert (run.confirm / "inputs" / "traffic.txt").read_text() == "0 1\n1 0\n"


def test_a_link_back_to_the_run_itself_is_no_run_of_trials(run: RunFolder) -> None:
    run.confirm.symlink_to(run.path)
    assert run.inner("confirm") is None
    with pytest.raises(DataError, match="confirm is a link to"):
        refresh(run.path, "duckdb://")
