// SPDX-License-Identifier: BSD-3-Clause
// The tests of a program, run on every rank. A check that fails on one rank fails the test; each rank that fails prints
// its number. Do not put a collective operation after a REQUIRE that can fail on only some ranks: the others would
// wait.
#pragma once

#include <doctest/doctest.h>
#include <mpi.h>

#include <cstdio>
#include <sstream>

namespace weft::tests {

/// Between MPI_Init and MPI_Finalize: runs the tests that the arguments choose; the same exit code on every rank.
inline int run_on_ranks(int argc, char **argv) {
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::ostringstream words;
    doctest::Context context(argc, argv);
    context.setCout(&words);
    int failed = context.run();
    if (failed != 0 || rank == 0) {
        std::printf("[rank %d]\n%s", rank, words.str().c_str());
    }
    PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return failed;
}

} // namespace weft::tests
