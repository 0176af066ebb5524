// SPDX-License-Identifier: BSD-3-Clause
// Tests without ranks: the order of a rank's steps, and Bruck's rounds, for any number of ranks.
#include "bruck_steps.hpp"
#include "nodes.hpp"
#include "orders.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace weft::alltoall;

namespace {

std::vector<int> const counts{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 31, 32, 48, 100, 125, 128};

/// Whether steps of all ranks are permutations in which each pair meets once.
void check_steps(std::vector<std::vector<Step>> const &of_rank) {
    int const p = int(of_rank.size());
    std::set<std::pair<int, int>> met;
    for (std::size_t s = 0; s < of_rank[0].size(); ++s) {
        for (int rank = 0; rank < p; ++rank) {
            REQUIRE(of_rank[std::size_t(rank)].size() == of_rank[0].size());
            Step const step = of_rank[std::size_t(rank)][s];
            if (step.to >= 0) {
                CHECK(step.to != rank);
                CHECK(of_rank[std::size_t(step.to)][s].from == rank); // so no two send to one
                CHECK(met.emplace(rank, step.to).second);
            } else {
                CHECK(step.from < 0);
            }
        }
    }
    CHECK(met.size() == std::size_t(p) * std::size_t(p - 1));
}

} // namespace

TEST_CASE("every order is a permutation in each step, and each pair meets once") {
    for (int const p : counts) {
        for (std::string const &fake :
             {std::string("block:4"), std::string("random:9:1"), std::string("sizes:3,5,8")}) {
            Nodes const nodes(fake_labels(fake, p));
            for (Order const order : {Order::shift, Order::exclusive_or, Order::node_rotated, Order::permuted}) {
                std::vector<std::vector<Step>> of_rank;
                for (int rank = 0; rank < p; ++rank) {
                    of_rank.push_back(steps_of(order, rank, nodes));
                }
                check_steps(of_rank);
            }
        }
        std::vector<std::vector<Step>> mutual;
        for (int rank = 0; rank < p; ++rank) {
            mutual.push_back(mutual_steps(rank, p));
            for (Step const step : mutual.back()) {
                CHECK(step.to == step.from);
            }
        }
        check_steps(mutual);
    }
}

TEST_CASE("in a node-rotated order the cores of a node send to different nodes") {
    Nodes const nodes(fake_labels("block:4", 32));
    for (std::size_t s = 0; s < 31; ++s) {
        std::set<int> targets;
        for (int const rank : nodes.members(2)) {
            targets.insert(steps_of(Order::node_rotated, rank, nodes)[s].to);
        }
        CHECK(targets.size() == 4);
    }
}

TEST_CASE("Bruck's blocks all come to where they belong, in any radix") {
    for (int const n : counts) {
        for (int const radix : {2, 3, 4, 5, 8, 17, 128}) {
            // where[s][j]: the rank that has the block from s for s + j
            std::vector<std::vector<int>> where;
            for (int s = 0; s < n; ++s) {
                where.emplace_back(std::size_t(n), s);
            }
            for (auto const &round : bruck_rounds(n, radix)) {
                std::set<int> distances;
                for (BruckStep const &step : round) {
                    CHECK(step.distance > 0);
                    CHECK(step.distance < n);
                    CHECK(distances.insert(step.distance).second);
                    for (int const j : step.blocks) {
                        for (int s = 0; s < n; ++s) {
                            int &holder = where[std::size_t(s)][std::size_t(j)];
                            holder = (holder + step.distance) % n;
                        }
                    }
                }
            }
            for (int s = 0; s < n; ++s) {
                for (int j = 0; j < n; ++j) {
                    CHECK(where[std::size_t(s)][std::size_t(j)] == (s + j) % n);
                }
            }
        }
    }
    CHECK(bruck_rounds(125, 5).size() == 3); // a floating-point logarithm gives four
    CHECK(bruck_rounds(2'000'000, 65'536).size() == 2);
}
