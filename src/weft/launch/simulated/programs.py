# SPDX-License-Identifier: BSD-3-Clause
"""Building the kernels and the machine library for SimGrid at first use, into the same cache as for a real MPI."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.errors import LaunchError
from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.launch.build import PROGRAM
from weft.launch.simulated.simgrid import SimGrid
from weft.launch.toolchain import build_once, first_error, kept_objects, key_of, resume_logged, source_files, told, tool

MACHINE = "libweft-machine.so"
PROJECT = "simulate"


@dataclass(frozen=True)
class Programs:
    """The programs built for one SimGrid."""

    folder: Path
    simgrid: SimGrid

    @property
    def kernels(self) -> Path:
        """``weft-measure``, as smpirun starts it."""
        return self.folder / PROGRAM

    @property
    def machine(self) -> Path:
        """The platform library."""
        return self.folder / MACHINE


def build_programs(
    simgrid: SimGrid, say: Callable[[str], None] = lambda _: None, sources: Path | None = None
) -> Programs:
    """Return the programs for a SimGrid, built if they are not in the cache.

    Raises
    ------
    LaunchError
        CMake is missing, or the build failed; the message has the first error and the path of the log.
    """
    native = sources or shipped("native")
    key = key_of([str(simgrid.smpicxx), simgrid.version], native, source_files(native))
    place = cache() / f"simulated-{key}"

    def make(work: Path, ready: Path, log: Path) -> None:
        what = f"building the kernels for SimGrid {simgrid.version} with {simgrid.smpicxx} (once, a minute or two)"
        with told(say, what, log):
            same = key_of([str(simgrid.smpicxx), simgrid.version, str(native)], native, [])
            with kept_objects(cache() / f"objects-simulated-{same}", key) as build:
                compile_programs(build, simgrid, native / PROJECT, log)
                with file_errors(place):
                    for name in (PROGRAM, MACHINE):
                        shutil.copy2(build / name, ready / name)

    build_once(place, MACHINE, make)
    return Programs(place, simgrid)


def compile_programs(build: Path, simgrid: SimGrid, project: Path, log: Path) -> None:
    """Configure and compile; all output goes to the log. Raises LaunchError if a step fails."""
    configure = [
        tool("cmake"), "-S", str(project), "-B", str(build), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={simgrid.smpicxx}",
    ]  # fmt: skip
    # CMake's trial programs must be executables, not libraries for smpirun.
    make = [tool("cmake"), "--build", str(build)]
    code = resume_logged([(configure, {"SMPI_PRETEND_CC": "1"}), (make, {})], build, log)
    if not code:
        return
    text = log.read_text(errors="replace")
    if call := missing_call(text):
        raise LaunchError(
            f"SimGrid {simgrid.version} has no {call}, which a kernel calls: it cannot be simulated",
            f"take a newer SimGrid, or a study of another kernel; the whole output is in {log}",
        )
    raise LaunchError(
        f"the kernels could not be built with {simgrid.smpicxx} (exit code {code}): {first_error(text)}",
        f"the whole output is in {log}",
    )


def missing_call(text: str) -> str:
    """The MPI call that a compiler or linker did not find; empty for another error."""
    found = re.search(r"\b(P?MPI_\w+)\W+(?:was not|has not been) declared|undefined reference to \W+(P?MPI_\w+)", text)
    return (found[1] or found[2]) if found else ""
