// SPDX-License-Identifier: BSD-3-Clause
// What stands between two samples changes a small broadcast: the loop of the OSU benchmarks beside the same loop with a
// second barrier, with a reading of this thread's counters after each sample, and with both. Two ranks:
//
//   mpicc -O2 -o build/start_skew bench/start_skew.c && mpiexec -n 2 --bind-to core build/start_skew
//
// Per size and loop: the median over 2,000 samples of the mean over ranks, in us; of 15 rounds in which the loops take
// turns the median and the quartiles. Buffers are page-aligned, as in both programs.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SAMPLES = 2000, WARM = 500, ROUNDS = 15, LOOPS = 4 };

static int compare(void const *a, void const *b) {
    double const x = *(double const *)a, y = *(double const *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static char const *const names[LOOPS] = {"one barrier (OSU)", "two barriers", "a reading", "both"};
    static int const sizes[] = {1, 8, 64, 512, 4096, 16384};
    static _Alignas(4096) char buffer[1 << 16];
    static double mine[SAMPLES], theirs[SAMPLES];
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int const counters = open("/proc/thread-self/schedstat", O_RDONLY);
    char text[64];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        double found[LOOPS][ROUNDS];
        for (int round = 0; round < ROUNDS; ++round) {
            for (int loop = 0; loop < LOOPS; ++loop) {
                for (int i = -WARM; i < SAMPLES; ++i) {
                    double const begin = MPI_Wtime();
                    MPI_Bcast(buffer, sizes[s], MPI_CHAR, 0, MPI_COMM_WORLD);
                    double const end = MPI_Wtime();
                    if (loop >= 2 && pread(counters, text, sizeof text, 0) < 0) {
                        MPI_Abort(MPI_COMM_WORLD, 1);
                    }
                    if (loop % 2 == 1) {
                        MPI_Barrier(MPI_COMM_WORLD);
                    }
                    MPI_Barrier(MPI_COMM_WORLD);
                    if (i >= 0) {
                        mine[i] = 1e6 * (end - begin);
                    }
                }
                MPI_Sendrecv(mine, SAMPLES, MPI_DOUBLE, 1 - rank, 0, theirs, SAMPLES, MPI_DOUBLE, 1 - rank, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (int i = 0; i < SAMPLES; ++i) {
                    mine[i] = (mine[i] + theirs[i]) / 2;
                }
                qsort(mine, SAMPLES, sizeof *mine, compare);
                found[loop][round] = mine[SAMPLES / 2];
            }
        }
        for (int loop = 0; rank == 0 && loop < LOOPS; ++loop) {
            double *const all = found[loop];
            qsort(all, ROUNDS, sizeof *all, compare);
            printf("%6d B  %-18s %.3f us (%.3f-%.3f)\n", sizes[s], names[loop], all[ROUNDS / 2], all[ROUNDS / 4],
                   all[3 * ROUNDS / 4]);
        }
    }
    MPI_Finalize();
}
