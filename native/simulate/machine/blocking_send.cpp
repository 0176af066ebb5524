// SPDX-License-Identifier: BSD-3-Clause
// SMPI charges the cost of a send (costs.cpp) to every nonblocking send, but to blocking sends only if they are small
// enough to be eager: large messages of a ping-pong, a broadcast or a gather would have a rendezvous at no cost. So a
// blocking send is implemented here as a nonblocking send and a wait.
#include "smpi_names.hpp"

void simgrid::smpi::Request::send(void const *data, int count, Datatype *type, int to, int tag, Comm *comm) {
    auto *sent = isend(data, count, type, to, tag, comm);
    wait(&sent, MPI_STATUS_IGNORE);
}
