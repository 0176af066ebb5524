// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_retrial.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace {

int same_class(int, int) {
    return 0;
}

} // namespace

TEST_CASE("a pair that takes over 1.5 times the median of its class is under suspicion, the slowest first") {
    std::array<int, 1> const kinds{0};
    std::vector<double> const medians{100, 160, 100, 100, 400, 100};
    std::vector<std::int64_t> const partners{1, 0, 3, 2, 5, 4};
    auto const suspects = weft::slow_pairs(kinds, medians, partners, same_class);
    REQUIRE(suspects.size() == 2);
    CHECK(suspects[0].source == 4);
    CHECK(suspects[0].target == 5);
    CHECK(suspects[1].source == 1);
}

TEST_CASE("pairs are compared with those of their own class and kind only") {
    // two findings a rank: a short message and a long one; ranks 0 and 1 are neighbours, 2 and 3 far apart
    std::array<int, 2> const kinds{0, 1};
    std::vector<double> const medians{1, 50, 1, 50, 10, 90, 10, 90};
    std::vector<std::int64_t> const partners{1, 1, 0, 0, 3, 3, 2, 2};
    auto const by_place = [](int source, int) { return source < 2 ? 0 : 1; };
    CHECK(weft::slow_pairs(kinds, medians, partners, by_place).empty());
    CHECK(weft::slow_pairs(kinds, medians, partners, same_class).size() == 2); // 10 beside 1
}

TEST_CASE("who has a bye is nobody's suspect") {
    std::array<int, 1> const kinds{0};
    std::vector<double> const medians{100, 100, 0};
    std::vector<std::int64_t> const partners{1, 0, -1};
    CHECK(weft::slow_pairs(kinds, medians, partners, same_class).empty());
}
