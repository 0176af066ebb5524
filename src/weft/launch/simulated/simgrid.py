# SPDX-License-Identifier: BSD-3-Clause
"""Building the kernels and the machine library for SimGrid at first use, into the same cache as for a real MPI."""

import re
import shutil
import subprocess
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from weft.errors import LaunchError
from weft.fabric.simulation import PATH_BYTES, SimulationSection
from weft.files.atomic import file_errors
from weft.files.shipped import cache, shipped
from weft.host import run_program
from weft.launch.build import PROGRAM, Say
from weft.launch.toolchain import build_once, cmake_build, first_error, kept_objects, key_of, reported, source_files

# what a compiler or linker says of an MPI call that it did not find
MISSING = re.compile(r"\b(P?MPI_\w+)\W+(?:was not|has not been) declared|undefined reference to \W+(P?MPI_\w+)")
OLDEST = (3, 32)
REMEDY = "on Debian: apt install libsimgrid-dev (3.32 or newer); elsewhere: https://simgrid.org"
# Selectors that crash or wait for ever: SMPI's plain algorithm runs there, and each row names it.
CRASHING = {("impi", "bcast")}
# Calls that an algorithm of a library's call makes: its "non-overlapping" ones are a reduction and a broadcast.
CALLING = {("ompi", "allreduce"): ("reduce", "bcast"), ("ompi", "reduce_scatter"): ("reduce",)}
MODELS = {"fair": "SMPI", "infiniband": "IB"}
# the InfiniBand model divides the bound of a flow, and without a TCP window (one that binds nobody) there is none
WINDOWS = {"fair": "0", "infiniband": "4194304"}
DETACHED_BY_DEFAULT = 65536


@dataclass(frozen=True)
class SimGrid:
    """SimGrid as it is installed here."""

    smpicxx: Path
    smpirun: Path
    version: str


def find_simgrid(smpicxx: str | None = None) -> SimGrid:
    """Find SimGrid by its ``smpicxx``; LaunchError if missing, older than 3.32, or the wrapper is of another MPI."""
    if smpicxx and "smpi" not in Path(smpicxx).name:
        what = f"{smpicxx} cannot build for a simulated fabric: only SimGrid's smpicxx can"
        remedy = "leave --mpicxx out; the fabric's [simulation] collectives chooses whose algorithms are simulated"
        raise LaunchError(what, remedy)
    compiler = shutil.which(smpicxx or "smpicxx")
    if compiler is None:
        raise LaunchError(f"SimGrid is not here: no {smpicxx or 'smpicxx'} on PATH", REMEDY)
    starter, version = shutil.which(str(Path(compiler).parent / "smpirun")) or shutil.which("smpirun"), ""
    if starter is None:
        raise LaunchError(f"SimGrid is incomplete: no smpirun beside {compiler}", REMEDY)
    with suppress(OSError, subprocess.TimeoutExpired):
        said = run_program([starter, "-version"], timeout_s=60).stdout
        version = "".join(re.findall(r"version (\d[\w.]*)", said)[:1])
        if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= OLDEST:
            return SimGrid(Path(compiler), Path(starter), version)
    raise LaunchError(f"SimGrid {version or '(of unknown version)'} at {starter} is too old: 3.32 is needed", REMEDY)


