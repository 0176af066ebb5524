# SPDX-License-Identifier: BSD-3-Clause
"""A launch that is kept as weft keeps it, in a process of its own, and what of it is still alive."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"
DRIVER = """
import json, os, sys
from pathlib import Path
from weft.launch.local import kept
folder = Path(sys.argv[1])
with kept(["sh", "-c", sys.argv[2]], os.environ, folder / "launches/x.log", folder) as keeper:
    print(keeper.pid, flush=True)
    keeper.wait()
"""


def alive(marker: str) -> list[str]:
    """Command lines of processes that have ``marker`` in their environment or arguments."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
                if words and (marker.encode() in words or marker.encode() in (entry / "environ").read_bytes()):
                    found.append(words.replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return found


def eventually(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something becomes true in time."""
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def driven(folder: Path, script: str) -> tuple[subprocess.Popen[str], int]:
    """A process that keeps a launch as weft does, and its keeper's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), script],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(SRC)},
    )  # fmt: skip
    assert process.stdout is not None
    keeper = int(process.stdout.readline())
    assert eventually(lambda: (folder / "started").exists())
    return process, keeper
