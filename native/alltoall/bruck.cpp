// SPDX-License-Identifier: BSD-3-Clause
// bruck{r}: ceil(log_r p) rounds of at most r - 1 messages; blocks are forwarded by other ranks.
//
// Messages per rank: about (r - 1) log_r(p). Every byte is sent about (1 - 1/r) log_r(p) times and copied as often.
// Best for blocks of a few bytes on many ranks with one rank per node; slower as soon as bandwidth matters. Blocks
// larger than a slice take several passes; a slice is the same part of all blocks, so MPI_IN_PLACE needs no copy.
#include "algorithms.hpp"
#include "bruck_exchange.hpp"
#include "transfer.hpp"

#include <algorithm>

namespace weft::alltoall {

namespace {

constexpr std::int64_t memory_bytes = std::int64_t(64) << 20; // per rank: data sent and received, in all rounds

std::int64_t part(std::int64_t bytes, std::int64_t first, std::int64_t slice) {
    return std::clamp<std::int64_t>(bytes - first, 0, slice);
}

/// Exchanges bytes [first, first + slice) of every block.
void exchange_slice(BruckTeam const &team, Exchange const &exchange, std::int64_t first, std::int64_t slice) {
    int const ranks = int(team.ranks.size());
    std::int64_t total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        total += part(exchange.send.bytes(rank), first, slice);
    }
    std::vector<std::byte> packed(static_cast<std::size_t>(total));
    std::vector<Held> held;
    std::byte *at = packed.data();
    for (int j = 0; j < ranks; ++j) {
        int const to = (team.me + j) % ranks;
        std::int64_t const bytes = part(exchange.send.bytes(to), first, slice);
        exchange.send.pack(to, first, bytes, at, team.comm);
        held.push_back({at, bytes});
        at += bytes;
    }
    Kept kept;
    bruck_exchange(team, held, exchange.uniform(), kept);
    for (int j = 0; j < ranks; ++j) {
        int const from = (team.me - j + ranks) % ranks;
        std::int64_t const expected = part(exchange.receive.bytes(from), first, slice);
        if (held[std::size_t(j)].bytes != expected) {
            throw Error(MPI_ERR_TRUNCATE,
                        "weft: rank " + std::to_string(from) + " sent " + std::to_string(held[std::size_t(j)].bytes) +
                            " bytes where this rank expects " + std::to_string(expected) + " -> make the counts match");
        }
        exchange.receive.unpack(from, first, expected, held[std::size_t(j)].data, team.comm);
    }
}

} // namespace

Kind bruck(Spec const &spec, Exchange const &exchange, State &state) {
    int const ranks = state.nodes().ranks();
    BruckTeam team{state.comm(), tag_bruck, {}, state.rank(), spec.radix};
    std::int64_t rounds = 1;
    for (std::int64_t reach = spec.radix; reach < ranks; reach *= spec.radix) {
        ++rounds;
    }
    for (int rank = 0; rank < ranks; ++rank) {
        team.ranks.push_back(rank);
    }
    std::int64_t const largest = largest_block(exchange, state.comm());
    std::int64_t const slice = std::max<std::int64_t>(1, memory_bytes / ranks / (rounds + 2));
    for (std::int64_t first = 0; first < largest; first += slice) {
        exchange_slice(team, exchange, first, slice);
    }
    return Kind::bruck;
}

} // namespace weft::alltoall
