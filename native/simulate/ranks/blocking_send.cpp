// SPDX-License-Identifier: BSD-3-Clause
// SMPI charges what a send costs (native/simulate/machine/costs.cpp) to every MPI_Isend, but of the blocking MPI_Send
// only to one that is small enough to be eager: a large ping-pong would ask first for nothing. A blocking send is a
// nonblocking one that is waited for, so here it is just that.
#include <mpi.h>

extern "C" int __wrap_MPI_Send(void const *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    MPI_Request sent = MPI_REQUEST_NULL;
    auto const code = PMPI_Isend(data, count, type, to, tag, comm, &sent);
    return code == MPI_SUCCESS ? PMPI_Wait(&sent, MPI_STATUS_IGNORE) : code;
}
