# SPDX-License-Identifier: BSD-3-Clause
"""Building the libraries that are preloaded into an application's ranks, at first use, once for each MPI."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.launch.build import compile_target, library_identity
from weft.launch.toolchain import build_once, key_of, source_files, told
from weft.mpi.library import Mpi


@dataclass(frozen=True)
class Preload:
    """A library.

    Attributes
    ----------
    file
        Its file's name.
    target
        Its target in the CMake project.
    room
        The folder of ``native`` with its own sources, and its name in the cache.
    takes
        How long it takes to build, in words.
    matters
        Whether it depends on a file, given by its path below ``native``.
    """

    file: str
    target: str
    room: str
    takes: str
    matters: Callable[[Path], bool]


def build_preload(
    library: Preload, mpi: Mpi, say: Callable[[str], None] = lambda _: None, sources: Path | None = None
) -> Path:
    """Return the path of a library for an MPI, built if it is not in the cache.

    Parameters
    ----------
    library
        What to build.
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
    files = [path for path in source_files(native) if library.matters(path.relative_to(native))]
    show = mpi.show()
    place = cache() / f"{library.room}-{key_of([str(mpi.wrapper), show, *library_identity(show)], native, files)}"

    def copy_library(build: Path, ready: Path) -> None:
        with file_errors(place):
            shutil.copy2(build / library.room / library.file, ready / library.file)

    def make(work: Path, ready: Path, log: Path) -> None:
        with told(say, f"building {library.file} with {mpi.wrapper} (once, takes {library.takes})", log):
            compile_target(library.target, mpi, native, log, lambda build: copy_library(build, ready))

    build_once(place, library.file, make)
    return place / library.file
