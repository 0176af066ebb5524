// SPDX-License-Identifier: BSD-3-Clause
// MPI around doctest. A check that fails on one rank fails the test, and that rank prints its number. Do not put a
// collective operation after a REQUIRE that can fail on only some ranks: the others would wait.
#define DOCTEST_CONFIG_IMPLEMENT
#include "oracle.hpp"

#include <cstdio>
#include <sstream>

int main(int argc, char **argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::ostringstream words;
    doctest::Context context(argc, argv);
    context.setCout(&words);
    int failed = context.run();
    if (failed != 0 || rank == 0) {
        std::printf("[rank %d]\n%s", rank, words.str().c_str());
    }
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
