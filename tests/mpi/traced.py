# SPDX-License-Identifier: BSD-3-Clause
"""Mini-applications whose every event is known, in C and in Fortran's three bindings."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from interposed import Site

from weft.mpi.starting import Family, OpenMpi5
from weft.store.trace.convert import rank_files
from weft.store.trace.folder import TraceFolder

# On four ranks: a ring by every way of sending, collectives on halves of the world, polls, wildcards.
C_BODY = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { MOST = 64 };
int main(int argc, char **argv) {
    int rank, ranks, s[MOST] = {0}, r[MOST] = {0}, n[MOST], at[MOST], done, index, flag = 0, some[2];
    MPI_Request q[2], lasting[2];
    MPI_Status status[2];
    MPI_Comm half, copy;
    MPI_Message message;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    s[0] = rank;
    if (rank % 2 == 0) {
        MPI_Send(s, 3, MPI_INT, next, 1, MPI_COMM_WORLD);
        MPI_Recv(r, MOST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(r, MOST, MPI_INT, previous, 1, MPI_COMM_WORLD, status);
        if (status[0].MPI_SOURCE != previous || status[0].MPI_TAG != 1) exit(3);
        MPI_Ssend(s, 5, MPI_INT, next, 2, MPI_COMM_WORLD);
    }
    MPI_Irecv(r, MOST, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(s, 7, MPI_INT, next, 3, MPI_COMM_WORLD, &q[1]);
    while (!flag) MPI_Request_get_status(q[0], &flag, MPI_STATUS_IGNORE);
    flag = 0;
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(s, 2, MPI_DOUBLE, next, 4, r, 4, MPI_DOUBLE, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(s, 11, MPI_INT, next, 5, MPI_COMM_WORLD, &lasting[0]);
    MPI_Recv_init(r, MOST, MPI_INT, previous, 5, MPI_COMM_WORLD, &lasting[1]);
    for (int i = 0; i < 3; ++i) {
        MPI_Startall(2, lasting);
        MPI_Wait(&lasting[0], MPI_STATUS_IGNORE);
        while (!flag) MPI_Test(&lasting[1], &flag, MPI_STATUS_IGNORE);
        flag = 0;
    }
    MPI_Request_free(&lasting[0]);
    MPI_Request_free(&lasting[1]);
    MPI_Irecv(r, MOST, MPI_INT, previous, 6, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(s, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &q[1]);
    MPI_Send(s, 13, MPI_INT, next, 6, MPI_COMM_WORLD);
    for (int left = 2; left > 0; left -= done) MPI_Waitsome(2, q, &done, some, status);
    MPI_Irecv(r, MOST, MPI_INT, previous, 7, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(s, 17, MPI_INT, next, 7, MPI_COMM_WORLD, &q[1]);
    MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
    MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Isend(s, 19, MPI_INT, next, 8, MPI_COMM_WORLD, &q[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(r, MOST, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    MPI_Comm_rank(half, &index);
    MPI_Isend(s, 23, MPI_INT, 1 - index, 9, half, &q[0]);
    while (!flag) MPI_Improbe(1 - index, 9, half, &flag, &message, status);
    MPI_Imrecv(r, MOST, MPI_INT, &message, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Bcast(s, 6, MPI_INT, 0, half);
    MPI_Reduce(s, r, 4, MPI_INT, MPI_SUM, 0, half);
    MPI_Allreduce(MPI_IN_PLACE, r, 9, MPI_INT, MPI_SUM, copy);
    MPI_Allgather(s, 2, MPI_INT, r, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(s, 3, MPI_INT, r, 3, MPI_INT, half);
    for (int i = 0; i < ranks; ++i) n[i] = (rank + i) % 3, at[i] = 3 * i;
    MPI_Alltoallv(s, n, at, MPI_INT, r, n, at, MPI_INT, MPI_COMM_WORLD);
    MPI_Ibarrier(copy, &q[0]);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) puts("all right");
    return MPI_Finalize();
}
"""
FORTRAN_BODY = """
  implicit none
{declare}
  integer, parameter :: most = 64
  integer :: rank, ranks, next, previous, i, left, done, index, some(2), n(most), at(most)
  integer, volatile :: s(most), r(most)
  double precision, volatile :: ds(4), dr(4)
  logical :: flag
{init}
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank{error})
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks{error})
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  s = 0
  r = 0
  ds = 0
  if (mod(rank, 2) == 0) then
    call MPI_SEND(s, 3, MPI_INTEGER, next, 1, MPI_COMM_WORLD{error})
    call MPI_RECV(r, most, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE{error})
  else
    call MPI_RECV(r, most, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, {status}{error})
    if ({source} /= previous .or. {tag} /= 1) stop 3
    call MPI_SSEND(s, 5, MPI_INTEGER, next, 2, MPI_COMM_WORLD{error})
  end if
  call MPI_IRECV(r, most, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, q(1){error})
  call MPI_ISEND(s, 7, MPI_INTEGER, next, 3, MPI_COMM_WORLD, q(2){error})
  flag = .false.
  do while (.not. flag)
    call MPI_REQUEST_GET_STATUS(q(1), flag, {status}{error})
  end do
  call MPI_WAITALL(2, q, MPI_STATUSES_IGNORE{error})
  call MPI_SENDRECV(ds, 2, MPI_DOUBLE_PRECISION, next, 4, dr, 4, MPI_DOUBLE_PRECISION, previous, 4, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE{error})
  call MPI_SEND_INIT(s, 11, MPI_INTEGER, next, 5, MPI_COMM_WORLD, lasting(1){error})
  call MPI_RECV_INIT(r, most, MPI_INTEGER, previous, 5, MPI_COMM_WORLD, lasting(2){error})
  do i = 1, 3
    call MPI_STARTALL(2, lasting{error})
    call MPI_WAIT(lasting(1), MPI_STATUS_IGNORE{error})
    flag = .false.
    do while (.not. flag)
      call MPI_TEST(lasting(2), flag, MPI_STATUS_IGNORE{error})
    end do
  end do
  call MPI_REQUEST_FREE(lasting(1){error})
  call MPI_REQUEST_FREE(lasting(2){error})
  call MPI_IRECV(r, most, MPI_INTEGER, previous, 6, MPI_COMM_WORLD, q(1){error})
  call MPI_ISEND(s, 1, MPI_INTEGER, MPI_PROC_NULL, 6, MPI_COMM_WORLD, q(2){error})
  call MPI_SEND(s, 13, MPI_INTEGER, next, 6, MPI_COMM_WORLD{error})
  left = 2
  do while (left > 0)
    call MPI_WAITSOME(2, q, done, some, {statuses}{error})
    left = left - done
  end do
  call MPI_IRECV(r, most, MPI_INTEGER, previous, 7, MPI_COMM_WORLD, q(1){error})
  call MPI_ISEND(s, 17, MPI_INTEGER, next, 7, MPI_COMM_WORLD, q(2){error})
  call MPI_WAITANY(2, q, index, MPI_STATUS_IGNORE{error})
  call MPI_WAITANY(2, q, index, MPI_STATUS_IGNORE{error})
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, mod(rank, 2), -rank, half{error})
  call MPI_COMM_DUP(half, copy{error})
  call MPI_ISEND(s, 19, MPI_INTEGER, next, 8, MPI_COMM_WORLD, q(1){error})
  call MPI_MPROBE(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE{error})
  call MPI_MRECV(r, most, MPI_INTEGER, message, MPI_STATUS_IGNORE{error})
  call MPI_WAIT(q(1), MPI_STATUS_IGNORE{error})
  call MPI_COMM_RANK(half, index{error})
  call MPI_ISEND(s, 23, MPI_INTEGER, 1 - index, 9, half, q(1){error})
  flag = .false.
  do while (.not. flag)
    call MPI_IMPROBE(1 - index, 9, half, flag, message, {status}{error})
  end do
  call MPI_IMRECV(r, most, MPI_INTEGER, message, q(2){error})
  call MPI_WAITALL(2, q, MPI_STATUSES_IGNORE{error})
  call MPI_BCAST(s, 6, MPI_INTEGER, 0, half{error})
  call MPI_REDUCE(s, r, 4, MPI_INTEGER, MPI_SUM, 0, half{error})
  call MPI_ALLREDUCE(MPI_IN_PLACE, r, 9, MPI_INTEGER, MPI_SUM, copy{error})
  call MPI_ALLGATHER(s, 2, MPI_INTEGER, r, 2, MPI_INTEGER, MPI_COMM_WORLD{error})
  call MPI_ALLTOALL(s, 3, MPI_INTEGER, r, 3, MPI_INTEGER, half{error})
  do i = 1, ranks
    n(i) = mod(rank + i - 1, 3)
    at(i) = 3 * (i - 1)
  end do
  call MPI_ALLTOALLV(s, n, at, MPI_INTEGER, r, n, at, MPI_INTEGER, MPI_COMM_WORLD{error})
  call MPI_IBARRIER(copy, q(1){error})
  call MPI_WAIT(q(1), MPI_STATUS_IGNORE{error})
  call MPI_COMM_FREE(copy{error})
  call MPI_BARRIER(MPI_COMM_WORLD{error})
  if (rank == 0) print *, 'all right'
  call MPI_FINALIZE({only_error})
end program
"""
PLAIN = {
    "status": "states(:, 1)", "source": "states(MPI_SOURCE, 1)", "tag": "states(MPI_TAG, 1)", "statuses": "states",
    "error": ", ierr", "only_error": "ierr", "init": "  call MPI_INIT(ierr)",
}  # fmt: skip
INTEGERS = "  integer :: ierr, q(2), lasting(2), half, copy, message, states(MPI_STATUS_SIZE, 2)"
PROGRAMS = {
    "c": C_BODY,
    "mpif.h": "program p\n" + FORTRAN_BODY.format(declare="  include 'mpif.h'\n" + INTEGERS, **PLAIN),
    "mpi": "program p\n  use mpi" + FORTRAN_BODY.format(declare=INTEGERS, **PLAIN),
    "mpi_f08": "program p\n  use mpi_f08"
    + FORTRAN_BODY.format(
        declare="  type(MPI_Request) :: q(2), lasting(2)\n  type(MPI_Comm) :: half, copy\n"
        "  type(MPI_Status) :: states(2)\n  type(MPI_Message) :: message",
        status="states(1)", source="states(1)%MPI_SOURCE", tag="states(1)%MPI_TAG", statuses="states", error="",
        only_error="", init="  call MPI_INIT()",
    ),
}  # fmt: skip


def compiled(site: Site, binding: str, folder: Path, text: str | None = None) -> Path:
    """Build a program of a binding."""
    made = folder / f"program-{site.suffix}"
    source = folder / ("program.c" if binding == "c" else "program.f90")
    source.write_text(text or PROGRAMS[binding])
    wrapper = site.program("mpicc" if binding == "c" else "mpif90")
    loose = ["-fallow-argument-mismatch"] if binding in ("mpif.h", "mpi") else []
    subprocess.run([wrapper, "-g", *loose, source, "-o", made, "-lpthread"], check=True, cwd=folder)
    return made


def weft_trace(
    folder: Path, command: list[str], *options: str, name: str = "run", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run ``weft trace`` into ``folder/run``."""
    variables = {**os.environ, **Family().environment(True), **OpenMpi5().environment(True), **environment}
    words = [sys.executable, "-m", "weft", "trace", "-o", str(folder / name), *options, "--", *command]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=variables, timeout=200)


def events_of(path: Path) -> list[dict[str, Any]]:
    """All events of a trace, by rank and number."""
    rows = [row for file in rank_files(TraceFolder(path).events) for row in pq.read_table(file).to_pylist()]
    return sorted(rows, key=lambda row: (row["rank"], row["event"]))
