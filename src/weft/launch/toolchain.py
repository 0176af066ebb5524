# SPDX-License-Identifier: BSD-3-Clause
"""Building at first use: sources, compiler and tools, a log with its first error, a folder in the cache."""

import fcntl
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from pathlib import Path

from weft.errors import LaunchError
from weft.extras import own_pip
from weft.files.atomic import file_errors
from weft.files.lock import NO_LOCKS, held_by_name
from weft.host import run_program
from weft.mpi.library import is_program, last_line

SOURCES = ("*.cpp", "*.hpp", "*.c", "*.h", "*.map", "CMakeLists.txt", "*.cmake")
TELL_EACH_S = 9.0  # between two words on a build: people take a longer silence for a program that hangs
Step = tuple[Sequence[str], Mapping[str, str]]  # a command, and what its environment has beside ours


def source_files(native: Path, others: Set[str] = frozenset(), twins: str = "/") -> list[Path]:
    """Source files of the kernels, without tests, ``others`` and files that end in ``twins``; LaunchError for none."""
    if not (native / "CMakeLists.txt").is_file():
        raise LaunchError(f"the kernels' sources are missing: no {native}/CMakeLists.txt", "install Weft again")
    found = {path for pattern in SOURCES for path in native.rglob(pattern) if not path.stem.endswith(twins)}
    return sorted(path for path in found if not {"tests", *others} & set(path.relative_to(native).parts))


