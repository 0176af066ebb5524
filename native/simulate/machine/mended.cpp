// SPDX-License-Identifier: BSD-3-Clause
// Replacements of algorithms of SMPI 3.32 that its selectors choose where they do not work.
#include "costs.hpp"
#include "smpi_names.hpp"

#include <xbt/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

std::int32_t &weft::simulate::alltoall_steps() {
    static std::int32_t steps = 0;
    return steps;
}

namespace simgrid::smpi {
namespace {

// "pair" pairs ranks by exclusive or: it hangs or aborts unless their number is a power of two. The
// libraries then exchange with the rank i places on, and Open MPI always does; that is SMPI's "ring".
bool pairs_up(Comm *comm, char const *call) {
    auto ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    return (ranks & (ranks - 1)) == 0 && simgrid::config::get_value<std::string>(call) != "ompi";
}

// MPIR_CVAR_ALLTOALL_THROTTLE of MPICH: so many requests of an all-to-all are under way at a time.
constexpr auto mpich_window = 32;
constexpr auto cray_few_ranks = 1024, fewest_for_bruck = 8;
constexpr auto alltoall_tag = -13; // of SMPI's own all-to-alls

using Alltoall = int(void const *, int, Datatype *, void *, int, Datatype *, Comm *);
using Alltoallv = int(void const *, int const *, int const *, Datatype *, void *, int const *, int const *, Datatype *,
                      Comm *);
using Allreduce = int(void const *, void *, int, Datatype *, Op *, Comm *);

} // namespace

Allreduce allreduce__rab_rdb;
Alltoall alltoall__bruck;
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

// MPICH's all-to-all of middle sizes waits after every 32 blocks. SMPI has it from MVAPICH2, which waits after every 4.
int alltoall__mvapich2_scatter_dest(void const *send, int send_count, Datatype *send_type, void *receive,
                                    int receive_count, Datatype *receive_type, Comm *comm) {
    static auto *const own = weft::simulate::of_simgrid<Alltoall>(
        "_ZN7simgrid4smpi31alltoall__mvapich2_scatter_destEPKviPNS0_8DatatypeEPviS4_PNS0_4CommE");
    if (simgrid::config::get_value<std::string>("smpi/alltoall") != "mpich" || send == MPI_IN_PLACE)
        return own(send, send_count, send_type, receive, receive_count, receive_type, comm);
    auto rank = 0, ranks = 1;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    MPI_Aint lower = 0, out = 0, in = 0;
    PMPI_Type_get_extent(send_type, &lower, &out);
    PMPI_Type_get_extent(receive_type, &lower, &in);
    auto const window = weft::simulate::alltoall_steps() > 0 ? weft::simulate::alltoall_steps() : mpich_window;
    for (auto first = 0; first < ranks; first += window) {
        std::vector<Request *> requests;
        auto const end = std::min(ranks, first + window);
        for (auto step = first; step < end; ++step) {
            auto const from = (rank + step) % ranks;
            requests.push_back(Request::irecv(static_cast<std::byte *>(receive) + MPI_Aint{from} * receive_count * in,
                                              receive_count, receive_type, from, alltoall_tag, comm));
        }
        for (auto step = first; step < end; ++step) {
            auto const to = (rank - step + ranks) % ranks;
            requests.push_back(Request::isend(static_cast<std::byte const *>(send) + MPI_Aint{to} * send_count * out,
                                              send_count, send_type, to, alltoall_tag, comm));
        }
        for (auto *&each : requests)
            Request::wait(&each, MPI_STATUS_IGNORE);
    }
    return MPI_SUCCESS;
}

// HPE Cray's MPICH: Bruck's algorithm below MPICH_ALLTOALL_SHORT_MSG (64 to 512 B, fewer at more ranks), and several
// steps under way for all larger blocks.
int alltoall__mpich(void const *send, int send_count, Datatype *send_type, void *receive, int receive_count,
                    Datatype *receive_type, Comm *comm) {
    static auto *const own =
        weft::simulate::of_simgrid<Alltoall>("_ZN7simgrid4smpi15alltoall__mpichEPKviPNS0_8DatatypeEPviS4_PNS0_4CommE");
    auto *taken = own;
    if (weft::simulate::alltoall_steps() > 0 && send != MPI_IN_PLACE) {
        auto ranks = 1, bytes = 0;
        PMPI_Comm_size(comm, &ranks);
        PMPI_Type_size(receive_type, &bytes);
        auto const is_short = std::int64_t{receive_count} * bytes < (ranks <= cray_few_ranks ? 512 : 64);
        taken = is_short && ranks >= fewest_for_bruck ? alltoall__bruck : alltoall__mvapich2_scatter_dest;
    }
    return taken(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

} // namespace simgrid::smpi
