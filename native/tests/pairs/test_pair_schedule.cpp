// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_schedule.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

using weft::Pair;
using weft::PairSchedule;

namespace {

std::vector<int> in_blocks(int ranks, int per_node) {
    std::vector<int> node_of;
    for (int rank = 0; rank < ranks; ++rank) {
        node_of.push_back(rank / per_node);
    }
    return node_of;
}

void check_tournament(std::vector<int> const &node_of) {
    PairSchedule const schedule(node_of);
    auto const ranks = node_of.size();
    std::vector<int> met(ranks * ranks, 0);
    for (int round = 0; round < schedule.rounds(); ++round) {
        std::set<int> busy;
        for (Pair const &pair : schedule.pairs(round)) {
            CHECK(pair.low < pair.high);
            CHECK(busy.insert(pair.low).second);
            CHECK(busy.insert(pair.high).second);
            bool const within = node_of[std::size_t(pair.low)] == node_of[std::size_t(pair.high)];
            CHECK(within == schedule.is_within(round));
            ++met[std::size_t(pair.low) * ranks + std::size_t(pair.high)];
        }
    }
    for (std::size_t low = 0; low < ranks; ++low) {
        for (std::size_t high = low + 1; high < ranks; ++high) {
            CHECK(met[low * ranks + high] == 1);
        }
    }
}

} // namespace

TEST_CASE("each pair meets once, nobody twice in a round, and no round mixes classes") {
    for (int const per_node : {1, 2, 3, 4, 100}) {
        for (int ranks = 1; ranks <= 24; ++ranks) {
            CAPTURE(per_node);
            CAPTURE(ranks);
            check_tournament(in_blocks(ranks, per_node));
        }
    }
}

TEST_CASE("ranks dealt round the nodes, and nodes of unequal size, meet as well") {
    check_tournament({0, 1, 2, 0, 1, 2, 0, 1, 2, 0});
    check_tournament({2, 0, 1, 1, 0, 2, 2, 1, 0, 0});
    check_tournament({0, 1, 1, 1, 1, 2});
}

TEST_CASE("an even number of ranks needs one round less than it has ranks") {
    CHECK(PairSchedule(in_blocks(8, 8)).rounds() == 7);
    CHECK(PairSchedule(in_blocks(8, 2)).rounds() == 7);
    CHECK(PairSchedule(in_blocks(6, 2)).rounds() == 5); // three nodes: none has a bye
    CHECK(PairSchedule(in_blocks(1024, 16)).rounds() == 1023);
    CHECK(PairSchedule(in_blocks(1, 1)).rounds() == 0);
}

TEST_CASE("the rounds are those of weft.kernel.tournament") {
    // tests/unit/kernel/test_pairs_schedule.py has the same numbers.
    PairSchedule const four(in_blocks(4, 2));
    CHECK(four.pairs(0) == std::vector<Pair>{{0, 2}, {1, 3}});
    CHECK(four.pairs(1) == std::vector<Pair>{{0, 3}, {1, 2}});
    CHECK(four.pairs(2) == std::vector<Pair>{{0, 1}, {2, 3}});
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a over all rounds of 120 shapes
    auto const add = [&](int value) { hash = (hash ^ std::uint32_t(value)) * 0x100000001b3; };
    for (int ranks = 1; ranks < 25; ++ranks) {
        for (int const per_node : {1, 2, 3, 4, 6}) {
            PairSchedule const schedule(in_blocks(ranks, per_node));
            add(schedule.rounds());
            for (int round = 0; round < schedule.rounds(); ++round) {
                add(-1);
                for (Pair const &pair : schedule.pairs(round)) {
                    add(pair.low);
                    add(pair.high);
                }
            }
        }
    }
    CHECK(hash == 0xdaf37dab9f11b5a3);
}
