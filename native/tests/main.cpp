// SPDX-License-Identifier: BSD-3-Clause
// The main of the kernels' tests.
#define DOCTEST_CONFIG_IMPLEMENT
#include "mpi/handles.hpp"
#include "ranks.hpp"

int main(int argc, char **argv) {
    weft::Library const library(argc, argv);
    return weft::tests::run_on_ranks(argc, argv);
}
