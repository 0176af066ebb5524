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
    // two findings per rank: a short message and a long one; ranks 0 and 1 are neighbours, 2 and 3 are distant
    std::array<int, 2> const kinds{0, 1};
    std::vector<double> const medians{1, 50, 1, 50, 10, 90, 10, 90};
    std::vector<std::int64_t> const partners{1, 1, 0, 0, 3, 3, 2, 2};
    auto const by_place = [](int source, int) { return source < 2 ? 0 : 1; };
    CHECK(weft::slow_pairs(kinds, medians, partners, by_place).empty());
    CHECK(weft::slow_pairs(kinds, medians, partners, same_class).size() == 2); // 10 compared with 1
}

TEST_CASE("a suspect is measured again in the company that it was measured in") {
    weft::Team team = weft::make_team(MPI_COMM_WORLD);
    team.node_of = {0, 0, 1, 1, 2, 2};
    team.nodes = 3;
    std::vector<weft::Pair> const pairs{{0, 2}, {1, 4}, {3, 5}};
    weft::PairRound const round = weft::make_round(team, 7, pairs);
    REQUIRE(round.once.size() == 3); // any two of them share a node
    std::array<weft::Suspect, 1> const suspects{{{0, 4, 1}}};
    CHECK(weft::same_company(team, round, weft::PairMode::all, suspects).pairs == pairs);
    std::vector<weft::Pair> const alone{{1, 4}};
    CHECK(weft::same_company(team, round, weft::PairMode::isolated, suspects).pairs == alone);
    CHECK(weft::same_company(team, round, weft::PairMode::isolated, suspects).number == 7);
}

TEST_CASE("one pair a node: only the groups that hold a suspect meet again, unchanged") {
    weft::Team team = weft::make_team(MPI_COMM_WORLD);
    team.node_of = {0, 0, 1, 1, 2, 2, 3, 3};
    team.nodes = 4;
    weft::PairRound const round = weft::make_round(team, 1, {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
    std::vector<weft::Pair> const first{{0, 2}, {4, 6}};
    std::vector<weft::Pair> const second{{1, 3}, {5, 7}};
    REQUIRE((round.once.size() == 2 && round.once[0] == first));
    std::array<weft::Suspect, 1> const suspects{{{0, 7, 5}}};
    auto const again = weft::same_company(team, round, weft::PairMode::node, suspects);
    REQUIRE(again.once.size() == 1);
    CHECK(again.once[0] == second);
}

TEST_CASE("who has a bye is nobody's suspect") {
    std::array<int, 1> const kinds{0};
    std::vector<double> const medians{100, 100, 0};
    std::vector<std::int64_t> const partners{1, 0, -1};
    CHECK(weft::slow_pairs(kinds, medians, partners, same_class).empty());
}
