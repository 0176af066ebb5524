# SPDX-License-Identifier: BSD-3-Clause
"""One thing that ``weft doctor`` looks at, and what it starts to see whether it works: programs, two ranks."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.errors import LaunchError
from weft.fabric.kinds import KINDS
from weft.files.atomic import temporary
from weft.launch.batch.schedulers import SCHEDULERS
from weft.launch.local import KEEPER, without_job
from weft.mpi.library import Library, Mpi, find_mpi
from weft.mpi.starting import cores_here, family_of, settings_without_delay

Verdict = Literal["ok", "warn", "missing"]
PROGRAM = """
#include <mpi.h>
int main(int count, char **words) {
  int one = 1, sum = 0;
  MPI_Init(&count, &words);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum == 2 ? 0 : 1;
}
"""
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/></platform>
"""
TRIAL_S = 60.0  # a version is printed in milliseconds; two ranks take seconds on a busy host


@dataclass(frozen=True)
class Probe:
    """One thing that ``weft doctor`` looks for."""

    name: str  # what it is
    found: str  # what was found; empty if nothing was
    verdict: Verdict  # ``ok``, ``warn`` (present, but harmful to measurements) or ``missing``
    needed_for: str = ""  # what does not work without it, or what the warning means
    remedy: str = ""  # the command that installs or corrects it; empty if nothing need be done
    needed: bool = False  # whether ``weft run`` on this host cannot do without it
    serves: str = ""  # the kind of fabric that cannot do without it; empty where none
    lacks: str = ""  # what is missing, as its package is called
    developers: bool = False  # whether only those who work on Weft need it


def ready(probes: Sequence[Probe]) -> str:
    """One line: ``ready: local; missing for virtual: iproute2; not tried: slurm (weft doctor --on FABRIC ..)``."""
    missing = [probe for probe in probes if probe.verdict == "missing"]
    here, untried, parts = list[str](), list[str](), list[str]()
    for kind in KINDS:
        if kind in SCHEDULERS and not is_here(kind):
            continue
        lacking = [probe.lacks or probe.name for probe in missing if probe.needed]
        lacking += [probe.lacks or probe.name for probe in missing if probe.serves == kind]
        if lacking:
            parts.append(f"missing for {kind}: {', '.join(dict.fromkeys(lacking))}")
        else:
            (untried if kind in SCHEDULERS else here).append(kind)
    if untried:
        parts.append(f"not tried: {', '.join(untried)} (weft doctor --on FABRIC tries it)")
    return "; ".join([f"ready: {', '.join(here)}" if here else "not ready for anything", *parts])


def is_here(kind: str) -> bool:
    """Whether the commands of a scheduler are on PATH."""
    try:
        SCHEDULERS[kind]().refuse_missing()
    except LaunchError:
        return False
    return True


def failure(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Why a command fails, in its own last words; empty if it works. A program that only prints its usage works."""
    try:
        begun = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return error.strerror or str(error)
    try:
        out, err = begun.communicate(timeout=TRIAL_S)
    except subprocess.TimeoutExpired:
        return f"no end after {TRIAL_S:.0f} s"
    finally:
        if begun.poll() is None:  # ranks that hang end, too
            os.killpg(begun.pid, signal.SIGKILL)
            begun.communicate()
    if begun.returncode == 0 or (begun.returncode > 0 and "usage:" in (out + err).lower()):
        return ""
    lines = [line.strip() for line in (err or out).splitlines() if any(map(str.isalpha, line))]
    return lines[-1] if lines else f"exit code {begun.returncode}"


def two_ranks(root: Path) -> Probe:
    """Build a program of two ranks with the MPI that would be measured, and start it."""
    try:
        mpi = find_mpi()
        library, starter = mpi.described(), mpi.mpiexec()
    except LaunchError as error:
        return Probe("two ranks", "", "missing", f"measuring anything: {error.what}", error.remedy, needed=True)
    why = _tried(lambda folder: _start_two(folder, mpi, library, starter, root))
    by_hand = f"try it by hand: {starter} -n 2 hostname"
    if why:
        return Probe("two ranks", "", "missing", f"measuring anything: {why}", by_hand, needed=True)
    if library is None:
        why = f"{mpi.wrapper} does not name its library"
        return Probe("two ranks", "built, not started", "warn", why, by_hand, needed=True)
    return Probe("two ranks", "built and run on two ranks (just now)", "ok", needed=True)


def _start_two(folder: Path, mpi: Mpi, library: Library | None, starter: Path, root: Path) -> str:
    why = _built(str(mpi.wrapper), folder)
    if why or library is None:
        return why
    family = family_of(library)
    folders = filter(None, [str(mpi.wrapper.parent.parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
    paths = {"LD_LIBRARY_PATH": os.pathsep.join(folders)}
    quick = settings_without_delay(library, starter, os.environ, root)
    own = {**family.environment(True), **quick, **without_job(os.environ), **paths}
    alone = [sys.executable, "-I", "-S", str(KEEPER), "alone"]
    return failure([*alone, *family.command(starter, 2, True, cores_here(), [str(folder / "ranks")])], own)


def two_simulated_ranks(smpicxx: str, smpirun: str) -> str:
    """Why two ranks cannot be built and simulated; empty if they can."""

    def simulate(folder: Path) -> str:
        platform, hosts = folder / "platform.xml", folder / "hosts"
        platform.write_text(PLATFORM, encoding="utf-8")
        hosts.write_text("n0\nn1\n", encoding="utf-8")
        start = (smpirun, "-np", "2", "-platform", str(platform), "-hostfile", str(hosts))
        return _built(smpicxx, folder) or failure([*start, str(folder / "ranks")])

    return _tried(simulate)


def _tried(trial: Callable[[Path], str]) -> str:
    """Why a trial in a temporary folder fails, be it that there is no room for one."""
    place = temporary()
    try:
        with tempfile.TemporaryDirectory(prefix="weft-doctor-", dir=place) as made:
            return trial(Path(made))
    except OSError as error:
        return f"{place}: {error.strerror or error}"


def _built(wrapper: str, folder: Path) -> str:
    source = folder / "ranks.cpp"
    source.write_text(PROGRAM)
    return failure([wrapper, str(source), "-o", str(folder / "ranks")])
