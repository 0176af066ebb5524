// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/contention_set.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace weft;
using Matrix = std::vector<std::vector<double>>;

namespace {

Matrix unsorted_matrix(ContentionSet const &set) {
    Matrix matrix;
    for (int rank = 0; rank < set.ranks; ++rank) {
        matrix.emplace_back(set.local());
        write_unsorted(set, rank, {matrix.back().data(), set.local(), 1});
    }
    return matrix;
}

} // namespace

TEST_CASE("n = 48 on p = 4 is exactly the unsorted matrix of the paper") {
    CHECK(unsorted_matrix({48, 4}) == Matrix{{1, 2, 3, 13, 14, 15, 25, 26, 27, 37, 38, 39},
                                             {4, 5, 6, 16, 17, 18, 28, 29, 30, 40, 41, 42},
                                             {7, 8, 9, 19, 20, 21, 31, 32, 33, 43, 44, 45},
                                             {10, 11, 12, 22, 23, 24, 34, 35, 36, 46, 47, 48}});
}

TEST_CASE("n = 48 on p = 4 is exactly the sorted matrix of the paper") {
    ContentionSet const set{48, 4};
    Matrix sorted(4);
    for (int rank = 0; rank < 4; ++rank)
        for (std::uint64_t position = 0; position < set.local(); ++position)
            sorted[static_cast<std::size_t>(rank)].push_back(static_cast<double>(set.sorted_key(rank, position)));
    CHECK(sorted == Matrix{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                           {13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24},
                           {25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36},
                           {37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48}});
}

TEST_CASE("an all-to-all of equal blocks sorts the contention set for any p") {
    for (int p : {1, 2, 3, 5, 8}) {
        ContentionSet const set{static_cast<std::uint64_t>(p * p * 6), p};
        auto const unsorted = unsorted_matrix(set);
        for (int to = 0; to < p; ++to)
            for (int from = 0; from < p; ++from)
                for (std::uint64_t i = 0; i < set.block(); ++i) {
                    auto const sent =
                        unsorted[static_cast<std::size_t>(from)][static_cast<std::uint64_t>(to) * set.block() + i];
                    auto const position = static_cast<std::uint64_t>(from) * set.block() + i;
                    CHECK(sent == static_cast<double>(set.sorted_key(to, position)));
                }
    }
}

TEST_CASE("an n that p^2 does not divide is refused with the nearest that it does") {
    CHECK(contention_refusal(48, 4).empty());
    CHECK(contention_refusal(1492992, 288).empty());
    CHECK(contention_refusal(49, 4).find("nearest n that can is 48") != std::string::npos);
    CHECK(contention_refusal(57, 4).find("nearest n that can is 64") != std::string::npos);
    CHECK(contention_refusal(3, 4).find("nearest n that can is 16") != std::string::npos);
    CHECK(contention_refusal(0, 4).find("n = 0") != std::string::npos);
    CHECK(contention_refusal(0, 1).find("n = 0") != std::string::npos);
    CHECK(contention_refusal(std::uint64_t{1} << 54, 2).find("2^53") != std::string::npos);
}

TEST_CASE("keys of a huge contention set need 64 bits and get them") {
    ContentionSet const set{std::uint64_t{1} << 40, 1 << 10};
    CHECK(set.local() == std::uint64_t{1} << 30);
    CHECK(set.block() == std::uint64_t{1} << 20);
    CHECK(set.unsorted_key(1023, 1023, set.block() - 1) == std::uint64_t{1} << 40);
    CHECK(set.sorted_key(1023, set.local() - 1) == std::uint64_t{1} << 40);
}
