// SPDX-License-Identifier: BSD-3-Clause
// The collective calls with counts of 64 bits, of MPI 4.
#include "collective/collective_calls.hpp"

#include <map>

namespace weft {

namespace {

using Call = void (*)(CallArguments const &);

#if MPI_VERSION >= 4
void const *source(CallArguments const &a) {
    return a.in_place ? MPI_IN_PLACE : a.send;
}

void wide_bcast(CallArguments const &a) {
    check(MPI_Bcast_c(a.is_root() ? a.send : a.receive, a.wide_count, a.type, a.root, a.comm), "MPI_Bcast_c");
}

void wide_alltoall(CallArguments const &a) {
    a.algorithm.alltoall(source(a), a.wide_count, a.type, a.receive, a.wide_count, a.type, a.comm);
}

void wide_alltoallv(CallArguments const &a) {
    a.algorithm.alltoallv(source(a), a.wide.send_counts.data(), a.wide.send_places.data(), a.type, a.receive,
                          a.wide.receive_counts.data(), a.wide.receive_places.data(), a.type, a.comm);
}

void wide_scatter(CallArguments const &a) {
    void *const to = a.in_place && a.is_root() ? MPI_IN_PLACE : a.receive;
    check(MPI_Scatter_c(a.send, a.wide_count, a.type, to, a.wide_count, a.type, a.root, a.comm), "MPI_Scatter_c");
}

void wide_gather(CallArguments const &a) {
    void const *const from = a.in_place && a.is_root() ? MPI_IN_PLACE : a.send;
    check(MPI_Gather_c(from, a.wide_count, a.type, a.receive, a.wide_count, a.type, a.root, a.comm), "MPI_Gather_c");
}

void wide_allgather(CallArguments const &a) {
    check(MPI_Allgather_c(source(a), a.wide_count, a.type, a.receive, a.wide_count, a.type, a.comm), "MPI_Allgather_c");
}

void wide_allreduce(CallArguments const &a) {
    check(MPI_Allreduce_c(source(a), a.receive, a.wide_count, a.type, MPI_SUM, a.comm), "MPI_Allreduce_c");
}

void wide_reduce(CallArguments const &a) {
    void const *const from = a.in_place && a.is_root() ? MPI_IN_PLACE : a.send;
    check(MPI_Reduce_c(from, a.receive, a.wide_count, a.type, MPI_SUM, a.root, a.comm), "MPI_Reduce_c");
}

void wide_reduce_scatter(CallArguments const &a) {
    check(MPI_Reduce_scatter_c(source(a), a.receive, a.wide.receive_counts.data(), a.type, MPI_SUM, a.comm),
          "MPI_Reduce_scatter_c");
}
#endif

} // namespace

void (*wide_call(Collective const &collective))(CallArguments const &) {
#if MPI_VERSION >= 4
    static std::map<std::string_view, Call> const calls{
        {"bcast", wide_bcast},         {"alltoall", wide_alltoall}, {"alltoallv", wide_alltoallv},
        {"scatter", wide_scatter},     {"gather", wide_gather},     {"allgather", wide_allgather},
        {"allreduce", wide_allreduce}, {"reduce", wide_reduce},     {"reduce_scatter", wide_reduce_scatter},
    };
    return calls.at(collective.name);
#else
    (void)collective;
    return Call{};
#endif
}

} // namespace weft
