# SPDX-License-Identifier: BSD-3-Clause
"""Communicators in traces: made later, made without end, or with processes of another program."""

from pathlib import Path

import pytest
from interposed import LIBRARIES, Site
from traced import compiled, events_of, weft_trace

from weft.store.trace.folder import COMMUNICATORS, TRACE_RANKS, TraceFolder
from weft.store.trace.reader import trace_files
from weft.trace.take import describe_trace

HEAD = """
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, x = 1, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
"""
LATER = """
    MPI_Comm a, b;
    MPI_Request q[2];
    MPI_Comm_idup(MPI_COMM_WORLD, &a, &q[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &b, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    if (rank == 0) {
        MPI_Send(&x, 1, MPI_INT, 1, 1, a);
        MPI_Send(&x, 1, MPI_INT, 1, 2, b);
    } else {
        MPI_Irecv(&y, 1, MPI_INT, 0, 2, b, &q[0]); // the second one is used first
        MPI_Irecv(&x, 1, MPI_INT, 0, 1, a, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    return MPI_Finalize();
}
"""
WITHOUT_END = """
    for (int i = 0; i < 20000; ++i) {
        MPI_Comm half, copy;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Barrier(copy);
        MPI_Comm_free(&half);
        MPI_Comm_free(&copy);
    }
    return MPI_Finalize();
}
"""
SPAWNING = """
    MPI_Comm parent, children;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Recv(&y, 1, MPI_INT, 0, 3, parent, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&parent);
        return MPI_Finalize();
    }
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    if (rank == 0) MPI_Send(&x, 1, MPI_INT, 0, 3, children);
    MPI_Comm_disconnect(&children);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_duplicates_made_later_are_the_same_on_all_ranks_in_whatever_order_they_are_used(
    suffix: str, tmp_path: Path
) -> None:
    site = Site(suffix)
    done = weft_trace(tmp_path, [*site.start(2), str(compiled(site, "c", tmp_path, HEAD + LATER))])
    assert done.returncode == 0, done.stderr
    rows = [row for row in events_of(tmp_path / "run") if row["tag"] in (1, 2)]
    of_tag = [{row["comm"] for row in rows if row["tag"] == tag} for tag in (1, 2)]
    assert [len(each) for each in of_tag] == [1, 1]
    assert of_tag[0] != of_tag[1]


def test_communicators_without_end_stay_within_the_files_size(tmp_path: Path) -> None:
    """Their definitions were written beyond it: 5 MiB of 1 MiB."""
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, HEAD + WITHOUT_END)
    done = weft_trace(tmp_path, [*site.start(2), str(program)], "--most", "1 MiB")
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    assert max(path.stat().st_size for path in trace_files(run / "raw")) <= 2**20
    assert len(COMMUNICATORS.read(run)) < 2 * 2**20 / 64
    splits = [row["calls"] for row in events_of(run) if row["call"] == "MPI_Comm_split"]
    assert sum(splits) == 2 * 20000
    assert any("summarised" in line for line in describe_trace(TraceFolder(run)))


def test_processes_that_are_in_no_trace_are_told(tmp_path: Path) -> None:
    """A program that spawns others was said to be whole, and its replay to be that of the application."""
    site = Site("openmpi")
    done = weft_trace(tmp_path, [*site.start(1), str(compiled(site, "c", tmp_path, HEAD + SPAWNING))])
    assert done.returncode == 0, done.stderr
    assert "this trace is partial: 1 rank of 1" in done.stderr
    (row,) = TRACE_RANKS.read(tmp_path / "run")
    assert "processes that are not in this trace (MPI_Comm_spawn" in row["missing"]
