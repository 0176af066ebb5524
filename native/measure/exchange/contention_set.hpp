// SPDX-License-Identifier: BSD-3-Clause
// The data set of paper 000, section 3.2: every rank has one block of l_n / p vectors for every rank, already in order,
// so that one MPI_Alltoallv with equal blocks sorts the whole array without a local sort.
#pragma once

#include "exchange/m_vector.hpp"

#include <cstdint>
#include <string>

namespace weft {

struct ContentionSet {
    std::uint64_t n = 0; ///< vectors of the global array
    int ranks = 1;

    [[nodiscard]] constexpr std::uint64_t p() const { return static_cast<std::uint64_t>(ranks); }
    [[nodiscard]] constexpr std::uint64_t local() const { return n / p(); }       ///< l_n
    [[nodiscard]] constexpr std::uint64_t block() const { return local() / p(); } ///< l_n / p

    /// Key of vector `i` in the block that `rank` holds for rank `to`, before the exchange.
    [[nodiscard]] constexpr std::uint64_t unsorted_key(int rank, int to, std::uint64_t i) const {
        return static_cast<std::uint64_t>(to) * local() + static_cast<std::uint64_t>(rank) * block() + i + 1;
    }
    /// Key at `position` of the array of `rank` after the exchange.
    [[nodiscard]] constexpr std::uint64_t sorted_key(int rank, std::uint64_t position) const {
        return static_cast<std::uint64_t>(rank) * local() + position + 1;
    }
};

/// The reason why n vectors cannot be distributed over these ranks; empty if they can.
[[nodiscard]] inline std::string contention_refusal(std::uint64_t n, int ranks) {
    auto const p = static_cast<std::uint64_t>(ranks);
    auto const square = p * p;
    if (n != 0 && n % square == 0 && n <= (std::uint64_t{1} << 53)) {
        return {};
    }
    if (n > (std::uint64_t{1} << 53)) {
        return "n = " + std::to_string(n) +
               " is over 2^53, from where on a double cannot hold every key: take a smaller n";
    }
    auto const below = n / square * square;
    auto const nearest = below != 0 && n - below <= square - (n - below) ? below : below + square;
    return "n = " + std::to_string(n) + " cannot be cut into p^2 = " + std::to_string(square) +
           " equal blocks (p = " + std::to_string(p) + "): the nearest n that can is " + std::to_string(nearest);
}

/// Writes the array that `rank` holds before the exchange.
inline void write_unsorted(ContentionSet const &set, int rank, Vectors unsorted) {
    std::uint64_t vector = 0;
    for (int to = 0; to < set.ranks; ++to) {
        for (std::uint64_t i = 0; i < set.block(); ++i) {
            write_vector(unsorted[vector++], static_cast<double>(set.unsorted_key(rank, to, i)));
        }
    }
}

} // namespace weft
