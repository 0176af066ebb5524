// SPDX-License-Identifier: BSD-3-Clause
#include "choice.hpp"

#include "error.hpp"
#include "state.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace weft::alltoall {

namespace {

constexpr std::int64_t calls_before_setup = 2;

/// What each rank receives, and sends, from or to all: to its skew, the busiest over the mean.
double agreed_skew(std::vector<std::int64_t> sums, int ranks, MPI_Comm comm) {
    check(PMPI_Allreduce(MPI_IN_PLACE, sums.data(), int(sums.size()), MPI_INT64_T, MPI_SUM, comm),
          "MPI_Allreduce of what ranks send and receive");
    double const all = double(std::accumulate(sums.begin(), sums.begin() + ranks, std::int64_t(0)));
    return all == 0 ? 1 : double(*std::max_element(sums.begin(), sums.end())) * ranks / all;
}

/// The common estimate of the size of an MPI_Alltoallv. The ranks reduce it at the calls 2, 4, 8, ... and then at every
/// 64th; in between the last value is used. Every algorithm is correct for all sizes: only speed depends on it.
template <typename Sums>
std::int64_t agreed_bytes(std::int64_t bytes, Sums sums, State &state, std::int64_t number, Choice &choice) {
    choice.agreed = std::has_single_bit(std::uint64_t(number)) || number % 64 == 0 || state.mean_bytes < 0;
    if (choice.agreed) {
        double const begin = PMPI_Wtime();
        check(PMPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_MAX, state.comm()), "MPI_Allreduce of sizes");
        state.mean_bytes = bytes;
        if (auto const own = sums(); !own.empty()) {
            state.skew = agreed_skew(own, state.nodes().ranks(), state.comm());
        }
        choice.agreed_seconds = PMPI_Wtime() - begin;
    }
    return state.mean_bytes;
}
/// Bytes of one element; none of a null type, with which counts are zero.
std::int64_t bytes_of(MPI_Datatype type) {
    MPI_Count size = 0;
    if (type != MPI_DATATYPE_NULL) {
        check(PMPI_Type_size_x(type, &size), "MPI_Type_size_x");
    }
    return size;
}

/// Bytes that this rank sends to each, and then, in its own place, to all: their sums are what ranks receive and send.
template <typename Call> std::vector<std::int64_t> own_sums(Call const &call, State const &state) {
    bool const in_place = call.send_buffer == MPI_IN_PLACE;
    auto const *const counts = in_place ? call.receive_counts : call.send_counts;
    auto const ranks = std::size_t(state.nodes().ranks());
    std::int64_t const size = bytes_of(in_place ? call.receive_type : call.send_type);
    std::vector<std::int64_t> sums(2 * ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        sums[rank] = counts[rank] * size;
        sums[ranks + std::size_t(state.rank())] += sums[rank];
    }
    return sums;
}

} // namespace

template <typename Call> std::int64_t mean_bytes(Call const &call, int ranks) {
    if constexpr (has_counts<Call>) {
        bool const in_place = call.send_buffer == MPI_IN_PLACE;
        auto const *const counts = in_place ? call.receive_counts : call.send_counts;
        std::int64_t const count = std::accumulate(counts, counts + ranks, std::int64_t(0));
        return (count * bytes_of(in_place ? call.receive_type : call.send_type) + ranks - 1) / ranks;
    } else {
        return call.receive_count * bytes_of(call.receive_type);
    }
}

template <typename Call>
Choice choose(Table const &table, Call const &call, std::int64_t number, int ranks, OwnRules &own) {
    if (number < calls_before_setup || ranks == 1) {
        return {};
    }
    std::optional<SizeRules> &rules = own.of[has_counts<Call> ? 1 : 0];
    if (!rules) {
        Nodes const &nodes = state_of(call.comm).nodes();
        rules = table.of_shape({has_counts<Call>, nodes.count(), nodes.smallest(), nodes.largest(), ranks});
    }
    Choice choice;
    std::int64_t bytes = 0;
    double skew = 1;
    if (rules->needs_bytes()) {
        bytes = mean_bytes(call, ranks);
        if constexpr (has_counts<Call>) {
            State &state = state_of(call.comm);
            auto const sums = [&] { return rules->needs_skew() ? own_sums(call, state) : std::vector<std::int64_t>(); };
            bytes = agreed_bytes(bytes, sums, state, number, choice);
            skew = state.skew;
        }
    }
    choice.spec = &rules->choose(bytes, skew);
    return choice;
}

template std::int64_t mean_bytes(AlltoallCall<int> const &, int);
template std::int64_t mean_bytes(AlltoallCall<MPI_Count> const &, int);
template std::int64_t mean_bytes(AlltoallvCall<int, int> const &, int);
template std::int64_t mean_bytes(AlltoallvCall<MPI_Count, MPI_Aint> const &, int);
template Choice choose(Table const &, AlltoallCall<int> const &, std::int64_t, int, OwnRules &);
template Choice choose(Table const &, AlltoallCall<MPI_Count> const &, std::int64_t, int, OwnRules &);
template Choice choose(Table const &, AlltoallvCall<int, int> const &, std::int64_t, int, OwnRules &);
template Choice choose(Table const &, AlltoallvCall<MPI_Count, MPI_Aint> const &, std::int64_t, int, OwnRules &);

} // namespace weft::alltoall
