// SPDX-License-Identifier: BSD-3-Clause
#include "staging.hpp"

#include <algorithm>
#include <bit>

namespace weft::alltoall {

namespace {

constexpr std::int64_t least_fragment = 16'384; // below that a message's own cost exceeds that of its bytes

/// Bytes that the busiest rank sends or receives: reduced at the calls 1, 2, 4, ... and every 64th on a communicator;
/// in between the largest value is used. Too small a staging only means more batches.
std::int64_t busiest_rank_bytes(Exchange const &exchange, State &state) {
    std::int64_t const number = ++state.vector_calls;
    if (std::has_single_bit(std::uint64_t(number)) || number % 64 == 0) {
        std::int64_t bytes = std::max(exchange.send.total_bytes(), exchange.receive.total_bytes());
        check(PMPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_MAX, state.comm()), "MPI_Allreduce of sizes");
        state.busiest_rank_bytes = std::max(state.busiest_rank_bytes, bytes);
    }
    return state.busiest_rank_bytes;
}

} // namespace

bool stage(Exchange const &exchange, State &state) {
    std::int64_t const most = state.limits().staging_bytes / 2;
    // in double: the products may exceed 2^63
    double const rank_bytes = exchange.uniform() ? double(exchange.receive.bytes(0)) * state.nodes().ranks()
                                                 : double(busiest_rank_bytes(exchange, state));
    std::int64_t wanted = least_fragment; // powers of two, so that a small increase does not need new memory
    while (double(wanted) < rank_bytes * state.nodes().largest() && wanted < most) {
        wanted *= 2;
    }
    return state.provide_staging(std::min(wanted, most));
}

NodeCounts publish(Exchange const &exchange, State &state) {
    NodeCounts counts;
    counts.ranks = state.nodes().ranks();
    if (exchange.uniform()) {
        counts.uniform = exchange.receive.bytes(0);
    } else {
        counts.out = state.sent_table();
        counts.in = state.received_table();
        std::int64_t const row = std::int64_t(state.local()) * counts.ranks;
        for (int rank = 0; rank < counts.ranks; ++rank) {
            state.sent_table()[row + rank] = exchange.send.bytes(rank);
            state.received_table()[row + rank] = exchange.receive.bytes(rank);
        }
    }
    state.barrier().wait();
    return counts;
}

std::int64_t fragment_length(State const &state) {
    std::int64_t const share = state.staging_bytes() / std::clamp(state.nodes().count() - 1, 1, 16);
    return std::max(share, std::min(state.staging_bytes(), least_fragment));
}

} // namespace weft::alltoall
