# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end any verb: each like Ctrl-C, with its own exit code, but one that was ignored before stays so."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from made.terminal import SIGNALS, terminal_signals
from weft.cli import app

SRC = Path(__file__).parents[3] / "src"


@pytest.fixture(autouse=True)
def as_a_terminal_starts_it() -> Iterator[None]:
    with terminal_signals():
        yield


def hit(number: int, words: list[str]) -> None:
    """Take a signal in the middle of a verb."""
    os.kill(os.getpid(), number)
    time.sleep(0.01)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("verb", ["tune", "fabric"])
def test_whatever_ends_a_verb_from_outside_ends_it_like_ctrl_c_and_says_which(
    verb: str, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "called", partial(hit, number))
    assert app.main([verb]) == 128 + number
    assert capsys.readouterr().err == "interrupted: the same command starts again\n"


def test_a_command_outlives_its_terminal_under_nohup(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(app, "called", partial(hit, signal.SIGHUP))
    assert app.main(["tune"]) == 0


def test_little_is_imported_before_a_signal_ends_the_command_without_a_traceback() -> None:
    """Ctrl-C while cyclopts or typing were imported printed where."""
    program = (
        f"import sys; sys.path.insert(0, {str(SRC)!r}); import weft.__main__, weft.cli.signals; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("weft")} == {
        "weft",
        "weft.__main__",
        "weft.cli",
        "weft.cli.signals",
    }
    assert not {"typing", "re", "threading", "contextlib", "pathlib", "cyclopts"} & loaded


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_the_work_or_after_it_ends_the_command_without_a_word(number: int, tmp_path: Path) -> None:
    hit = f"import os, time; os.kill(os.getpid(), {number}); time.sleep(10)\n"
    (tmp_path / "early").mkdir()
    (tmp_path / "early/cyclopts.py").write_text(hit)
    (tmp_path / "late").mkdir()
    (tmp_path / "late/sitecustomize.py").write_text(f"import atexit\n@atexit.register\ndef _():\n    {hit}")
    for place in ("early", "late"):
        done = subprocess.run(
            [sys.executable, "-m", "weft", "--version"], capture_output=True, text=True, check=False, timeout=60,
            env={**os.environ, "PYTHONPATH": f"{tmp_path / place}:{SRC}"},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (-number, ""), place
