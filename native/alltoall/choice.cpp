// SPDX-License-Identifier: BSD-3-Clause
#include "choice.hpp"

#include "error.hpp"
#include "state.hpp"

#include <bit>

namespace weft::alltoall {

namespace {

constexpr std::int64_t calls_before_setup = 2;

/// The common estimate of the size of an MPI_Alltoallv. The ranks reduce it at the calls 2, 4, 8, ... and then at every
/// 64th; in between the last value is used. Every algorithm is correct for all sizes: only speed depends on it.
std::int64_t agreed_bytes(Exchange const &exchange, State &state, std::int64_t number, Choice &choice) {
    choice.agreed = std::has_single_bit(std::uint64_t(number)) || number % 64 == 0 || state.mean_bytes < 0;
    if (choice.agreed) {
        double const begin = PMPI_Wtime();
        std::int64_t bytes = mean_bytes(exchange);
        check(PMPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_MAX, state.comm()), "MPI_Allreduce of sizes");
        state.mean_bytes = bytes;
        choice.agreed_seconds = PMPI_Wtime() - begin;
    }
    return state.mean_bytes;
}

} // namespace

std::int64_t mean_bytes(Exchange const &exchange) {
    int const ranks = exchange.send.ranks();
    return exchange.uniform() ? exchange.receive.bytes(0) : (exchange.send.total_bytes() + ranks - 1) / ranks;
}

template <typename Call> Choice choose(Table const &table, Call const &call, std::int64_t number, int ranks) {
    if (number < calls_before_setup || ranks == 1) {
        return {};
    }
    Choice choice;
    State &state = state_of(call.comm);
    Exchange const exchange = call.exchange(ranks);
    Key key{has_counts<Call>, state.nodes().count(), state.nodes().smallest(), state.nodes().largest(), ranks, 0};
    if (!has_counts<Call>) {
        key.bytes = mean_bytes(exchange);
    } else if (table.needs_bytes()) {
        key.bytes = agreed_bytes(exchange, state, number, choice);
    }
    choice.spec = table.choose(key);
    return choice;
}

template Choice choose(Table const &, AlltoallCall<int> const &, std::int64_t, int);
template Choice choose(Table const &, AlltoallCall<MPI_Count> const &, std::int64_t, int);
template Choice choose(Table const &, AlltoallvCall<int, int> const &, std::int64_t, int);
template Choice choose(Table const &, AlltoallvCall<MPI_Count, MPI_Aint> const &, std::int64_t, int);

} // namespace weft::alltoall
