// SPDX-License-Identifier: BSD-3-Clause
// weft-measure PLAN      runs the cells of a flat plan (under mpiexec)
// weft-measure --version prints the MPI library's version string, without MPI_Init
// weft-measure --settings prints the MPI library's control variables and its environment as name=value lines
// Exit codes: 0 success; 3 a result was proved wrong; 124 a cell exceeded its time limit; 1 any other error.
#include "launch/program.hpp"

#include <mpi.h> // SMPI gives `main` another name

int main(int argc, char **argv) {
    return weft::run_program(argc, argv);
}
