# SPDX-License-Identifier: BSD-3-Clause
"""A run gets more launches: those that it has stay as they are, a kill in between does no harm."""

import json
import shlex
from pathlib import Path

import pytest

from made.fake_kernel import FakeLauncher
from weft.analyse.compare.claims import more_launches
from weft.errors import DataError
from weft.fabric import Fabric
from weft.files.atomic import write_atomic
from weft.kernel.studies import Overrides, load_study
from weft.plan.rounds import with_launches
from weft.plan.stored import HASH, NEXT_HASH, hash_of, plan_of
from weft.run.one import run_study, statuses
from weft.run.progress import Progress
from weft.store.folder import RunFolder
from weft.study import Study

pytestmark = pytest.mark.usefixtures("only_measure")


def more(study: Study, launches: int) -> Study:
    return load_study(study.path, Overrides(launches=launches))


def cells(folder: RunFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.cells.iterdir()}


def test_only_the_missing_launches_are_measured(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = run_study(study, fabric, tmp_path / "run", FakeLauncher())
    before, had = cells(folder), study.measure.launches
    launcher = FakeLauncher()
    run_study(more(study, had + 2), fabric, tmp_path / "run", launcher, more=True)
    assert {name.rpartition(".")[2] for name in launcher.started} == {f"l{had + 1}", f"l{had + 2}"}
    after = cells(folder)
    assert {name: after[name] for name in before} == before
    assert set(statuses(folder)) == {"ok"}
    assert plan_of(folder).measure.launches == had + 2


def test_rounds_that_were_planned_stay_as_they_are(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    plan = plan_of(run_study(study, fabric, tmp_path / "run", FakeLauncher()))
    longer = with_launches(plan, 9)
    assert longer.launches[: len(plan.launches)] == plan.launches
    assert len(longer.launches) * plan.measure.launches == 9 * len(plan.launches)


def test_without_being_asked_for_more_another_number_of_launches_is_another_study(
    study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    run_study(study, fabric, tmp_path / "run", FakeLauncher())
    with pytest.raises(DataError, match="run of another study"):
        run_study(more(study, 9), fabric, tmp_path / "run", FakeLauncher())


def test_another_study_is_not_extended(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    run_study(study, fabric, tmp_path / "run", FakeLauncher())
    other = load_study(study.path, Overrides(launches=9, budget="1 ms"))
    with pytest.raises(DataError, match="run of another study"):
        run_study(other, fabric, tmp_path / "run", FakeLauncher(), more=True)


@pytest.mark.parametrize("written", ["nothing", "study", "study and plan"])
def test_a_kill_while_launches_are_added_does_no_harm(
    study: Study, fabric: Fabric, tmp_path: Path, written: str
) -> None:
    folder = run_study(study, fabric, tmp_path / "run", FakeLauncher())
    longer = more(study, 9)
    text = with_launches(plan_of(folder), 9).model_dump_json(indent=1).encode()
    write_atomic(folder.meta, json.dumps(folder.metadata() | {NEXT_HASH: hash_of(text)}).encode())
    if "study" in written:
        write_atomic(folder.study, longer.text.encode())
    if "plan" in written:
        write_atomic(folder.plan, text)
    run_study(longer, fabric, folder.path, FakeLauncher(), more=True)
    assert plan_of(folder).measure.launches == 9
    assert set(statuses(folder)) == {"ok"}


def test_a_plan_changed_by_hand_is_still_refused(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    folder = run_study(study, fabric, tmp_path / "run", FakeLauncher())
    run_study(more(study, 9), fabric, folder.path, FakeLauncher(), more=True)
    assert NEXT_HASH not in folder.metadata()
    assert folder.metadata()[HASH] == hash_of(folder.plan.read_bytes())
    folder.plan.write_text(folder.plan.read_text().replace('"index": 1', '"index": 2', 1))
    with pytest.raises(DataError, match="was changed"):
        plan_of(folder)


def test_a_run_is_found_by_its_name_and_gets_its_launches(
    study: Study, fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = more(study, 9)
    monkeypatch.chdir(tmp_path)
    first = run_study(study, fabric, None, FakeLauncher())
    again = run_study(longer, fabric, None, FakeLauncher(), Progress(), more=True)
    assert again.path == first.path
    assert run_study(study, fabric, None, FakeLauncher()).path != first.path


def test_the_command_that_compare_offers_is_quoted() -> None:
    words = shlex.split(more_launches("/a run/x"))
    assert words[:2] == ["weft", "run"]
    assert words[2:] == [
        "/a run/x/study.toml",
        "--on",
        "/a run/x/fabric.toml",
        "--into",
        "/a run/x",
        "--launches",
        "10",
    ]
