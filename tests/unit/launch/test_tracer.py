# SPDX-License-Identifier: BSD-3-Clause
"""An application under the tracer: who ends weft ends it."""

import os
import signal
import sys
import threading
from pathlib import Path

from weft.cli.signals import interrupted
from weft.launch.tracer import wait_for


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
        assert wait_for([sys.executable, "-I", "-S", "-c", program]) == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
