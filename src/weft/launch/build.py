# SPDX-License-Identifier: BSD-3-Clause
"""Building the kernels for an MPI at first use, once, into a cache.

The MPI at install time is seldom the one a job runs under, so nothing is compiled before that MPI is known.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft.errors import LaunchError
from weft.files.atomic import file_errors, temporary, write_atomic
from weft.files.shipped import cache, shipped
from weft.host import run_program
from weft.launch.keeper import lying, sweep
from weft.launch.toolchain import build_once, cmake_build, first_error, kept_objects, key_of, reported, source_files
from weft.mpi.library import Library, Mpi, is_program, last_line, parse_library
from weft.mpi.starting import as_root

Say = Callable[[str], None]
PROGRAM = "weft-measure"
SETTINGS = "default-settings.txt"
VERSION = "library.txt"
# variables kept in a clean environment: any other may be a setting of some MPI
CLEAN = ("PATH", "LD_LIBRARY_PATH", "LANG", "TMPDIR", "USER", "LOGNAME")


@dataclass(frozen=True)
class Kernels:
    """The kernels, built for one MPI."""

    folder: Path
    mpi: Mpi
    library: Library

    @property
    def program(self) -> Path:
        """The executable ``weft-measure``."""
        return self.folder / PROGRAM

    @property
    def variables(self) -> dict[str, str]:
        """Names the file of the control variables' default values to the ranks, if the library reports them."""
        path = self.folder / SETTINGS
        return {"WEFT_DEFAULT_SETTINGS": str(path)} if path.is_file() and path.stat().st_size else {}

    def about(self) -> dict[str, str]:
        """Describe the library, its origin, and the kernels (a hash), for a run's provenance."""
        mpi = {"mpi": str(self.library), "mpi_library": self.library.text, "mpicxx": str(self.mpi.wrapper)}
        return {**mpi, "found_by": self.mpi.origin, "kernels": self.folder.name.partition("-")[0]}


def build_kernels(mpi: Mpi, say: Say = lambda _: None, sources: Path | None = None, only: str = "") -> Kernels:
    """Return the kernels for an MPI, built if they are not cached; LaunchError with first error and log, DataError.
    `only`: the program that a study needs (`Kernel.program`), which takes a third of the time that all kernels take. A
    program with all of them serves every study.
    """
    native = sources or shipped("native")
    place, target = cache() / cache_key(mpi, native), PROGRAM
    if only and not (place / PROGRAM).is_file():
        place, target = place.with_name(f"{place.name}-{only}"), f"{PROGRAM}-{only}"

    def make(work: Path, ready: Path, log: Path) -> None:
        kernels = f"the kernel {only.partition('-')[0]}" if only else "all kernels"
        name = f"for {library} " if (library := mpi.described()) else ""
        with (
            reported(say, f"building {kernels} {name}with {mpi.wrapper} (once, up to a minute)", log),
            compiled(target, mpi, native, log) as build,
            file_errors(ready),
        ):
            shutil.copy2(built_program(build, log, target), ready / PROGRAM)
            shutil.copy2(log, ready / "build.log")
        write_atomic(ready / VERSION, asked_version(ready / PROGRAM, mpi).encode())
        write_atomic(ready / SETTINGS, default_settings(ready / PROGRAM, work).encode())

    build_once(place, PROGRAM, make)
    return Kernels(place, mpi, parse_library((place / VERSION).read_text()))


def cache_key(mpi: Mpi, native: Path) -> str:
    """Hash of everything on which the built kernels depend."""
    show = mpi.show()
    # all-to-alls included; without simulator, benchmarks, other libraries
    sources = source_files(native, {"simulate", "bench", "route", "interpose", "trace"}, "_simulated")
    return key_of([str(mpi.wrapper), show, *library_identity(show)], native, sources)


def library_identity(show: str) -> Iterable[str]:
    """Path, size and modification time of each MPI library on a wrapper's command line; an update changes them."""
    words = shlex.split(show)
    folders = [word[2:] for word in words if word.startswith("-L")] + ["/usr/lib64", "/usr/lib", "/usr/local/lib"]
    for name in (word[2:] for word in words if word.startswith("-l")):
        found = next((path for folder in folders if (path := Path(folder, f"lib{name}.so")).exists()), None)
        for path in linked_files(found.resolve()) if found else ():
            status = path.stat()
            yield f"{path} {status.st_size} {status.st_mtime_ns}"


