// SPDX-License-Identifier: BSD-3-Clause
// The all-to-all of libweft.so beside the library's own, turn by turn: alltoall_real SEED ROUNDS CALL:BYTES:BATCH...
// (bench/alltoall_real.py). CALL is MPI_Alltoall or MPI_Alltoallv; with a BATCH of 0 it is chosen here. Prints a line for
// each round on rank 0: call, bytes, batch, and the ns that a call took by MPI_, by PMPI_, and by PMPI_ once more.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDES = 3, OURS = 0, THEIRS = 1, WARM = 24, EMPTY = 51, TRIES = 5, MOST_BATCH = 64, SKEWS = 20, PAGE = 4096 };

static MPI_Comm const all = MPI_COMM_WORLD;
static char *s, *r;
static int rank, ranks, vector, bytes, *counts, *places;

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void call(int side) {
    if (side == OURS && vector)
        MPI_Alltoallv(s, counts, places, MPI_CHAR, r, counts, places, MPI_CHAR, all);
    else if (side == OURS)
        MPI_Alltoall(s, bytes, MPI_CHAR, r, bytes, MPI_CHAR, all);
    else if (vector)
        PMPI_Alltoallv(s, counts, places, MPI_CHAR, r, counts, places, MPI_CHAR, all);
    else
        PMPI_Alltoall(s, bytes, MPI_CHAR, r, bytes, MPI_CHAR, all);
}

/// ns from the first rank's start to the last one's end of so many calls: all ranks share this machine's clock.
static long span(int side, int batch) {
    long own[2], most[2];
    PMPI_Barrier(all);
    own[0] = -now();
    for (int i = 0; i < batch; ++i)
        call(side);
    own[1] = now();
    PMPI_Allreduce(own, most, 2, MPI_LONG, MPI_MAX, all);
    return most[0] + most[1];
}

static int by_value(void const *a, void const *b) {
    long const x = *(long const *)a, y = *(long const *)b;
    return (x > y) - (x < y);
}

static long median(long *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/// So many calls that they last 20 times the skew of none.
static int batch_for(void) {
    long empty[EMPTY], tries[TRIES];
    int batch = 1;
    for (int i = 0; i < EMPTY; ++i)
        empty[i] = span(THEIRS, 0);
    long const least = SKEWS * median(empty, EMPTY);
    for (; batch < MOST_BATCH; batch *= 2) {
        for (int i = 0; i < TRIES; ++i)
            tries[i] = span(THEIRS, batch);
        if (median(tries, TRIES) >= least)
            break;
    }
    return batch;
}

/// The byte that one rank sends to another.
static char sent(int from, int to) { return (char)(31 * from + 7 * to + 1); }

static void prove(void) {
    for (int i = 0; i < ranks; ++i)
        memset(s + (size_t)i * bytes, sent(rank, i), bytes);
    memset(r, 0, (size_t)ranks * bytes);
    call(OURS);
    for (int i = 0; i < ranks * bytes; ++i)
        if (r[i] != sent(i / bytes, rank)) {
            fprintf(stderr, "rank %d: byte %d is wrong\n", rank, i);
            MPI_Abort(all, 3);
        }
}

static void measure(char const *name, int batch, int rounds) {
    for (int i = 0; i < WARM; ++i)
        call(i % 2);
    batch = batch ? batch : batch_for();
    for (int round = 0; round < rounds; ++round) {
        long took[SIDES];
        int order[SIDES] = {0, 1, 2};
        for (int i = SIDES - 1; i > 0; --i) {
            int const j = rand() % (i + 1), other = order[j]; // the same on all ranks: one seed
            order[j] = order[i];
            order[i] = other;
        }
        for (int i = 0; i < SIDES; ++i)
            took[order[i]] = span(order[i] == OURS ? OURS : THEIRS, batch);
        if (rank == 0)
            printf("%s %d %d %f %f %f\n", name, bytes, batch, took[0] / (double)batch, took[1] / (double)batch,
                   took[2] / (double)batch);
    }
    prove();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    srand((unsigned)atoi(argv[1]));
    counts = malloc(sizeof(int) * ranks);
    places = malloc(sizeof(int) * ranks);
    for (int cell = 3; cell < argc; ++cell) {
        char name[32];
        int batch;
        if (sscanf(argv[cell], "%31[^:]:%d:%d", name, &bytes, &batch) != 3)
            MPI_Abort(all, 2);
        vector = !strcmp(name, "MPI_Alltoallv");
        size_t const room = ((size_t)ranks * bytes + PAGE - 1) / PAGE * PAGE;
        s = aligned_alloc(PAGE, room);
        r = aligned_alloc(PAGE, room);
        memset(s, 1, room);
        memset(r, 1, room);
        for (int i = 0; i < ranks; ++i)
            counts[i] = bytes, places[i] = i * bytes;
        measure(name, batch, atoi(argv[2]));
        free(s);
        free(r);
    }
    MPI_Finalize();
}
