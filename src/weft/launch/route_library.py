# SPDX-License-Identifier: BSD-3-Clause
"""Building the library of routes at first use, into the same cache as the kernels. It needs no MPI."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from weft.errors import LaunchError
from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.launch.toolchain import build_once, compiler, first_error, key_of, run_logged, source_files, told, tool
from weft.route.library import NAME, Library

PROJECT = "route"


def say_once(text: str) -> None:
    """Print on stderr what takes some seconds."""
    sys.stderr.write(text + "\n")


def route_library(say: Callable[[str], None] = say_once, sources: Path | None = None) -> Library:
    """The library of routes, built if it is not in the cache.

    Raises
    ------
    LaunchError
        Compiler or CMake is missing, or the build failed; the message has the first error and the path of the log.
    DataError
        The cache cannot be written, or the library cannot be loaded.
    """
    native = sources or shipped("native")
    own = [path for path in source_files(native) if path.is_relative_to(native / PROJECT)]
    place = cache() / f"route-{key_of([PROJECT], native, own)}"

    def make(work: Path, ready: Path, log: Path) -> None:
        with told(say, "building the library of routes (once, takes some seconds)", log):
            _compile(work / "build", native / PROJECT, log)
        with file_errors(place):
            shutil.copy2(work / "build" / NAME, ready / NAME)

    build_once(place, NAME, make)
    return Library(place / NAME)


def _compile(build: Path, project: Path, log: Path) -> None:
    configure = [
        tool("cmake"), "-S", str(project), "-B", str(build), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={shutil.which(compiler())}",
    ]  # fmt: skip
    code = run_logged([(configure, {}), ([tool("cmake"), "--build", str(build)], {})], log)
    if code:
        why = first_error(log.read_text(errors="replace"))
        raise LaunchError(
            f"the library of routes could not be built (exit code {code}): {why}",
            f"the full output is in {log}; another compiler: CXX=PATH",
        )
