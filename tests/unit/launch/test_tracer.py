# SPDX-License-Identifier: BSD-3-Clause
"""An application under the tracer: who ends weft ends it."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from weft.cli.signals import interrupted
from weft.launch.preload import wait_for
from weft.mpi.library import Mpi
from weft.trace.take import take_trace


def test_what_ends_weft_ends_the_application_too_and_its_end_is_waited_for(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    program = f"import pathlib, time; pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"

    def end_us() -> None:
        while not ready.exists():
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        threading.Thread(target=end_us, daemon=True).start()
        assert wait_for([sys.executable, "-I", "-S", "-c", program]) == (128 + signal.SIGTERM, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(("number", "code", "expected"), [
    (signal.SIGINT, 1, 130), (signal.SIGINT, 3, 3), (signal.SIGINT, 0, 0), (None, 1, 1), (signal.SIGTERM, 0, 143),
])  # fmt: skip
def test_a_trace_that_a_signal_ended_has_its_code_and_the_application_keeps_its_own(
    number: signal.Signals | None, code: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank's record is no matter here, so nothing is preloaded; the code was 143, or whatever mpirun made of it."""
    ready, go = tmp_path / "ready", tmp_path / "go"
    program = (
        f"import pathlib, time, sys; pathlib.Path({str(ready)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)\nsys.exit({code})"
    )
    monkeypatch.setattr("weft.trace.take.build_preload", lambda *_: Path("/none.so"))
    monkeypatch.setattr("weft.trace.take.mpi_of", lambda *_: Mpi(Path("/none"), "test"))
    monkeypatch.setattr("weft.trace.take.bring_in", lambda _: None)

    def meanwhile() -> None:
        while not ready.exists():
            threading.Event().wait(0.01)
        if number:
            os.kill(os.getpid(), number)
        if number != signal.SIGTERM:
            go.touch()

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        threading.Thread(target=meanwhile, daemon=True).start()
        command = [sys.executable, "-I", "-S", "-c", program]
        assert take_trace(command, tmp_path / "trace", 1000, None, lambda _: None) == expected
    finally:
        signal.signal(signal.SIGTERM, before)
