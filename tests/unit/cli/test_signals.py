# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end any verb: each is Ctrl-C, but one that was ignored before the start stays so."""

import os
import signal
import time
from collections.abc import Iterator
from functools import partial

import pytest

from made.terminal import SIGNALS, terminal_signals
from weft.cli import app


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
def test_whatever_ends_a_verb_from_outside_ends_it_like_ctrl_c(
    verb: str, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "called", partial(hit, number))
    assert app.main([verb]) == 130
    assert capsys.readouterr().err == "interrupted: the same command starts again\n"


def test_a_command_outlives_its_terminal_under_nohup(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(app, "called", partial(hit, signal.SIGHUP))
    assert app.main(["tune"]) == 0
