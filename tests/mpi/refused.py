# SPDX-License-Identifier: BSD-3-Clause
"""A program that makes every mistake with an all-to-all that a library can name, and says what each rank was told."""

#: Each line: a mistake, and the sum and the number of error classes of the ranks. `last` is a right call after all.
REFUSED = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static int s[64], r[64], zeros[64], none[64], ones[64], twos[64], at[64], rank, ranks;
static MPI_Comm comm;
static void say(const char *what, int code) {
    int mine = 0, sum = 0, failed = 0, both[2], all[2];
    MPI_Error_class(code, &mine);
    both[0] = mine, both[1] = code != MPI_SUCCESS;
    MPI_Allreduce(both, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum = all[0], failed = all[1];
    if (rank == 0) printf("%s %d %d\\n", what, sum, failed), fflush(stdout);
}
static void fresh(void) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; ++i) MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, comm);
}
int main(int argc, char **argv) {
    MPI_Datatype type, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 64; ++i) ones[i] = 1, twos[i] = 2, at[i] = 2 * i;
    int open_mpi = argc > 1; // refuses a wrong length on each rank by itself: rank 0 alone would let the others wait
    int longer = rank == 0 || open_mpi ? 20 : 10;
    if (!open_mpi) say("first call of the program, rank 0 sends more",
        MPI_Alltoall(s, rank == 0 ? 2 : 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD));
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    fresh();
    say("committed", MPI_Alltoall(s, 1, type, r, 1, type, comm));
    MPI_Type_free(&type);
    MPI_Type_contiguous(2, MPI_INT, &type); // may have the handle of the one before
    say("uncommitted", MPI_Alltoall(s, 1, type, r, 1, type, comm));
    say("uncommitted, sent", MPI_Alltoall(s, 1, type, r, 2, MPI_INT, comm));
    say("uncommitted, received", MPI_Alltoall(s, 2, MPI_INT, r, 1, type, comm));
    say("uncommitted, no data", MPI_Alltoall(s, 0, type, r, 0, type, comm));
    say("uncommitted, vector", MPI_Alltoallv(s, ones, at, type, r, ones, at, type, comm));
    MPI_Type_dup(type, &other);
    say("copy of uncommitted", MPI_Alltoall(s, 1, other, r, 1, other, comm));
    say("null type", MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_DATATYPE_NULL, comm));
    say("in place, received", MPI_Alltoall(s, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm));
    say("in place, received, vector", MPI_Alltoallv(s, ones, at, MPI_INT, MPI_IN_PLACE, ones, at, MPI_INT, comm));
    say("negative", MPI_Alltoall(s, -1, MPI_INT, r, 1, MPI_INT, comm));
    say("aliased", MPI_Alltoall(s, 1, MPI_INT, s, 1, MPI_INT, comm));
    say("aliased, no data on rank 0", MPI_Alltoallv(rank ? s : r, zeros, at, MPI_INT, r, none, at, MPI_INT, comm));
    fresh();
    say("send more", MPI_Alltoall(s, longer, MPI_INT, r, 10, MPI_INT, comm));
    if (!open_mpi) {
        say("left to the library for good", MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, comm));
        fresh();
        say("send less", MPI_Alltoall(s, rank == 0 ? 1 : 2, MPI_INT, r, 2, MPI_INT, comm));
        fresh();
        say("expect more", MPI_Alltoall(s, 1, MPI_INT, r, rank == 0 ? 2 : 1, MPI_INT, comm));
    }
    fresh();
    for (int i = 0; i < ranks; ++i) ones[i] = i == rank && (rank == 0 || open_mpi) ? 2 : 1;
    for (int i = 0; i < ranks; ++i) twos[i] = 1;
    if (open_mpi || rank == 0) twos[rank] = 1;
    say("more to itself", MPI_Alltoallv(s, ones, at, MPI_INT, r, twos, at, MPI_INT, comm));
    for (int i = 0; i < 64; ++i) ones[i] = 1, s[i] = 100 * rank + i, r[i] = -1;
    fresh();
    for (int i = 0; i < 64; ++i) s[i] = 100 * rank + i, r[i] = -1;
    say("last", MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, comm));
    for (int i = 0; i < ranks; ++i) if (r[i] != 100 * i + rank) MPI_Abort(MPI_COMM_WORLD, 9);
    return MPI_Finalize();
}
"""
