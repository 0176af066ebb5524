# SPDX-License-Identifier: BSD-3-Clause
"""Each signal that ends ``weft run``, in each phase: one line, exit code 128 + n, and the same command goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from launched import SRC, alive, eventually

from made.fake_kernel import FakeLauncher
from made.quick_study import quick_study
from made.terminal import SIGNALS, terminal_signals
from weft.cli.app import main

NOTHING = "interrupted: nothing is lost, and the same command goes on\n"
CELLS = "interrupted: finished cells are kept, and the same command continues from here\n"
PAGE = "interrupted: everything is measured; the same command makes the tables and the page\n"
PHASES = {
    "plan": ("weft.run.one.make_plan", NOTHING),
    "build": ("weft.run.many.launcher_for", NOTHING),
    "load": ("weft.run.many.look_first", NOTHING),
    "conversion": ("weft.store.parquet.convert", PAGE),
    "analysis": ("weft.analyse.make.make_tables", PAGE),
    "report": ("weft.report.page.write", PAGE),
}
COMPILES = """
import sys
from pathlib import Path
from weft.cli.signals import heed_signals
from weft.launch.toolchain import build_once, run_logged
heed_signals()
place = Path(sys.argv[1])
script = f"sh -c 'echo > {place.parent}/started; sleep 1000; true' & wait"
build_once(place, "weft-measure", lambda work, ready, log: run_logged([(["sh", "-c", script], {})], log))
"""


@pytest.fixture(autouse=True)
def as_a_terminal_starts_it() -> Iterator[None]:
    with terminal_signals():
        yield


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLauncher:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(quick_study("cut", [1, 2]))
    fake = FakeLauncher()

    def launcher_for(*_: Any, **__: Any) -> FakeLauncher:
        return fake

    monkeypatch.setattr("weft.run.many.launcher_for", launcher_for)
    return fake


def interrupt(*_: Any, number: int = signal.SIGINT, **__: Any) -> None:
    """Take a signal in the middle of a phase."""
    os.kill(os.getpid(), number)
    time.sleep(10)


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """The last line on stderr; others are progress."""
    return capsys.readouterr().err.splitlines(keepends=True)[-1]


#: Each phase by two signals, each signal in at least two phases; the other pairs are `long`.
PAIRS = [
    pytest.param(phase, number, marks=() if (place + turn) % 4 in (0, 1) else pytest.mark.long)
    for (place, phase), (turn, number) in product(enumerate(PHASES), enumerate(SIGNALS))
]


@pytest.mark.parametrize(("phase", "number"), PAIRS)
def test_a_signal_leaves_a_line_and_the_same_command_goes_on(
    phase: str, number: int, launcher: FakeLauncher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where, line = PHASES[phase]
    with monkeypatch.context() as patched:
        patched.setattr(where, partial(interrupt, number=number))
        assert main(["run", "study.toml", "--anyway"]) == 128 + number
    assert told(capsys) == line
    measured = list(launcher.measured)
    assert main(["run", "study.toml", "--anyway"]) == 0
    assert [path.name for path in Path("runs").iterdir()] == ["cut-on-local"], "it began another run"
    assert Path("runs/cut-on-local/report.html").is_file()
    assert launcher.measured[: len(measured)] == measured
    assert len(launcher.measured) == len(set(launcher.measured)), "a cell was measured twice"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_build_that_is_ended_ends_its_compilers_and_leaves_nothing_half(number: int, tmp_path: Path) -> None:
    place = tmp_path / "cache/kernels"
    words = [sys.executable, "-c", COMPILES, str(place)]
    building = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(SRC)}, stderr=subprocess.PIPE, text=True)
    try:
        assert eventually((tmp_path / "cache/started").exists, 60)
        building.send_signal(number)
        assert building.communicate(timeout=30)[1] == "", "a traceback of Ctrl-C is no news"
        assert building.returncode == -signal.SIGINT
        assert eventually(lambda: not alive(str(place.parent))), "a compiler is still at work"
        assert sorted(path.name for path in place.parent.iterdir()) == ["kernels.lock", "kernels.log", "started"]
    finally:
        building.kill()


def test_an_interrupt_of_a_launch_keeps_what_is_finished(
    launcher: FakeLauncher, capsys: pytest.CaptureFixture[str]
) -> None:
    launcher.faults = {"c001": "interrupt"}
    assert main(["run", "study.toml", "--anyway"]) == 130
    assert told(capsys) == CELLS
    launcher.faults = {}
    assert main(["run", "study.toml", "--anyway"]) == 0
    assert [path.name for path in Path("runs").iterdir()] == ["cut-on-local"]
    assert Path("runs/cut-on-local/report.html").is_file()


def test_an_interrupt_of_the_last_words_names_the_page(
    launcher: FakeLauncher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("weft.report.tables.show", interrupt)
    assert main(["run", "study.toml", "--anyway"]) == 130
    assert told(capsys).endswith("/runs/cut-on-local/report.html\n")


def test_a_run_with_its_page_is_finished_and_the_next_one_is_new(launcher: FakeLauncher) -> None:
    assert main(["run", "study.toml", "--anyway"]) == 0
    assert main(["run", "study.toml", "--anyway"]) == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["cut-on-local", "cut-on-local-2"]


def test_a_run_without_a_page_on_purpose_gets_one_when_it_is_asked_for(
    launcher: FakeLauncher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "study.toml", "--anyway", "--no-report"]) == 0
    assert f"none, as asked; weft report {tmp_path}/runs/cut-on-local makes it\n" in capsys.readouterr().out
    assert main(["run", "study.toml", "--anyway"]) == 0
    assert [path.name for path in Path("runs").iterdir()] == ["cut-on-local"]
    assert Path("runs/cut-on-local/report.html").is_file()


@pytest.mark.parametrize("words", [["plan", "study.toml"], ["show", "r"], ["report", "r"], ["compare", "r", "r"]])
def test_other_verbs_end_in_one_line_too(
    words: list[str], launcher: FakeLauncher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for where in ("weft.kernel.studies.load_study", "weft.run.refresh.refresh", "weft.run.refresh.refresh_compared"):
        monkeypatch.setattr(where, interrupt)
    assert main(words) == 130
    assert capsys.readouterr().err == "interrupted: the same command starts again\n"
