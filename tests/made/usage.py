# SPDX-License-Identifier: BSD-3-Clause
"""What a command uses: processor time and peak memory, whatever else the machine does."""

import os
import subprocess
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


def usage_of(command: Sequence[str], cwd: Path | None = None) -> Usage:
    """Run a command to its end."""
    started = time.monotonic()
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read().decode(errors="replace")
        _, status, used = os.wait4(process.pid, 0)  # of this child alone; RUSAGE_CHILDREN knows the largest of all
        process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(
        process.returncode,
        output,
        time.monotonic() - started,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * 1024,
    )
