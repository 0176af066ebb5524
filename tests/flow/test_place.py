# SPDX-License-Identifier: BSD-3-Clause
"""Where a run without --into goes."""

from pathlib import Path

import pytest

from made.fake_kernel import FakeLauncher
from weft.fabric import Fabric
from weft.kernel.studies import load_study
from weft.run.one import run_study, statuses
from weft.store.folder import RunFolder
from weft.study import Study

pytestmark = pytest.mark.usefixtures("only_measure")


class Told:
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.totals: list[tuple[int, int]] = []
        self.seen: list[tuple[str, int, float | None]] = []

    def start(self, total: int, done: int, remaining_s: float | None) -> None:
        self.totals.append((total, done))

    def current(self, words: str) -> None:
        self.lines.append(words)

    def settled(self, words: str, status: str, done: int, remaining_s: float | None) -> None:
        self.seen.append((status, done, remaining_s))

    def say(self, line: str) -> None:
        self.lines.append(line)

    def stop(self) -> None:
        self.lines.append("stop")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_new_run_is_named_after_study_and_fabric(study: Study, fabric: Fabric) -> None:
    told = Told()
    folder = run_study(study, fabric, None, FakeLauncher(), told)
    assert folder.path == Path("runs/small-on-made-host").absolute()
    assert "a new run: runs/small-on-made-host" in told.lines


def test_an_unfinished_run_is_gone_on_with(study: Study, fabric: Fabric) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_study(study, fabric, None, FakeLauncher({"c001": "interrupt"}))
    told = Told()
    folder = run_study(study, fabric, None, FakeLauncher(), told)
    assert folder.path.name == "small-on-made-host"
    assert "continuing runs/small-on-made-host" in told.lines
    assert statuses(folder) == {"ok": 12}


def test_a_finished_run_is_followed_by_a_fresh_one(study: Study, fabric: Fabric) -> None:
    run_study(study, fabric, None, FakeLauncher())
    assert run_study(study, fabric, None, FakeLauncher()).path.name == "small-on-made-host-2"
    assert run_study(study, fabric, None, FakeLauncher()).path.name == "small-on-made-host-3"


def test_a_changed_study_gets_a_fresh_folder(study: Study, fabric: Fabric) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_study(study, fabric, None, FakeLauncher({"c001": "interrupt"}))
    study.path.write_text(study.text.replace("1600", "3200"))
    assert run_study(load_study(study.path), fabric, None, FakeLauncher()).path.name == "small-on-made-host-2"


def test_a_run_with_failed_rows_is_gone_on_with(study: Study, fabric: Fabric) -> None:
    run_study(study, fabric, None, FakeLauncher({"c001.l1": "crash"}))
    launcher = FakeLauncher()
    assert run_study(study, fabric, None, launcher).path.name == "small-on-made-host"
    assert launcher.started == ["c001.l1"]


def test_progress_counts_what_is_done_and_ends_at_nothing_left(study: Study, fabric: Fabric, tmp_path: Path) -> None:
    told = Told()
    run_study(study, fabric, tmp_path / "run", FakeLauncher({"c002.l1": "crash"}), told)
    assert told.totals == [(12, 0)]
    assert [done for _, done, _ in told.seen] == list(range(1, 13))
    assert sum(status == "crash" for status, _, _ in told.seen) == 2, "the cell, then its launch's floor"
    assert told.seen[-1][2] == 0
    assert any("exchange on 1 node, 4 ranks: n=1600" in line and "m=4 (c002)" in line for line in told.lines)
    assert told.lines[-2] == "stop"
    assert told.lines[-1].startswith("making the tables and the page")


def test_a_run_folder_of_another_version_is_passed_over(study: Study, fabric: Fabric) -> None:
    folder = run_study(study, fabric, None, FakeLauncher())
    folder.meta.write_text('{"schema": "weft-run/99"}')
    assert run_study(study, fabric, None, FakeLauncher()).path.name == "small-on-made-host-2"
    assert RunFolder(folder.path).metadata()["schema"] == "weft-run/99"
