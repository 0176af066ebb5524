// SPDX-License-Identifier: BSD-3-Clause
// SMPI charges what a send costs (costs.cpp) to every nonblocking one, but of the blocking ones only to one that is
// small enough to be eager: a large ping-pong, and each large message of a broadcast or a gather, would ask first for
// nothing. A blocking send is a nonblocking one that is waited for, so here it is just that.
#include "smpi_names.hpp"

void simgrid::smpi::Request::send(void const *data, int count, Datatype *type, int to, int tag, Comm *comm) {
    auto *sent = isend(data, count, type, to, tag, comm);
    wait(&sent, MPI_STATUS_IGNORE);
}
