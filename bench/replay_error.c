// SPDX-License-Identifier: BSD-3-Clause
// One call again and again, 20 ms of sleep before each: replay_error CALL... (bench/replay_error.py).
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 4, BLOCK = 128 * 1024, VECTOR = 512 * 1024, MOST = 64 };

static char *s, *r;
static int rank, ranks, counts[MOST], from[MOST], places[MOST];
static MPI_Comm row, column;

static void compute(long us) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

/// 5 ms outside of MPI: on the processor (halo), asleep (halo-asleep), or asleep and asking ten times whether the
/// messages came, which moves them on (halo-asked).
static void meanwhile(char const *how, int requests, MPI_Request *q) {
    struct timespec const pause = {0, 500 * 1000};
    int done = 0;
    if (!strcmp(how, "halo")) {
        compute(5000);
        return;
    }
    for (int piece = 0; piece < 10; ++piece) {
        nanosleep(&pause, NULL);
        if (!strcmp(how, "halo-asked") && !done)
            MPI_Testall(requests, q, &done, MPI_STATUSES_IGNORE);
    }
}

/// What applications make of several calls.
static void pattern(char const *name) {
    MPI_Comm const all = MPI_COMM_WORLD;
    int const half = ranks / 2;
    if (!strncmp(name, "halo", 4)) { // a grid of two rows: messages under way while the inside is computed
        int const beside[] = {(rank + 1) % half + rank / half * half, (rank + half - 1) % half + rank / half * half,
                              (rank + half) % ranks};
        MPI_Request q[6];
        for (int i = 0; i < 3; ++i)
            MPI_Irecv(r + i * BLOCK, BLOCK, MPI_CHAR, beside[i], i == 2 ? 2 : 1 - i, all, &q[i]);
        for (int i = 0; i < 3; ++i)
            MPI_Isend(s + i * BLOCK, BLOCK, MPI_CHAR, beside[i], i, all, &q[3 + i]);
        meanwhile(name, 6, q);
        MPI_Waitall(6, q, MPI_STATUSES_IGNORE);
    } else if (!strcmp(name, "skewed")) { // rank 0 gets eight times as much as others
        int gives[MOST], gets[MOST];
        for (int i = 0; i < ranks; ++i) {
            gives[i] = i == 0 ? BLOCK : BLOCK / 8;
            gets[i] = rank == 0 ? BLOCK : BLOCK / 8;
        }
        MPI_Alltoallv(s, gives, places, MPI_CHAR, r, gets, places, MPI_CHAR, all);
    } else if (!strcmp(name, "nested")) { // sums in rows, exchanges in columns
        MPI_Allreduce(s, r, BLOCK / 8, MPI_DOUBLE, MPI_SUM, row);
        MPI_Alltoall(s, BLOCK, MPI_CHAR, r, BLOCK, MPI_CHAR, column);
    } else if (!strcmp(name, "pipeline")) { // pieces from rank to rank
        for (int piece = 0; piece < 8; ++piece) {
            if (rank > 0)
                MPI_Recv(r, BLOCK, MPI_CHAR, rank - 1, piece, all, MPI_STATUS_IGNORE);
            if (rank + 1 < ranks)
                MPI_Send(s, BLOCK, MPI_CHAR, rank + 1, piece, all);
        }
    } else if (!strcmp(name, "small")) {
        for (int i = 0; i < 100; ++i)
            MPI_Allreduce(s, r, 1, MPI_DOUBLE, MPI_SUM, all);
    } else {
        MPI_Abort(all, 2);
    }
}

static void call(char const *name) {
    MPI_Comm const all = MPI_COMM_WORLD;
    int const half = ranks / 2, far = (rank + half) % ranks; // in the other half, so under the other leaf
    int const next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    if (!strcmp(name, "sendrecv")) {
        MPI_Sendrecv(s, VECTOR, MPI_CHAR, far, 1, r, VECTOR, MPI_CHAR, far, 1, all, MPI_STATUS_IGNORE);
    } else if (!strcmp(name, "isend")) { // to both neighbours
        MPI_Request q[4];
        MPI_Irecv(r, VECTOR, MPI_CHAR, previous, 2, all, &q[0]);
        MPI_Irecv(r + VECTOR, VECTOR, MPI_CHAR, next, 3, all, &q[1]);
        MPI_Isend(s, VECTOR, MPI_CHAR, next, 2, all, &q[2]);
        MPI_Isend(s + VECTOR, VECTOR, MPI_CHAR, previous, 3, all, &q[3]);
        MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    } else if (!strcmp(name, "alltoall")) {
        MPI_Alltoall(s, BLOCK, MPI_CHAR, r, BLOCK, MPI_CHAR, all);
    } else if (!strcmp(name, "alltoallv")) {
        MPI_Alltoallv(s, counts, places, MPI_CHAR, r, from, places, MPI_CHAR, all);
    } else if (!strcmp(name, "allgather")) {
        MPI_Allgather(s, BLOCK, MPI_CHAR, r, BLOCK, MPI_CHAR, all);
    } else if (!strcmp(name, "allreduce")) {
        MPI_Allreduce(s, r, VECTOR / 8, MPI_DOUBLE, MPI_SUM, all);
    } else if (!strcmp(name, "bcast")) {
        MPI_Bcast(s, VECTOR, MPI_CHAR, 0, all);
    } else if (!strcmp(name, "reduce")) {
        MPI_Reduce(s, r, VECTOR / 8, MPI_DOUBLE, MPI_SUM, 0, all);
    } else if (!strcmp(name, "gather")) {
        MPI_Gather(s, BLOCK, MPI_CHAR, r, BLOCK, MPI_CHAR, 0, all);
    } else {
        pattern(name);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    s = calloc(ranks, 2 * VECTOR);
    r = calloc(ranks, 2 * VECTOR);
    for (int i = 0; i < ranks; ++i) { // a half to one and a half of BLOCK
        counts[i] = BLOCK / 2 + BLOCK * ((rank + i) % ranks) / ranks;
        from[i] = counts[i];
        places[i] = i * 2 * BLOCK;
    }
    if (argc > 1 && !strcmp(argv[1], "nested")) { // a replay leaves these out, so only where they are needed
        MPI_Comm_split(MPI_COMM_WORLD, rank / (ranks / 2), rank, &row);
        MPI_Comm_split(MPI_COMM_WORLD, rank % (ranks / 2), rank, &column);
    }
    struct timespec const pause = {0, 20 * 1000 * 1000};
    for (int each = 1; each < argc; ++each) {
        for (int turn = 0; turn < TURNS; ++turn) {
            nanosleep(&pause, NULL);
            call(argv[each]);
        }
    }
    return MPI_Finalize();
}
