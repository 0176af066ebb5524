// SPDX-License-Identifier: BSD-3-Clause
// Replacements of algorithms of SMPI 3.32 that its selectors choose where they do not work.
#include "smpi_names.hpp"

#include <xbt/config.hpp>

#include <string>

namespace simgrid::smpi {
namespace {

// "pair" pairs ranks by exclusive or: it hangs or aborts unless their number is a power of two. The
// libraries then exchange with the rank i places on, and Open MPI always does; that is SMPI's "ring".
bool pairs_up(Comm *comm, char const *call) {
    auto ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    return (ranks & (ranks - 1)) == 0 && simgrid::config::get_value<std::string>(call) != "ompi";
}

using Alltoall = int(void const *, int, Datatype *, void *, int, Datatype *, Comm *);
using Alltoallv = int(void const *, int const *, int const *, Datatype *, void *, int const *, int const *, Datatype *,
                      Comm *);
using Allreduce = int(void const *, void *, int, Datatype *, Op *, Comm *);

} // namespace

Allreduce allreduce__rab_rdb;
Alltoall alltoall__ring;
Alltoallv alltoallv__ring;

int alltoall__pair(void const *send, int send_count, Datatype *send_type, void *receive, int receive_count,
                   Datatype *receive_type, Comm *comm) {
    static auto *const own =
        weft::simulate::of_simgrid<Alltoall>("_ZN7simgrid4smpi14alltoall__pairEPKviPNS0_8DatatypeEPviS4_PNS0_4CommE");
    auto *const taken = pairs_up(comm, "smpi/alltoall") ? own : alltoall__ring;
    return taken(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

int alltoallv__pair(void const *send, int const *send_counts, int const *send_places, Datatype *send_type,
                    void *receive, int const *receive_counts, int const *receive_places, Datatype *receive_type,
                    Comm *comm) {
    static auto *const own = weft::simulate::of_simgrid<Alltoallv>(
        "_ZN7simgrid4smpi15alltoallv__pairEPKvPKiS4_PNS0_8DatatypeEPvS4_S4_S6_PNS0_4CommE");
    auto *const taken = pairs_up(comm, "smpi/alltoallv") ? own : alltoallv__ring;
    return taken(send, send_counts, send_places, send_type, receive, receive_counts, receive_places, receive_type,
                 comm);
}

// Intel MPI's selector takes Rabenseifner's algorithm at any number of ranks, which "rab1" refuses unless it is a power
// of two; "rab_rdb" is the same algorithm for all. Asked for by its own name "rab1" still says what it cannot.
int allreduce__rab1(void const *send, void *receive, int count, Datatype *type, Op *op, Comm *comm) {
    static auto *const own = weft::simulate::of_simgrid<Allreduce>(
        "_ZN7simgrid4smpi15allreduce__rab1EPKvPviPNS0_8DatatypeEPNS0_2OpEPNS0_4CommE");
    auto const asked = simgrid::config::get_value<std::string>("smpi/allreduce") == "rab1";
    auto *const taken = asked || pairs_up(comm, "smpi/allreduce") ? own : allreduce__rab_rdb;
    return taken(send, receive, count, type, op, comm);
}

} // namespace simgrid::smpi
