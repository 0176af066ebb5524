# SPDX-License-Identifier: BSD-3-Clause
"""``weft run`` looks at the load before it measures: ``--wait`` goes on once it is quiet, the end says it again."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from made.fake_kernel import FakeLauncher
from made.quick_study import quick_study
from weft.cli.app import main
from weft.run import load
from weft.run.load import look_first
from weft.store.folder import Look

BUSY, QUIET = (Look(when="", busy=busy, cores=2, by=(("python", busy),)) for busy in (1.5, 0.0))


def measured(
    flag: str,
    looks: list[Look],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    more: tuple[str, ...] = ("--no-report",),
) -> None:
    """A run on this host, whose load is fed."""
    coming, fake = iter(looks), FakeLauncher()

    def launcher_for(*_: Any, **__: Any) -> FakeLauncher:
        return fake

    monkeypatch.chdir(folder)
    Path("study.toml").write_text(quick_study("busy", [1, 2]))
    monkeypatch.setattr("weft.run.many.launcher_for", launcher_for)
    monkeypatch.setattr("weft.run.many.look_first", partial(look_first, looks=lambda: next(coming)))
    monkeypatch.setattr(load, "AGAIN_S", 0.0)
    assert main(["run", "study.toml", flag, *more]) == 0
    assert next(coming, None) is None


def test_wait_goes_on_once_this_host_is_quiet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured("--wait", [BUSY, BUSY, QUIET, BUSY, QUIET, QUIET], monkeypatch, tmp_path)
    told = capsys.readouterr()
    steps = ("1.5 of 2 cores are busy with other work (python 1.5)", "waiting until this host is quiet, 30 min at most",
             "this host is quiet now, after 0 s: going on", "to measure")  # fmt: skip
    places = [told.err.index(step) for step in steps]
    assert places == sorted(places)
    assert "measure again on a quiet host" not in told.out


def test_a_run_on_a_busy_host_says_so_before_and_again_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured("--anyway", [BUSY], monkeypatch, tmp_path)
    told = capsys.readouterr()
    assert told.err.index("--wait waits until this host is quiet") < told.err.index("to measure")
    last = (
        "when it began, 1.5 of 2 cores were busy with other work (python 1.5): measure again on a quiet host (--wait)"
    )
    assert told.out.splitlines()[-2] == last


@pytest.mark.parametrize(("more", "imported"), [((), True), (("--no-report",), False)])
def test_what_makes_tables_is_imported_before_anything_is_measured(
    more: tuple[str, ...], imported: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It takes as long as a launch, and the look at the load leaves this process idle."""
    steps: list[str] = []
    run = FakeLauncher.run
    monkeypatch.setattr("weft.run.refine.open_engine", lambda: steps.append("imported"))
    monkeypatch.setattr(FakeLauncher, "run", lambda *given: [steps.append("ranks"), *run(*given)][1:])
    measured("--anyway", [QUIET], monkeypatch, tmp_path, more)
    assert steps[: 1 + imported] == ["imported"] * imported + ["ranks"]
    assert steps.count("imported") == imported