def options(simulation: SimulationSection, eager_limit: int | None, measured: Collection[str] = ()) -> dict[str, str]:
    """SimGrid's options (``--cfg``), without those that name files. Its defaults are a calibration of Gigabit Ethernet
    (factors on bandwidth and latency, time measured on this host): none is left in place. What a message costs is
    charged by the machine library (native/simulate/machine/costs.cpp). `eager_limit`: bytes up to which a message is
    sent without asking first; SMPI's own where the fabric states none. `measured`: collective calls that are measured,
    in small letters: they, and the calls that their algorithms make, take the algorithms of the fabric's library. The
    others are Weft's own traffic, and stay plain: a library's broadcast of a table to a thousand ranks is a ring.
    """
    library = simulation.selector
    inner = {each for call in measured for each in CALLING.get((library, call), ())}
    selected = {call: library for call in sorted({*measured, *inner}) if (library, call) not in CRASHING}
    asked = {call: name for call, name in simulation.algorithms.items() if call in measured}
    chosen = {f"smpi/{call}": name for call, name in (selected | asked).items()}
    return {
        "network/model": MODELS[simulation.model],
        "smpi/bw-factor": "0:1",  # a bare 1 crashes SimGrid 3.32
        "smpi/lat-factor": "0:1",
        "network/TCP-gamma": WINDOWS[simulation.model],
        "network/crosstraffic": "0",
        "network/weight-S": str(PATH_BYTES[simulation.sharing]),
        "surf/precision": "1e-9",
        "smpi/simulate-computation": "no",
        "smpi/host-speed": "1f",
        "smpi/iprobe": "1e-7",  # s that a look for a message takes: 100 us by default, and longer each time
        "smpi/test": "1e-7",  # that a look at a request takes: 100 us by default
        "smpi/grow-injected-times": "no",
        "smpi/privatization": "no",  # the kernels keep no globals
        "contexts/stack-size": "512",  # KiB a rank
        "smpi/send-is-detached-thresh": str(eager_below(eager_limit)),
        # Weft's own traffic, where SMPI's defaults send p^2 messages and would open all connections.
        "smpi/allgather": "bruck",
        "smpi/barrier": "ompi_bruck",
        **chosen,
    }


def eager_below(limit: int | None) -> int:
    """Bytes below which a message leaves its sender going, by the fabric's eager limit; SMPI's own if it has none."""
    return DETACHED_BY_DEFAULT if limit is None else limit + 1


MACHINE, PROJECT = "libweft-machine.so", "simulate"


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


def build_programs(simgrid: SimGrid, say: Say = lambda _: None, sources: Path | None = None) -> Programs:
    """Return the programs for a SimGrid, built if not cached; LaunchError with the first error and the log."""
    native = sources or shipped("native")
    files, here = simulated_sources(native), [str(simgrid.smpicxx), simgrid.version]
    place = cache() / f"simulated-{key_of(here, native, files)}"
    objects = cache() / f"objects-simulated-{key_of([*here, str(native)], native, [])}"

    def make(work: Path, ready: Path, log: Path) -> None:
        what = f"building the kernels for SimGrid {simgrid.version} with {simgrid.smpicxx} (once, a minute or two)"
        with reported(say, what, log), kept_objects(objects, files) as build:
            compile_programs(build, simgrid, native / PROJECT, log)
            with file_errors(place):
                for name in (PROGRAM, MACHINE):
                    shutil.copy2(build / name, ready / name)

    build_once(place, MACHINE, make)
    return Programs(place, simgrid)


def simulated_sources(native: Path) -> list[Path]:
    """Sources of the kernels under SimGrid and of its machines; without those of other libraries and programs."""
    return source_files(native, {"bench", "route", "interpose", "trace", "rounds"}, "_real")


def compile_programs(build: Path, simgrid: SimGrid, project: Path, log: Path) -> None:
    """Configure and compile; all output goes to the log. Raises LaunchError if a step fails."""
    # CMake's trial programs must be executables, not libraries for smpirun.
    code = cmake_build(project, build, log, cxx=simgrid.smpicxx, SMPI_PRETEND_CC="1")
    if not code:
        return
    text = log.read_text(encoding="utf-8", errors="replace")
    if found := MISSING.search(text):
        call = found[1] or found[2]
        what = f"SimGrid {simgrid.version} has no {call}, which a kernel calls: it cannot be simulated"
        raise LaunchError(what, f"take a newer SimGrid, or a study of another kernel; the whole output is in {log}")
    what = f"the kernels could not be built with {simgrid.smpicxx} (exit code {code}): {first_error(text)}"
    raise LaunchError(what, f"the whole output is in {log}")
