# SPDX-License-Identifier: BSD-3-Clause
"""Libraries built at first use: those preloaded into an application, for each MPI, and the one for routes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from weft.errors import LaunchError, NotThereError, StudyError
from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.format import plural
from weft.launch.build import Say, compiled, library_identity
from weft.launch.toolchain import build_once, cmake_build, first_error, key_of, reported, source_files
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import check_spec, read_selection
from weft.mpi.library import OPEN_MPI, STARTERS, WRAPPERS, Mpi, find_mpi, is_program
from weft.mpi.library import Library as MpiLibrary
from weft.route.library import NAME, Library

PROJECT = "route"


def say_once(text: str) -> None:
    """Print on stderr what takes some seconds."""
    sys.stderr.write(text + "\n")


def route_library(say: Say = say_once, sources: Path | None = None) -> Library:
    """The library of routes, built if it is not cached; LaunchError with first error and log, or DataError."""
    native = sources or shipped("native")
    folders = [native / name for name in (PROJECT, "simulate/rounds", "simulate/machine", "alltoall")]
    own = [path for path in source_files(native) if any(map(path.is_relative_to, folders))]
    place = cache() / f"route-{key_of([PROJECT], native, own)}"

    def make(work: Path, ready: Path, log: Path) -> None:
        with reported(say, "building the library of routes (once, takes some seconds)", log):
            if code := cmake_build(native / PROJECT, work / "build", log):
                why = first_error(log.read_text(encoding="utf-8", errors="replace"))
                what = f"the library of routes could not be built (exit code {code}): {why}"
                raise LaunchError(what, f"the full output is in {log}; another compiler: CXX=PATH")
        with file_errors(place):
            shutil.copy2(work / "build" / NAME, ready / NAME)

    build_once(place, NAME, make)
    return Library(place / NAME)


@dataclass(frozen=True)
class Preload:
    """A library to preload, and how it is built."""

    file: str  # its file's name
    target: str  # its target in the CMake project
    room: str  # the folder of ``native`` with its own sources, and its name in the cache
    takes: str  # how long it takes to build, in words
    parts: tuple[str, ...]  # files and folders of ``native`` on which it depends


SEPARATORS = " :"  # what divides the libraries of LD_PRELOAD; it has no way to quote them
LOADED, BEGUN = b"L", b"I"  # what a process that loads a library writes into its file of marks, and what MPI_Init does


def run_preloaded(
    library: Path, command: Sequence[str], variables: Mapping[str, str], mpi: Mpi, *, hands_on: bool
) -> tuple[int, int, str]:
    """Run a command with a library; code and signal as `wait_for`, why it saw nothing or "". DataError, LaunchError."""
    with file_errors(cache()):
        cache().mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix="marks-", dir=cache())
        os.close(handle)
    own = {"LD_PRELOAD": preload_value(library, hands_on=hands_on), "LIBWEFT_MARKS": name}
    code, signalled = wait_for(preloaded(command, {**variables, **own}, mpi.described()))
    with file_errors(marks := Path(name)):
        found = marks.read_bytes()
        marks.unlink()
    return code, signalled, bypassed(library.name, found.count(LOADED), found.count(BEGUN))


def bypassed(library: str, loaded: int, begun: int) -> str:
    """Why a library saw nothing, in words; empty where it did."""
    why = "the starter drops LD_PRELOAD, or the program is static"
    if loaded:
        why = "MPI by sessions or dlopen, or a tool linked in front of MPI, bypasses it"
    return "" if begun else f"{library}: loaded by {plural(loaded, 'process')}, MPI_Init seen in none -> {why}"


def preload_value(library: Path, *, hands_on: bool) -> str:
    """LD_PRELOAD with a library beside what the user preloads."""
    theirs = os.environ.get("LD_PRELOAD", "")
    return ":".join(filter(None, (str(library), theirs) if hands_on else (theirs, str(library))))


def build_preload(library: Preload, mpi: Mpi, say: Say = lambda _: None, sources: Path | None = None) -> Path:
    """Path of a library for an MPI, built if it is not cached; LaunchError with first error and log, or DataError."""
    native = sources or shipped("native")
    if any(sign in str(cache()) for sign in SEPARATORS):
        what = f"{cache()} has a space or a colon, and LD_PRELOAD cannot name a library there"
        raise LaunchError(what, "set XDG_CACHE_HOME to a path without")
    parts = [native / part for part in library.parts]
    files = [path for path in source_files(native) if any(map(path.is_relative_to, parts))]
    show = mpi.show()
    place = cache() / f"{library.room}-{key_of([str(mpi.wrapper), show, *library_identity(show)], native, files)}"

    def make(work: Path, ready: Path, log: Path) -> None:
        with (
            reported(say, f"building {library.file} with {mpi.wrapper} (once, takes {library.takes})", log),
            compiled(library.target, mpi, native, log) as build,
            file_errors(place),
        ):
            shutil.copy2(build / library.room / library.file, ready / library.file)

    build_once(place, library.file, make)
    return place / library.file


def wait_for(command: Sequence[str]) -> tuple[int, int]:
    """Run a command on this terminal; its exit code, and the signal that came, or 0. LaunchError if none can start."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        # the application must not inherit that we go on after interrupts
        started = subprocess.Popen(list(command), preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL))
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


