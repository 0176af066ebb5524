# SPDX-License-Identifier: BSD-3-Clause
"""Building the kernels and the machine library for SimGrid at first use, into the same cache as for a real MPI."""

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.errors import LaunchError
from weft.folder import told
from weft.launch.build import PROGRAM, compiler_version, first_error, one_at_a_time, source_files, tool
from weft.launch.simulated.simgrid import SimGrid
from weft.shipped import cache, shipped

MACHINE = "libweft-machine.so"
PROJECT = "simulate"


@dataclass(frozen=True)
class Programs:
    """What was built for one SimGrid.

    Parameters
    ----------
    folder
        Their place in the cache.
    simgrid
        What they were built with.
    """

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

    Parameters
    ----------
    sources
        The folder ``native``; the shipped one otherwise.

    Raises
    ------
    LaunchError
        No CMake, or a failed build: with the first error and the path of the whole log.
    """
    native = sources or shipped("native")
    place = cache() / f"simulated-{cache_key(simgrid, native)}"
    with told(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(place.with_name(place.name + ".lock")):
        if not (place / MACHINE).is_file():
            say(f"building the kernels for SimGrid {simgrid.version} with {simgrid.smpicxx} (once, a minute)")
            build_into(place, simgrid, native)
    return Programs(place, simgrid)


def cache_key(simgrid: SimGrid, native: Path) -> str:
    """Hash of everything that the built programs depend on."""
    digest = hashlib.sha256()
    for part in (str(simgrid.smpicxx), simgrid.version, platform.machine(), compiler_version()):
        digest.update(part.encode() + b"\0")
    for path in source_files(native):
        digest.update(str(path.relative_to(native)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def build_into(place: Path, simgrid: SimGrid, native: Path) -> None:
    """Build in a temporary folder and move the programs to their place in one step."""
    log = place.with_name(place.name + ".log")
    with told(place):
        work = Path(tempfile.mkdtemp(prefix=place.name + ".", suffix=".part", dir=place.parent))
    try:
        compile_programs(work / "build", simgrid, native / PROJECT, log)
        ready = work / "ready"
        with told(place):
            ready.mkdir()
            for name in (PROGRAM, MACHINE):
                shutil.copy2(work / "build" / name, ready / name)
            shutil.rmtree(place, ignore_errors=True)
            ready.rename(place)
            log.unlink(missing_ok=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def compile_programs(build: Path, simgrid: SimGrid, project: Path, log: Path) -> None:
    """Configure and compile; everything that is printed goes to the log."""
    configure = [
        tool("cmake"), "-S", str(project), "-B", str(build), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={simgrid.smpicxx}",
    ]  # fmt: skip
    # CMake's trial programs must be programs, not what smpirun loads.
    steps = ((configure, {"SMPI_PRETEND_CC": "1"}), ([tool("cmake"), "--build", str(build)], {}))
    with told(log), log.open("wb") as out:
        for command, extra in steps:
            out.write(f"$ {shlex.join(command)}\n".encode())
            out.flush()
            code = subprocess.run(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env={**os.environ, **extra}, check=False
            ).returncode
            if code:
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
    """The MPI call that a compiler or linker did not find; empty where something else is wrong."""
    found = re.search(r"\b(P?MPI_\w+)\W+(?:was not|has not been) declared|undefined reference to \W+(P?MPI_\w+)", text)
    return (found[1] or found[2]) if found else ""
