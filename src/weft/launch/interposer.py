# SPDX-License-Identifier: BSD-3-Clause
"""Running an application with ``libweft.so`` or the tracer preloaded, each built for the application's MPI."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from weft.errors import LaunchError, NotThereError, StudyError
from weft.launch.preload import Preload
from weft.mpi.alltoall import check_forced, read_selection
from weft.mpi.library import OPEN_MPI, STARTERS, WRAPPERS, Library, Mpi, find_mpi, is_program


def _matters(path: Path) -> bool:
    """Whether the tracer depends on a file of ``native``: of the kernels' sources only on those of the clocks."""
    first, second = path.parts[0], path.parts[1:2]
    rooms = {"trace", "common", "interpose", "alltoall", "CMakeLists.txt"}
    return first in rooms or (first == "measure" and second[0] in {"time", "mpi", "host"})


TRACER = Preload("libweft_trace.so", "weft_trace", "trace", "about half a minute", _matters)


def trace_variables(folder: Path, most_bytes: int) -> dict[str, str]:
    """The two environment variables that a job script would set beside ``LD_PRELOAD``."""
    return {"WEFT_TRACE": str(folder.absolute()), "WEFT_TRACE_MOST": str(most_bytes)}


def wait_for(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[int, int]:
    """Run a command on this terminal; its exit code, and the signal that came, or 0. LaunchError if none can start."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        # the application must not inherit that we go on after interrupts
        started = subprocess.Popen(
            list(command), env={**os.environ, **(environment or {})}, preexec_fn=_take_interrupts
        )
        try:
            code = started.wait()
        except KeyboardInterrupt as ended:
            came.append(*ended.args)
            started.terminate()
            code = started.wait()  # what it recorded is kept
    except OSError as error:
        raise LaunchError(f"{command[0]} cannot be started: {error.strerror}", "name a program, or its path") from error
    finally:
        signal.signal(signal.SIGINT, before)
    return (code if code >= 0 else 128 - code), came[-1] if came else 0


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


ROOMS = ("common", "alltoall", "interpose", "CMakeLists.txt")  # parts of ``native`` on which the library depends
INTERPOSER = Preload("libweft.so", "weft", "interpose", "some seconds", lambda path: path.parts[0] in ROOMS)

#: Starters that pass variables to the ranks only with an option, and those with the option ``-genv``.
OPEN_STARTERS = ("mpirun", "mpiexec", "orterun", "prterun")
HYDRA_STARTERS = {"mpirun", "mpiexec", "mpiexec.hydra"}
LARGEST_READ = 1 << 26
#: Names in a program without which it neither uses MPI, nor loads what does, nor starts another program.
REACHES = re.compile(rb"MPI_|dlm?open|exec[lv]|posix_spawn|popen|system\0")
#: Libraries that do nothing of that for a program which does not call them for it; any other may.
HARMLESS = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libselinux|libcap|libacl|libattr|libgmp|libtinfo|ld-\S+)\.so[.\d]*"
)
NAME_OF_LIBRARY = re.compile(rb"\0((?:lib|ld-)[\w.+-]*\.so[.\d]*)(?=\0)")


@dataclass(frozen=True)
class Settings:
    """Settings of the interposer; each is an environment variable that a job script can also set."""

    force: str = ""  # algorithm for every call (``WEFT_ALLTOALL``), e.g. ``node.multi{nl=4}``; empty: none is forced.
    table: Path | None = None
    report: Path | None = None
    verify: int = 0
    prewarm: bool = False

    def variables(self) -> dict[str, str]:
        """The variables of these settings, without defaults; StudyError, NotThereError or DataError for a bad one."""
        if self.force:
            try:
                check_forced(self.force.replace(" ", ""))  # which the library leaves out, too
            except ValueError as error:
                raise StudyError(str(error), 'such as --force "node.multi{nl=4}"') from error
        if self.table is not None:
            if not self.table.is_file():
                raise NotThereError(f"there is no selection table {self.table}", "name a file: --table FILE")
            read_selection(self.table)
        given = {
            "WEFT_ALLTOALL": self.force,
            "WEFT_TABLE": str(self.table.absolute()) if self.table else "",
            "WEFT_REPORT": str(self.report.absolute()) if self.report else "",
            "WEFT_VERIFY": str(self.verify) if self.verify else "",
            "WEFT_PREWARM": "1" if self.prewarm else "",
        }
        return {name: value for name, value in given.items() if value}


def mpi_of(command: Sequence[str], mpicxx: str | None) -> Mpi:
    """Find the MPI of a command: the wrapper beside its starter, unless the user names one.

    LaunchError if there is no such program, or no MPI, StudyError if it cannot have to do with MPI, as ``ls``.
    """
    found = shutil.which(command[0])
    if found is None:
        raise LaunchError(f"{command[0]} is not an executable program", "weft exec -- mpirun -n 4 ./application")
    starter = Path(found)
    if has_no_ranks(starter):
        raise StudyError(
            f"{found} neither uses MPI nor starts another program", "start ranks: mpirun -n 4 ./application"
        )
    if mpicxx:
        return find_mpi(mpicxx)
    stem, dot, suffix = starter.name.partition(".")
    for path in (starter.with_name(f"{wrapper}{dot}{suffix}") for wrapper in WRAPPERS if stem in STARTERS):
        if is_program(path):
            return Mpi(path.absolute(), f"beside {starter}")
    return find_mpi()


def has_no_ranks(program: Path) -> bool:
    """Whether a program certainly neither is a rank nor starts any; only what is plainly linked is certain."""
    try:
        content = program.read_bytes() if program.stat().st_size < LARGEST_READ else b""
    except OSError:
        return False  # executable, yet not readable
    libraries = [name.decode() for name in NAME_OF_LIBRARY.findall(content)]
    plain = content.startswith(b"\x7fELF") and any(name.startswith("libc.so") for name in libraries)
    return plain and all(HARMLESS.fullmatch(name) for name in libraries) and not REACHES.search(content)


def preloaded(command: Sequence[str], variables: Mapping[str, str], library: Library | None) -> list[str]:
    """The command with the variables passed to the ranks by the starter's own option, or ``env`` for an unknown one.

    In the starter's environment they would make the starter itself load the library, and Open MPI would not pass them
    to other hosts.
    """
    starter, assigned = Path(command[0]).name, [f"{name}={value}" for name, value in variables.items()]
    stem, family = starter.partition(".")[0], library.family if library else None
    if family == OPEN_MPI and stem in OPEN_STARTERS:
        given = [word for each in assigned for word in ("-x", each)]
        # Open MPI 4.1 gives an application behind ":" only what stands there
        contexts = [[word, *given] if word == ":" else [word] for word in command[1:]]
        return [command[0], *given, *chain.from_iterable(contexts)]
    if family not in (None, OPEN_MPI) and {stem, starter} & HYDRA_STARTERS:
        return [command[0], *(word for each in variables.items() for word in ("-genv", *each)), *command[1:]]
    return ["env", *assigned, *command]