ROOMS = ("common", "alltoall", "interpose", "CMakeLists.txt")
INTERPOSER = Preload("libweft.so", "weft", "interpose", "some seconds", ROOMS)
CLOCKS = ("measure/time", "measure/mpi", "measure/host")  # all that the tracer has of the kernels' sources
TRACER = Preload("libweft_trace.so", "weft_trace", "trace", "about half a minute", ("trace", *ROOMS, *CLOCKS))
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


def settings(
    force: str = "", table: Path | None = None, report: Path | None = None, verify: int = 0, prewarm: bool = False
) -> dict[str, str]:
    """Variables of the interposer, which a job script can also set; StudyError, NotThereError, DataError for a bad one.
    `force`: algorithm for every call, as ``node.multi{nl=4}``; empty: none is forced.
    """
    if force:
        try:
            if check_spec(force.replace(" ", "")) == DEFAULT:  # blanks are left out by the library, too
                raise ValueError(f"libweft has no algorithm {DEFAULT!r}: the MPI library's own is pmpi")
        except ValueError as error:
            raise StudyError(str(error), 'such as --force "node.multi{nl=4}"') from error
    if table is not None:
        if not table.is_file():
            raise NotThereError(f"there is no selection table {table}", "name a file: --table FILE")
        read_selection(table)
    paths = {"WEFT_TABLE": table, "WEFT_REPORT": report}
    given = {"WEFT_ALLTOALL": force, **{name: str(path.absolute()) for name, path in paths.items() if path}}
    given |= {"WEFT_VERIFY": str(verify) if verify else "", "WEFT_PREWARM": "1" if prewarm else ""}
    return {name: value for name, value in given.items() if value}


def mpi_of(command: Sequence[str], mpicxx: str | None) -> Mpi:
    """The MPI of a command: the wrapper beside its starter, or named; LaunchError for none, StudyError if no rank."""
    found = shutil.which(command[0])
    if found is None:
        raise LaunchError(f"{command[0]} is not an executable program", "weft exec -- mpirun -n 4 ./application")
    starter = Path(found)
    if has_no_ranks(starter):
        what = f"{found} neither uses MPI nor starts another program"
        raise StudyError(what, "start ranks: mpirun -n 4 ./application")
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


def preloaded(command: Sequence[str], variables: Mapping[str, str], library: MpiLibrary | None) -> list[str]:
    """The command with the variables passed to the ranks by the starter's own option, or ``env`` for an unknown one. In
    its environment the starter itself would load the library, and Open MPI would not pass them to other hosts.
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
