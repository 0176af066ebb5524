# SPDX-License-Identifier: BSD-3-Clause
"""Building libraries at first use: those preloaded into ranks, once for each MPI, and the one for routes."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.errors import LaunchError
from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.format import plural
from weft.launch.build import compile_target, library_identity
from weft.launch.toolchain import build_once, cmake_commands, first_error, key_of, reported, run_logged, source_files
from weft.mpi.library import Mpi
from weft.route.library import NAME, Library

PROJECT = "route"


def say_once(text: str) -> None:
    """Print on stderr what takes some seconds."""
    sys.stderr.write(text + "\n")


def route_library(say: Callable[[str], None] = say_once, sources: Path | None = None) -> Library:
    """The library of routes, built if it is not cached; LaunchError with first error and log, or DataError."""
    native = sources or shipped("native")
    folders = [native / name for name in (PROJECT, "simulate/rounds", "simulate/machine", "alltoall")]
    own = [path for path in source_files(native) if any(map(path.is_relative_to, folders))]
    place = cache() / f"route-{key_of([PROJECT], native, own)}"

    def make(work: Path, ready: Path, log: Path) -> None:
        with reported(say, "building the library of routes (once, takes some seconds)", log):
            _compile(work / "build", native / PROJECT, log)
        with file_errors(place):
            shutil.copy2(work / "build" / NAME, ready / NAME)

    build_once(place, NAME, make)
    return Library(place / NAME)


def _compile(build: Path, project: Path, log: Path) -> None:
    code = run_logged([(command, {}) for command in cmake_commands(project, build, None)], log)
    if code:
        why = first_error(log.read_text(encoding="utf-8", errors="replace"))
        what = f"the library of routes could not be built (exit code {code}): {why}"
        raise LaunchError(what, f"the full output is in {log}; another compiler: CXX=PATH")


@dataclass(frozen=True)
class Preload:
    """A library to preload, and how it is built."""

    file: str  # its file's name
    target: str  # its target in the CMake project
    room: str  # the folder of ``native`` with its own sources, and its name in the cache
    takes: str  # how long it takes to build, in words
    matters: Callable[[Path], bool]  # whether it depends on a file, given by its path below ``native``


SEPARATORS = " :"  # what divides the libraries of LD_PRELOAD; it has no way to quote them
LOADED, BEGUN = b"L", b"I"


@dataclass(frozen=True)
class Marks:
    """How many processes loaded a library, and in how many MPI_Init was seen: a file in the cache beside it."""

    path: Path

    @classmethod
    def new(cls) -> "Marks":
        """A file for a command that is about to start. DataError if the cache cannot be written."""
        with file_errors(cache()):
            cache().mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix="marks-", dir=cache())
            os.close(handle)
        return cls(Path(name))

    def take(self) -> tuple[int, int]:
        """Processes that loaded the library, and those in which MPI_Init was seen; the file is removed."""
        with file_errors(self.path):
            found = self.path.read_bytes()
            self.path.unlink()
        return found.count(LOADED), found.count(BEGUN)


def bypassed(library: str, loaded: int, begun: int) -> str:
    """Why a library saw nothing, in words; empty where it did."""
    if begun:
        return ""
    seen = f"{library}: loaded by {plural(loaded, 'process')}, MPI_Init seen in none"
    if loaded:
        return f"{seen} -> MPI by sessions or dlopen, or a tool linked in front of MPI, bypasses it"
    return f"{seen} -> the starter drops LD_PRELOAD, or the program is static"


def preload_value(library: Path, *, hands_on: bool) -> str:
    """LD_PRELOAD with a library beside what the user preloads."""
    theirs = os.environ.get("LD_PRELOAD", "")
    both = (str(library), theirs) if hands_on else (theirs, str(library))
    return ":".join(filter(None, both))


def build_preload(
    library: Preload, mpi: Mpi, say: Callable[[str], None] = lambda _: None, sources: Path | None = None
) -> Path:
    """Path of a library for an MPI, built if it is not cached; LaunchError with first error and log, or DataError."""
    native = sources or shipped("native")
    if any(sign in str(cache()) for sign in SEPARATORS):
        what = f"{cache()} has a space or a colon, and LD_PRELOAD cannot name a library there"
        raise LaunchError(what, "set XDG_CACHE_HOME to a path without")
    files = [path for path in source_files(native) if library.matters(path.relative_to(native))]
    show = mpi.show()
    place = cache() / f"{library.room}-{key_of([str(mpi.wrapper), show, *library_identity(show)], native, files)}"

    def copy_library(build: Path, ready: Path) -> None:
        with file_errors(place):
            shutil.copy2(build / library.room / library.file, ready / library.file)

    def make(work: Path, ready: Path, log: Path) -> None:
        with reported(say, f"building {library.file} with {mpi.wrapper} (once, takes {library.takes})", log):
            compile_target(library.target, mpi, native, log, lambda build: copy_library(build, ready))

    build_once(place, library.file, make)
    return place / library.file
