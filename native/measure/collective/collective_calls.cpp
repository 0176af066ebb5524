// SPDX-License-Identifier: BSD-3-Clause
#include "collective/collective_calls.hpp"

#include "mpi/error.hpp"

#include <array>
#include <string>

namespace weft {

namespace {

// The measured calls have the public MPI_ names. Arguments that MPI ignores with MPI_IN_PLACE are passed unchanged.

void call_bcast(CallArguments const &a) {
    check(MPI_Bcast(a.is_root() ? a.send : a.receive, a.count, a.type, a.root, a.comm), "MPI_Bcast");
}

void call_alltoall(CallArguments const &a) {
    void const *const from = a.in_place ? MPI_IN_PLACE : a.send;
    a.algorithm.alltoall(from, a.count, a.type, a.receive, a.count, a.type, a.comm);
}

void call_alltoallv(CallArguments const &a) {
    void const *const from = a.in_place ? MPI_IN_PLACE : a.send;
    a.algorithm.alltoallv(from, a.send_counts.data(), a.send_places.data(), a.type, a.receive, a.receive_counts.data(),
                          a.receive_places.data(), a.type, a.comm);
}

void call_scatter(CallArguments const &a) {
    void *const to = a.in_place && a.is_root() ? MPI_IN_PLACE : a.receive;
    check(MPI_Scatter(a.send, a.count, a.type, to, a.count, a.type, a.root, a.comm), "MPI_Scatter");
}

void call_gather(CallArguments const &a) {
    void const *const from = a.in_place && a.is_root() ? MPI_IN_PLACE : a.send;
    check(MPI_Gather(from, a.count, a.type, a.receive, a.count, a.type, a.root, a.comm), "MPI_Gather");
}

void call_allgather(CallArguments const &a) {
    void const *const from = a.in_place ? MPI_IN_PLACE : a.send;
    check(MPI_Allgather(from, a.count, a.type, a.receive, a.count, a.type, a.comm), "MPI_Allgather");
}

void call_allreduce(CallArguments const &a) {
    void const *const from = a.in_place ? MPI_IN_PLACE : a.send;
    check(MPI_Allreduce(from, a.receive, a.count, a.type, MPI_SUM, a.comm), "MPI_Allreduce");
}

void call_reduce(CallArguments const &a) {
    void const *const from = a.in_place && a.is_root() ? MPI_IN_PLACE : a.send;
    check(MPI_Reduce(from, a.receive, a.count, a.type, MPI_SUM, a.root, a.comm), "MPI_Reduce");
}

void call_reduce_scatter(CallArguments const &a) {
    void const *const from = a.in_place ? MPI_IN_PLACE : a.send;
    check(MPI_Reduce_scatter(from, a.receive, a.receive_counts.data(), a.type, MPI_SUM, a.comm), "MPI_Reduce_scatter");
}

} // namespace

std::span<Collective const> collectives() {
    static constexpr std::array<Collective, 9> table{{
        {"bcast", call_bcast, Blocks::one, Blocks::one, true, false, false},
        {"alltoall", call_alltoall, Blocks::all, Blocks::all},
        {"alltoallv", call_alltoallv, Blocks::all, Blocks::all, false, false, true, true},
        {"scatter", call_scatter, Blocks::all, Blocks::one, true},
        {"gather", call_gather, Blocks::one, Blocks::all, true},
        {"allgather", call_allgather, Blocks::one, Blocks::all},
        {"allreduce", call_allreduce, Blocks::one, Blocks::one, false, true},
        {"reduce", call_reduce, Blocks::one, Blocks::one, true, true},
        {"reduce_scatter", call_reduce_scatter, Blocks::all, Blocks::one, false, true},
    }};
    return table;
}

Collective const &collective_named(std::string_view name) {
    std::string known;
    for (Collective const &collective : collectives()) {
        if (collective.name == name) {
            return collective;
        }
        known += (known.empty() ? "" : ", ") + std::string(collective.name);
    }
    throw Failure("unknown collective `" + std::string(name) + "`", "this weft-measure has: " + known, true);
}

} // namespace weft