def key_of(parts: Iterable[str], native: Path, files: Iterable[Path]) -> str:
    """Name in the cache: a hash of the compiler, of sources below ``native``, and of what else a build depends on."""
    digest = hashlib.sha256()
    flags = [os.environ.get(name, "") for name in ("CXXFLAGS", "LDFLAGS")]  # CMake takes them
    for part in (*parts, *flags, platform.machine(), compiler_version()):
        digest.update(part.encode() + b"\0")
    for path in files:
        digest.update(str(path.relative_to(native)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def compiler() -> str:
    """Name of the C++ compiler that CMake will use; LaunchError if there is none."""
    candidates = os.environ.get("CXX", "").split()[:1] or ["c++", "g++", "clang++"]
    if found := next(filter(shutil.which, candidates), ""):
        return found
    remedy = "on Debian: apt install g++; on a cluster: module load gcc; or set CXX to a compiler with C++20"
    raise LaunchError(f"no C++ compiler: {' and '.join(candidates)} not found", remedy)


def compiler_version() -> str:
    """Path and first line of the version of the C++ compiler."""
    name = compiler()
    return f"{shutil.which(name)} {(run_program([name, '--version']).stdout.splitlines() or [''])[0]}"


def tool(name: str) -> str:
    """Path of a build tool: that of its wheel, else the one on PATH; LaunchError if there is none."""
    own = Path(sys.prefix) / "bin" / name
    if found := str(own) if is_program(own) else shutil.which(name):
        return found
    raise LaunchError(f"{name} not found", f"{own_pip()} install {name}")


@contextmanager
def reported(say: Callable[[str], None], what: str, log: Path) -> Generator[None]:
    """Say what takes its time before it begins, how far its log has come meanwhile, and at last how long it took."""
    say(what)
    began = time.monotonic()
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(TELL_EACH_S):
            say(f"still building: {so_far(log)}{time.monotonic() - began:.0f} s so far")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
    say(f"built in {time.monotonic() - began:.0f} s")


def so_far(log: Path) -> str:
    """The last ``[12/31]`` that Ninja wrote, in words; empty where there is none yet."""
    try:
        steps = re.findall(r"^\[(\d+)/(\d+)\]", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    except OSError:
        return ""
    return f"{steps[-1][0]} of {steps[-1][1]} steps, " if steps else ""


def build_once(place: Path, wanted: str, make: Callable[[Path, Path, Path], None]) -> None:
    """Build ``place`` by one process at a time, moved there in one step, unless ``wanted`` is there; DataError."""
    log = place.with_name(place.name + ".log")
    with file_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(place.with_name(place.name + ".lock")):
        if (place / wanted).is_file():
            return
        for left in place.parent.glob(f"{place.name}.*.part"):
            shutil.rmtree(left, ignore_errors=True)  # of a build that was killed: its lock is ours now
        with file_errors(place):
            work = Path(tempfile.mkdtemp(prefix=place.name + ".", suffix=".part", dir=place.parent))
        try:
            ready = work / "ready"
            with file_errors(place):
                ready.mkdir()
            make(work, ready, log)
            with file_errors(place):
                shutil.rmtree(place, ignore_errors=True)
                ready.rename(place)
                log.unlink(missing_ok=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def run_logged(steps: Iterable[Step], log: Path) -> int:
    """Run commands until one fails; all output goes to the log. Returns 0, or the exit code of the failed one."""
    with file_errors(log), log.open("wb") as out:
        for command, extra in steps:
            out.write(f"$ {shlex.join(command)}\n".encode())
            out.flush()
            own = {**os.environ, **extra}
            step = subprocess.Popen(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=own, start_new_session=True
            )
            try:
                if code := step.wait():
                    return code
            finally:
                if step.poll() is None:  # an interrupt also ends its compilers
                    os.killpg(step.pid, signal.SIGTERM)
                    step.wait()
    return 0


@contextmanager
def kept_objects(place: Path, files: Sequence[Path]) -> Generator[Path]:
    """A build folder for one process at a time, with the objects of what did not change since they were built."""
    with file_errors(place):
        place.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(place.with_name(place.name + ".lock")), file_errors(place):
        of = place / "sources"
        sums = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        if not _are_seen(of, sums):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        of.write_text(json.dumps({"sums": sums, "built_ns": 0}))
        yield place
        if place.is_dir():
            of.write_text(json.dumps({"sums": sums, "built_ns": time.time_ns()}))


def _are_seen(of: Path, sums: Mapping[str, str]) -> bool:
    """Whether Ninja, which looks at times only, compiles all that changed anew: what is newer than a whole build."""
    try:
        before = json.loads(of.read_text(encoding="utf-8"))
        changed = [path for path, sum in sums.items() if before["sums"].get(path) != sum]
        return all(0 < before["built_ns"] < Path(path).stat().st_mtime_ns for path in changed)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def cmake_build(
    project: Path, build: Path, log: Path, *defines: str, cxx: Path | None = None, target: str = "all", **variables: str
) -> int:
    """Configure a project for a compiler (None: the usual one) and build a target of it; the exit code, 0 if it worked.
    What an interrupted build left broken is built anew, once. The variables are for configuring.
    """
    cmake = tool("cmake")
    configure = [
        cmake, "-S", str(project), "-B", str(build), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={cxx or shutil.which(compiler())}", *defines,
    ]  # fmt: skip
    steps: list[Step] = [(configure, variables), ([cmake, "--build", str(build), "--target", target], {})]
    left = build.is_dir() and len(list(build.iterdir())) > 1
    code = run_logged(steps, log)
    if code and left:
        shutil.rmtree(build, ignore_errors=True)
        with file_errors(build):
            build.mkdir()
        code = run_logged(steps, log)
    if code:
        shutil.rmtree(build, ignore_errors=True)
    return code


def first_error(text: str) -> str:
    """First error of a compiler, linker or CMake in a build's output."""
    lines = [line.strip() for line in text.splitlines()]
    for number, line in enumerate(lines):
        if re.search(r"\b(fatal )?error\b ?:|undefined reference|cannot find -l", line):
            return line
        if line.startswith("CMake Error"):
            # CMake prints the reason on the next lines
            return " ".join([line, *(following for following in lines[number + 1 : number + 4] if following)])
    return last_line(text)


@contextmanager
def _one_at_a_time(path: Path) -> Generator[None]:
    """Let one process at a time build one key; a second one finds it already built."""
    with file_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with ExitStack() as stack:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                stack.enter_context(held_by_name(path, lambda _: None, wait_s=600))
            yield
    finally:
        os.close(handle)
