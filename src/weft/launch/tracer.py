# SPDX-License-Identifier: BSD-3-Clause
"""Running an application with ``libweft_trace.so``, which records its MPI calls."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from weft.errors import LaunchError
from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.launch.build import compile_target, library_identity
from weft.launch.toolchain import build_once, key_of, source_files
from weft.mpi.library import Mpi

LIBRARY = "libweft_trace.so"
ROOMS = ("trace", "measure", "interpose", "alltoall", "CMakeLists.txt")
"""Parts of ``native`` on which the library depends: its own sources, those of the clocks, and the projects' files."""


def build_tracer(mpi: Mpi, say: Callable[[str], None] = lambda _: None, sources: Path | None = None) -> Path:
    """Return ``libweft_trace.so`` for an MPI, built if it is not in the cache.

    Parameters
    ----------
    mpi
        The MPI of the application.
    say
        Called with one line before anything that takes seconds.
    sources
        Folder of the CMake project; the shipped ``native`` otherwise.

    Raises
    ------
    LaunchError
        Compiler or CMake is missing, or the build failed; the message has the first error and the path of the log.
    DataError
        The cache cannot be written.
    """
    native = sources or shipped("native")
    files = [path for path in source_files(native) if _matters(path.relative_to(native))]
    show = mpi.show()
    place = cache() / f"tracer-{key_of([str(mpi.wrapper), show, *library_identity(show)], native, files)}"

    def make(work: Path, ready: Path, log: Path) -> None:
        say(f"building {LIBRARY} with {mpi.wrapper} (once, takes about half a minute)")
        build = work / "build"
        compile_target("weft_trace", build, mpi, native, log)
        with file_errors(place):
            shutil.copy2(build / "trace" / LIBRARY, ready / LIBRARY)

    build_once(place, LIBRARY, make)
    return place / LIBRARY


def _matters(path: Path) -> bool:
    """Whether the library depends on a file of ``native``: of the kernels' sources only on those of the clocks."""
    rooms = {"time", "mpi", "host"}
    return path.parts[0] in ROOMS if path.parts[0] != "measure" else path.parts[1] in rooms


def trace_variables(folder: Path, most_bytes: int) -> dict[str, str]:
    """The two environment variables that a job script would set beside ``LD_PRELOAD``."""
    return {"WEFT_TRACE": str(folder.absolute()), "WEFT_TRACE_MOST": str(most_bytes)}


def wait_for(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a command on this terminal and return its exit code, as a shell would; Ctrl-C reaches it, not us.

    Raises
    ------
    LaunchError
        The command cannot be started.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        started = subprocess.Popen(
            list(command), env={**os.environ, **(environment or {})}, preexec_fn=_take_interrupts
        )  # the application must not inherit that we ignore interrupts
        code = started.wait()
    except OSError as error:
        raise LaunchError(f"{command[0]} cannot be started: {error.strerror}", "name a program, or its path") from error
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
