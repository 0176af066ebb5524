# SPDX-License-Identifier: BSD-3-Clause
"""Programs that call all-to-alls in C and in Fortran's three bindings, and what a report said of them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from weft.mpi.starting import Family, OpenMpi5

# Each rank sends 1000 * rank + target: by MPI_ALLTOALL and MPI_ALLTOALLV, each also in place, and by MPI_IALLTOALL.
BODY = """
  implicit none
{declare}
  integer :: rank, ranks, i, k, wrong
  integer, allocatable :: s(:), r(:), ones(:), places(:)
{init}
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank{error})
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks{error})
  allocate (s(ranks), r(ranks), ones(ranks), places(ranks))
  wrong = 0
  do k = 1, 5
    do i = 1, ranks
      s(i) = 1000 * rank + i - 1
      ones(i) = 1
      places(i) = i - 1
    end do
    r = -1
    if (k == 1) call MPI_ALLTOALL(s, 1, MPI_INTEGER, r, 1, MPI_INTEGER, MPI_COMM_WORLD{error})
    if (k == 2) call MPI_ALLTOALLV(s, ones, places, MPI_INTEGER, r, ones, places, MPI_INTEGER, MPI_COMM_WORLD{error})
    if (k > 2 .and. k < 5) r = s
    if (k == 3) call MPI_ALLTOALL(MPI_IN_PLACE, 0, MPI_INTEGER, r, 1, MPI_INTEGER, MPI_COMM_WORLD{error})
    if (k == 4) call MPI_ALLTOALLV(MPI_IN_PLACE, ones, places, MPI_INTEGER, r, ones, places, MPI_INTEGER, &
      MPI_COMM_WORLD{error})
    if (k == 5) then
      call MPI_IALLTOALL(s, 1, MPI_INTEGER, r, 1, MPI_INTEGER, MPI_COMM_WORLD, request{error})
      call MPI_WAIT(request, MPI_STATUS_IGNORE{error})
    end if
    do i = 1, ranks
      if (r(i) /= 1000 * (i - 1) + rank) wrong = wrong + 1
    end do
  end do
  if (wrong > 0) call MPI_ABORT(MPI_COMM_WORLD, 9{error})
  if (rank == 0) print *, 'all right'
  call MPI_FINALIZE({only_error})
end program
"""
C = """
#include <mpi.h>
#include <stdio.h>
enum { MOST = 64 };
int main(int argc, char **argv) {
    int rank, ranks, s[MOST], r[MOST], ones[MOST], places[MOST], wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int k = 1; k <= 5; ++k) {
        for (int i = 0; i < ranks; ++i) {
            s[i] = 1000 * rank + i, ones[i] = 1, places[i] = i, r[i] = k > 2 && k < 5 ? s[i] : -1;
        }
        if (k == 1) MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD);
        if (k == 2) MPI_Alltoallv(s, ones, places, MPI_INT, r, ones, places, MPI_INT, MPI_COMM_WORLD);
        if (k == 3) MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD);
        if (k == 4) MPI_Alltoallv(MPI_IN_PLACE, ones, places, MPI_INT, r, ones, places, MPI_INT, MPI_COMM_WORLD);
        if (k == 5) {
            MPI_Request request;
            MPI_Ialltoall(s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < ranks; ++i) wrong += r[i] != 1000 * i + rank;
    }
#if MPI_VERSION >= 4
    for (int k = 1; k <= 2; ++k) {
        MPI_Count counts[MOST];
        MPI_Aint at[MOST];
        for (int i = 0; i < ranks; ++i) s[i] = 1000 * rank + i, counts[i] = 1, at[i] = i, r[i] = -1;
        if (k == 1) MPI_Alltoall_c(s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD);
        if (k == 2) MPI_Alltoallv_c(s, counts, at, MPI_INT, r, counts, at, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < ranks; ++i) wrong += r[i] != 1000 * i + rank;
    }
#endif
    if (wrong) MPI_Abort(MPI_COMM_WORLD, 9);
    if (rank == 0) puts("all right");
    return MPI_Finalize();
}
"""
WITH_ERROR = {"error": ", ierr", "only_error": "ierr", "init": "  call MPI_INIT(ierr)"}
PROGRAMS = {
    "c": C,
    "mpif.h": "program p\n"
    + BODY.format(declare="  include 'mpif.h'\n  integer :: ierr, request", **WITH_ERROR),
    "mpi": "program p\n  use mpi"
    + BODY.format(
        declare="  integer :: ierr, request, given",
        error=", ierr", only_error="ierr", init="  call MPI_INIT_THREAD(MPI_THREAD_FUNNELED, given, ierr)",
    ),
    # no error arguments: they are optional here
    "mpi_f08": "program p\n  use mpi_f08"
    + BODY.format(declare="  type(MPI_Request) :: request", error="", only_error="", init="  call MPI_INIT()"),
}  # fmt: skip
LIBRARIES = ("openmpi", "mpich")


@dataclass(frozen=True)
class Site:
    """One of Debian's MPIs, by the suffix of its programs."""

    suffix: str

    def program(self, name: str) -> Path:
        """Path of a wrapper or starter; the test is skipped where it is missing."""
        path = Path("/usr/bin") / f"{name}.{self.suffix}"
        if not path.exists():
            pytest.skip(
                f"no {path}: apt install {'mpich libmpich-dev' if self.suffix == 'mpich' else 'libopenmpi-dev'}"
            )
        return path

    def compiled(self, binding: str, folder: Path) -> Path:
        """Build the program of a binding."""
        made = folder / "program"
        source = folder / ("program.c" if binding == "c" else "program.f90")
        source.write_text(PROGRAMS[binding])
        wrapper = self.program("mpicc" if binding == "c" else "mpif90")
        if binding != "c" and not Path("/usr/bin/gfortran").exists():
            pytest.skip("no gfortran: apt install gfortran")
        # mpif.h has no interfaces: MPI_IN_PLACE then looks like an argument of another rank
        loose = ["-fallow-argument-mismatch"] if binding == "mpif.h" else []
        subprocess.run([wrapper, *loose, source, "-o", made], check=True, cwd=folder)
        return made

    def start(self, ranks: int) -> list[str]:
        """Words that start so many ranks here."""
        crowded = ["--oversubscribe", "--bind-to", "none"] if self.suffix == "openmpi" else []
        return [str(self.program("mpirun")), *crowded, "-n", str(ranks)]


def weft_exec(options: list[str], command: list[str], folder: Path, fake: str) -> subprocess.CompletedProcess[str]:
    """Run ``weft exec``, as if the ranks were on the nodes of ``fake``."""
    return subprocess.run(
        [sys.executable, "-m", "weft", "exec", *options, "--", *command],
        capture_output=True, text=True, check=False, cwd=folder, timeout=200,
        env={**as_root(), "WEFT_NODES_FAKE": fake},
    )  # fmt: skip


def as_root() -> dict[str, str]:
    """Variables with which root may start ranks, also more of them than there are cores."""
    return {**os.environ, **Family().environment(True), **OpenMpi5().environment(True)}


def calls_of(report: Path) -> dict[tuple[str, str], int]:
    """Calls by operation and algorithm."""
    lines: list[dict[str, Any]] = json.loads(report.read_text())["calls"]
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        key = (line["op"], line["algorithm"])
        found[key] = found.get(key, 0) + line["calls"]
    return found
