# SPDX-License-Identifier: BSD-3-Clause
"""What a command uses: processor time and peak memory, whatever else the machine does."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """Exit code, output, and what the command took.

    Attributes
    ----------
    code
        Exit code; negative: the signal that ended it.
    output
        What it wrote, both streams.
    wall_s, processor_s
        Seconds from start to end, and of processor time, of user and system together.
    peak_bytes
        Largest resident memory.
    """

    code: int
    output: str
    wall_s: float
    processor_s: float
    peak_bytes: int

    @property
    def ok(self) -> bool:
        """Whether it ended well."""
        return self.code == 0


#: Starts the command from a small process: what a child used at most counts the memory of its parent before `exec` too.
STARTER = """
import json, os, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024], file)
"""


def usage_of(command: Sequence[str], cwd: Path | None = None) -> Usage:
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "usage.json"
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", STARTER, str(told), *command],
            cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        wall_s = time.monotonic() - started
        code, processor_s, peak_bytes = json.loads(told.read_text())
    return Usage(code, done.stdout.decode(errors="replace"), wall_s, processor_s, peak_bytes)
