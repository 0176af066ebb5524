# SPDX-License-Identifier: BSD-3-Clause
"""An application under ``libweft.so``: the library built for its MPI, and put in front of it by its starter."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from weft.errors import LaunchError
from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.launch.build import compile_target, library_identity
from weft.launch.toolchain import build_once, key_of, source_files
from weft.mpi.library import OPEN_MPI, STARTERS, WRAPPERS, Library, Mpi, find_mpi, is_program

LIBRARY = "libweft.so"
ROOMS = ("alltoall", "interpose")
"""Folders of ``native`` that the library is made of."""

#: Starters that carry variables to the ranks only when told to, and those that take ``-genv``.
OPEN_STARTERS = ("mpirun", "mpiexec", "orterun", "prterun")
HYDRA_STARTERS = ("mpirun", "mpiexec", "mpiexec.hydra")


@dataclass(frozen=True)
class Settings:
    """What the interposer is to do; each is a variable that a job script can set as well.

    Parameters
    ----------
    force
        Algorithm for every call (``WEFT_ALLTOALL``), e.g. ``node.multi{nl=4}``; empty: none is forced.
    table
        Selection table (``WEFT_TABLE``).
    report
        Where to write what was called (``WEFT_REPORT``).
    verify
        Repeat every so many calls by the library and compare (``WEFT_VERIFY``); 0: never.
    prewarm
        Connect all pairs of ranks in ``MPI_Init`` (``WEFT_PREWARM``).
    """

    force: str = ""
    table: Path | None = None
    report: Path | None = None
    verify: int = 0
    prewarm: bool = False

    def variables(self) -> dict[str, str]:
        """Return the variables that say this; what is not asked for is not set.

        Raises
        ------
        LaunchError
            The table is no file.
        """
        if self.table is not None and not self.table.is_file():
            raise LaunchError(f"no selection table {self.table}", "name a file: --table FILE")
        given = {
            "WEFT_ALLTOALL": self.force,
            "WEFT_TABLE": str(self.table.absolute()) if self.table else "",
            "WEFT_REPORT": str(self.report.absolute()) if self.report else "",
            "WEFT_VERIFY": str(self.verify) if self.verify else "",
            "WEFT_PREWARM": "1" if self.prewarm else "",
        }
        return {name: value for name, value in given.items() if value}


def build_interposer(mpi: Mpi, say: Callable[[str], None] = lambda _: None, sources: Path | None = None) -> Path:
    """Return ``libweft.so`` for an MPI, built if it is not in the cache.

    Parameters
    ----------
    mpi
        What the application was built with.
    say
        Takes one line before something that lasts seconds.
    sources
        Folder of the CMake project; the shipped ``native`` otherwise.

    Raises
    ------
    LaunchError
        No compiler, no CMake, or a failed build: with the first error and the path of the whole log.
    DataError
        The cache cannot be written.
    """
    native = sources or shipped("native")
    files = [path for path in source_files(native) if path.relative_to(native).parts[0] in (*ROOMS, "CMakeLists.txt")]
    show = mpi.show()
    place = cache() / f"interposer-{key_of([str(mpi.wrapper), show, *library_identity(show)], native, files)}"

    def make(work: Path, ready: Path, log: Path) -> None:
        say(f"building {LIBRARY} with {mpi.wrapper} (once, some seconds)")
        build = work / "build"
        compile_target("weft", build, mpi, native, log)
        with file_errors(place):
            shutil.copy2(build / "interpose" / LIBRARY, ready / LIBRARY)

    build_once(place, LIBRARY, make)
    return place / LIBRARY


def mpi_of(command: Sequence[str], mpicxx: str | None) -> Mpi:
    """Find the MPI of a command: the wrapper beside its starter, unless the user names one.

    Raises
    ------
    LaunchError
        There is no such program, or no MPI at all.
    """
    if mpicxx:
        return find_mpi(mpicxx)
    found = shutil.which(command[0])
    if found is None:
        raise LaunchError(f"{command[0]} is no program that can be run", "weft exec -- mpirun -n 4 ./application")
    starter = Path(found)
    stem, dot, suffix = starter.name.partition(".")
    if stem in STARTERS:
        for name in (f"{wrapper}{dot}{suffix}" for wrapper in WRAPPERS):
            if is_program(starter.with_name(name)):
                return Mpi(starter.with_name(name).absolute(), f"beside {starter}")
    return find_mpi()


def preloaded(command: Sequence[str], variables: Mapping[str, str], library: Library | None) -> list[str]:
    """Return the command with the variables handed to the ranks by the starter's own option.

    In the starter's environment they would make the starter itself load the library, and Open MPI would not carry them
    to other hosts. A starter that is not known gets them by ``env``, which reaches ranks if it passes its environment.

    Parameters
    ----------
    command
        A starter and its words.
    variables
        What each rank shall have.
    library
        The MPI library, or None when it is not known.
    """
    starter = Path(command[0]).name
    stem = starter.partition(".")[0]
    words: list[str] = []
    if library is not None and library.family == OPEN_MPI and stem in OPEN_STARTERS:
        for name, value in variables.items():
            words += ["-x", f"{name}={value}"]
        return [command[0], *words, *command[1:]]
    if library is not None and library.family != OPEN_MPI and (stem in HYDRA_STARTERS or starter in HYDRA_STARTERS):
        for name, value in variables.items():
            words += ["-genv", name, value]
        return [command[0], *words, *command[1:]]
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *command]


def replace_process(command: Sequence[str]) -> NoReturn:
    """Become the command: its exit code, its signals and its terminal are then this process's own.

    Raises
    ------
    LaunchError
        It cannot be started.
    """
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        raise LaunchError(f"{command[0]} cannot be started: {error.strerror}", "name a program, or its path") from error
