# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft doctor`` starts to see whether it works: programs that say their version, and two ranks."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.doctor.probe import Probe, Root
from weft.errors import LaunchError
from weft.launch.local import LOOPBACK, without_job
from weft.mpi.library import find_mpi
from weft.mpi.quick_start import settings_without_delay
from weft.mpi.starting import cores_here, family_of

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


def failure(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Why a command fails, in its own last words; empty if it works. A program that only prints its usage works."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=TRIAL_S,
            env=environment, check=False,
        )  # fmt: skip
    except OSError as error:
        return error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return f"no end after {TRIAL_S:.0f} s"
    said = done.stdout + done.stderr
    if done.returncode == 0 or (done.returncode > 0 and "usage:" in said.lower()):
        return ""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if any(map(str.isalpha, line))]
    return lines[-1] if lines else f"exit code {done.returncode}"


def two_ranks(root: Root) -> Probe:
    """Build a program of two ranks with the MPI that would be measured, and start it."""
    try:
        mpi = find_mpi()
        library, starter = mpi.described(), mpi.mpiexec()
    except LaunchError as error:
        return Probe("two ranks", "", "missing", f"measuring anything: {error.what}", error.remedy, needed=True)
    with tempfile.TemporaryDirectory(prefix="weft-doctor-") as made:
        program = str(Path(made) / "ranks")
        why = _built(str(mpi.wrapper), Path(made))
        if not why and library is not None:
            family = family_of(library)
            libraries = os.pathsep.join([str(mpi.wrapper.parent.parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
            quick = settings_without_delay(library, starter, os.environ, root.path)
            own = {**family.environment(True), **quick, **without_job(os.environ), "LD_LIBRARY_PATH": libraries}
            # as the launcher of this host starts them
            alone = [sys.executable, "-I", "-S", str(LOOPBACK)]
            why = failure([*alone, *family.command(starter, 2, True, cores_here(), [program])], own)
    if why:
        remedy = f"try it by hand: {starter} -n 2 hostname"
        return Probe("two ranks", "", "missing", f"measuring anything: {why}", remedy, needed=True)
    return Probe("two ranks", "built, started and met (tried just now)", "ok", needed=True)


def two_simulated_ranks(smpicxx: str, smpirun: str) -> str:
    """Why two ranks cannot be built and simulated; empty if they can."""
    with tempfile.TemporaryDirectory(prefix="weft-doctor-") as made:
        platform = Path(made) / "platform.xml"
        platform.write_text(PLATFORM)
        start = (smpirun, "-np", "2", "-platform", str(platform), "-hostfile", str(platform.with_name("hosts")))
        platform.with_name("hosts").write_text("n0\nn1\n")
        return _built(smpicxx, Path(made)) or failure([*start, str(Path(made) / "ranks")])


def _built(wrapper: str, folder: Path) -> str:
    source = folder / "ranks.cpp"
    source.write_text(PROGRAM)
    return failure([wrapper, str(source), "-o", str(folder / "ranks")])
