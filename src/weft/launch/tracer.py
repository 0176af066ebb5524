# SPDX-License-Identifier: BSD-3-Clause
"""``libweft_trace.so``, which records the MPI calls of an application, and running one with it."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.preload import Preload

ROOMS = ("trace", "measure", "interpose", "alltoall", "CMakeLists.txt")
"""Parts of ``native`` on which the library depends: its own sources, those of the clocks, and the projects' files."""


def _matters(path: Path) -> bool:
    """Whether the library depends on a file of ``native``: of the kernels' sources only on those of the clocks."""
    rooms = {"time", "mpi", "host"}
    return path.parts[0] in ROOMS if path.parts[0] != "measure" else path.parts[1] in rooms


TRACER = Preload("libweft_trace.so", "weft_trace", "trace", "about half a minute", _matters)


def trace_variables(folder: Path, most_bytes: int) -> dict[str, str]:
    """The two environment variables that a job script would set beside ``LD_PRELOAD``."""
    return {"WEFT_TRACE": str(folder.absolute()), "WEFT_TRACE_MOST": str(most_bytes)}


def wait_for(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[int, bool]:
    """Run a command on this terminal; its exit code, as a shell would return it, and whether a signal came meanwhile.

    Ctrl-C reaches it, too; what else would end us (see ``cli/mistakes.py``) ends it, and we wait for that.

    Raises
    ------
    LaunchError
        The command cannot be started.
    """
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        # the application must not inherit that we go on after interrupts
        started = subprocess.Popen(
            list(command), env={**os.environ, **(environment or {})}, preexec_fn=_take_interrupts
        )
        try:
            code = started.wait()
        except KeyboardInterrupt:
            came.append(signal.SIGTERM)
            started.terminate()
            code = started.wait()  # what it recorded is kept
    except OSError as error:
        raise LaunchError(f"{command[0]} cannot be started: {error.strerror}", "name a program, or its path") from error
    finally:
        signal.signal(signal.SIGINT, before)
    return (code if code >= 0 else 128 - code), bool(came)


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