def linked_files(library: Path) -> list[Path]:
    """Return the file itself, or the files named by a linker script (PyPI's MPICH has one)."""
    with library.open("rb") as file:
        if file.read(4) == b"\x7fELF":
            return [library]
    text = library.read_text(encoding="utf-8", errors="replace")[:10_000]
    found = (library.parent / name for name in re.findall(r"[\w./+-]*lib[\w.+-]+\.so[\w.]*", text))
    return [library, *(path for path in found if path.is_file())]


@contextmanager
def compiled(target: str, mpi: Mpi, native: Path, log: Path) -> Generator[Path]:
    """The folder in which a target was compiled for an MPI, objects shared; LaunchError with the log's first error."""
    show = mpi.show()
    same = key_of([str(mpi.wrapper), show, *library_identity(show), str(native)], native, [])
    with kept_objects(cache() / f"objects-{same}", source_files(native)) as build:
        if code := cmake_build(native, build, log, f"-DMPI_CXX_COMPILER={mpi.wrapper}", target=target):
            raise failed(code, mpi, log)
        yield build


def failed(code: int, mpi: Mpi, log: Path) -> LaunchError:
    """Return the error of a failed build, with the first error of its log."""
    text = log.read_text(encoding="utf-8", errors="replace")
    if "No space left on device" in text or "Disk quota exceeded" in text:
        full, remedy = f"the disk of {log.parent}", "XDG_CACHE_HOME to another disk"
        # the line on which a disk is full names a file directly in that folder
        refused = rf"{re.escape(str(temporary()))}/[^/\s]+:? *(?:No space left on device|Disk quota exceeded)"
        if re.search(refused, text):
            full = f"the disk of the compiler's temporary files, {temporary()},"
            remedy = "TMPDIR to a folder of another disk"
        return LaunchError(f"the kernels could not be built: {full} is full", f"make room, or set {remedy}")
    what = f"the kernels could not be built with {mpi.wrapper} (exit code {code}): {first_error(text)}"
    return LaunchError(what, f"the full output is in {log}; another MPI: --mpicxx PATH; another compiler: CXX=PATH")


def built_program(build: Path, log: Path, name: str = PROGRAM) -> Path:
    """Find the program that CMake built; LaunchError if there is none."""
    files = [path for path in sorted(build.rglob(name)) if path.is_file()]
    if found := next(filter(is_program, files), None):
        return found
    if files:
        what = f"{name} was built, but no program may be started in {log.parent} (mounted noexec?)"
        remedy = "set XDG_CACHE_HOME to a folder of a disk that is not mounted noexec, and that the nodes see"
        raise LaunchError(what, remedy)
    raise LaunchError(f"the build succeeded but produced no {name}", f"see {log}")


def asked_version(program: Path, mpi: Mpi) -> str:
    """Version string of the MPI library that the loader really uses; LaunchError if the kernels do not start."""
    done = run_program([program, "--version"], timeout_s=120)
    if done.returncode or not done.stdout.strip():
        what = f"the kernels built with {mpi.wrapper} do not start: {last_line(done.stderr or done.stdout)}"
        raise LaunchError(what, "the loader cannot find the MPI library: load its module, or set LD_LIBRARY_PATH")
    return done.stdout


def default_settings(program: Path, scratch: Path) -> str:
    """Default control variables by one rank without a starter or home (whose file changes them); empty if it fails."""
    environment = {name: os.environ[name] for name in CLEAN if name in os.environ}
    home = scratch / "home"
    home.mkdir()
    environment |= {"HOME": str(home), "TMPDIR": str(home), **as_root()}
    before = lying()
    try:
        done = run_program([program, "--settings"], env=environment, folder=home, timeout_s=120)
    except subprocess.TimeoutExpired:
        return ""
    finally:
        sweep(before)  # Open MPI 5 leaves 16 MiB in /dev/shm if a rank runs without a starter, which would clean up
    if done.returncode:
        return ""
    # a value with the path of our scratch folder is not a setting, and would differ in every launch
    return "".join(line for line in done.stdout.splitlines(keepends=True) if str(home) not in line)
