// SPDX-License-Identifier: BSD-3-Clause
// The main of the all-to-all's tests: they link no kernel, and call MPI from several threads.
#define DOCTEST_CONFIG_IMPLEMENT
#include "../ranks.hpp"

int main(int argc, char **argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int const failed = weft::tests::run_on_ranks(argc, argv);
    MPI_Finalize();
    return failed;
}
