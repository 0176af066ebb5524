// SPDX-License-Identifier: BSD-3-Clause
// Tests without ranks: the order of a rank's steps, and Bruck's rounds, for any number of ranks.
#include "bruck_steps.hpp"
#include "fluid.hpp"
#include "matrix_order.hpp"
#include "nodes.hpp"
#include "orders.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <map>
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

namespace {

/// Bytes between nodes: even; a hot receiver; hot senders and receivers; the same with zeros and preferences; a
/// receiver with twice the mean.
std::vector<NodeMatrix> matrices(int nodes) {
    std::vector<NodeMatrix> made;
    for (int kind = 0; kind < 5; ++kind) {
        NodeMatrix matrix{{}, nodes};
        for (int from = 0; from < nodes; ++from) {
            for (int to = 0; to < nodes; ++to) {
                std::int64_t const receiver = 1 + 4 * nodes / (1 + (to * 7 + 3) % nodes);
                std::int64_t const sender = 1 + 4 * nodes / (1 + (from * 5 + 1) % nodes);
                std::int64_t const taste = (from * 31 + to * 17) % 11;
                matrix.bytes.push_back((kind == 0   ? 1000
                                        : kind == 1 ? (to == nodes / 2 ? 5000 : 700)
                                        : kind == 2 ? 10 * receiver * sender
                                        : kind == 3 ? receiver * sender * taste
                                                    : (to == nodes / 2 ? 2000 : 900))
                                       << 16);
            }
        }
        made.push_back(matrix);
    }
    return made;
}

double cpu_ms(NodeMatrix const &matrix) {
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
        timespec begin{}, end{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        REQUIRE(!matrix_order(matrix, 0).empty());
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        least = std::min(least, double(end.tv_sec - begin.tv_sec) * 1e3 + double(end.tv_nsec - begin.tv_nsec) / 1e6);
    }
    return least;
}

} // namespace

TEST_CASE("an order by a matrix has every byte once, and one part from a node at a time") {
    for (int const nodes : {1, 2, 3, 5, 8, 17, 64, 80}) {
        for (NodeMatrix const &matrix : matrices(nodes)) {
            CAPTURE(nodes);
            std::map<std::pair<int, int>, std::int64_t> moved;
            for (int home = 0; home < nodes; ++home) {
                std::int64_t sent_until = 0;
                for (Part const &part : matrix_order(matrix, home)) {
                    REQUIRE((part.from == home || part.to == home));
                    if (part.from == home) {
                        REQUIRE(part.start >= sent_until);
                        sent_until = part.start + part.high - part.low;
                        std::int64_t &before = moved[{part.from, part.to}];
                        REQUIRE(part.low == before);
                        before = part.high;
                        REQUIRE(part.whole == matrix.at(part.from, part.to));
                    }
                }
            }
            for (int from = 0; from < nodes; ++from) {
                for (int to = 0; to < nodes; ++to) {
                    CHECK((from == to || moved[{from, to}] == matrix.at(from, to)));
                }
            }
        }
    }
}

TEST_CASE(
    "small blocks are left to messages between nodes where all pairs are about even and nodes have several ranks") {
    Nodes const two(fake_labels("block:2", 16)), one(fake_labels("block:1", 8));
    auto const matrix = [](std::int64_t block, double hot) {
        NodeMatrix made{{}, 8};
        for (int pair = 0; pair < 64; ++pair) {
            made.bytes.push_back(std::int64_t(4.0 * double(block) * (pair == 3 ? hot : 1)));
        }
        return made;
    };
    CHECK((is_small(matrix(4096, 1), two) && is_small(matrix(4096, 1.2), two)));
    CHECK_FALSE((is_small(matrix(4096, 1.4), two) || is_small(matrix(8192, 1), two)));
    CHECK_FALSE((is_small(matrix(4096, 1), one) || is_small(matrix(0, 1), two)));
}

TEST_CASE("where only pairs differ, parts are a quarter of the mean, else the mean") {
    NodeMatrix matrix{{}, 8};
    for (int pair = 0; pair < 64; ++pair) {
        matrix.bytes.push_back(pair % 8 == (pair / 8 + 1) % 8 ? 1 << 22 : 1 << 20);
    }
    auto const longest = [&] {
        auto const parts = matrix_order(matrix, 2);
        auto const least = [](Part const &a, Part const &b) { return a.high - a.low < b.high - b.low; };
        auto const most = std::max_element(parts.begin(), parts.end(), least);
        return most->high - most->low;
    };
    CHECK(longest() == (matrix.busiest() + 6) / 7 / 4);
    matrix.bytes[8 * 2 + 5] = std::int64_t(1) << 26; // a hot receiver and sender
    CHECK(longest() == (matrix.busiest() + 6) / 7);
}

TEST_CASE("with eight parts under way an order ends at the bound of hot receivers, and near it of hot senders") {
    for (int const nodes : {5, 8, 17, 32}) {
        for (std::size_t kind = 0; kind < 5; ++kind) {
            NodeMatrix const matrix = matrices(nodes)[kind];
            CAPTURE(nodes);
            CAPTURE(kind);
            bool const hot_senders = kind == 2 || kind == 3;
            CHECK(Fluid(matrix, 8).end() <= (hot_senders ? 1.12 : 1.01) * double(matrix.busiest()));
        }
    }
}

namespace {

/// How many of `left` messages never meet their receive where a rank has one send and one receive under way.
std::size_t stuck(std::vector<MessageOrder> const &all, std::size_t left) {
    std::vector<std::size_t> sent(all.size(), 0), received(all.size(), 0);
    for (std::size_t before = left + 1; left < before;) {
        before = left;
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            if (sent[rank] == all[rank].sends.size()) {
                continue;
            }
            auto const &out = all[rank].sends[sent[rank]];
            auto const to = std::size_t(out.rank);
            if (received[to] == all[to].receives.size() || all[to].receives[received[to]].rank != int(rank)) {
                continue;
            }
            auto const &in = all[to].receives[received[to]];
            REQUIRE((in.part.low == out.part.low && in.part.high == out.part.high));
            ++sent[rank];
            ++received[to];
            --left;
        }
    }
    return left;
}

} // namespace

TEST_CASE(
    "with one send and one receive under way a rank, all messages of any order end, and each block is there once") {
    for (char const *where : {"block:3", "cyclic:4", "random:4:7", "sizes:3,5,8", "block:1", "block:1000"}) {
        for (int const ranks : {2, 5, 8, 16, 17}) {
            Nodes const nodes(fake_labels(where, ranks));
            for (NodeMatrix matrix : matrices(nodes.count())) {
                matrix.bytes[0] = 0;
                std::vector<MessageOrder> all;
                std::map<std::pair<int, int>, int> blocks;
                std::size_t left = 0;
                for (int rank = 0; rank < ranks; ++rank) {
                    all.push_back(messages_of(matrix_order(matrix, nodes.node_of(rank)), nodes, rank));
                    left += all.back().sends.size();
                    for (PartOfBlock const &each : all.back().sends) {
                        blocks[{rank, each.rank}] += each.part.high == each.part.whole ? 1 : 0;
                    }
                }
                for (int rank = 0; rank < ranks; ++rank) {
                    for (int other = 0; other < ranks; ++other) {
                        REQUIRE((blocks[{rank, other}] == (rank == other ? 0 : 1)));
                    }
                }
                CAPTURE(where);
                CAPTURE(ranks);
                CHECK(stuck(all, left) == 0);
            }
        }
    }
}

TEST_CASE("an order of other counts is scaled to the present ones, the same at both ends") {
    Part const part{0, 1, 3, 7, 10, 0};
    CHECK(part.scaled(part.low, 100) == 30);
    CHECK(part.scaled(part.high, 100) == 70);
    CHECK(Part{0, 1, 7, 10, 10, 0}.scaled(10, 101) == 101);
    CHECK(part.scaled(0, 99) == 0);
}

TEST_CASE("an order is made in a millisecond for 64 nodes, and in 100 for 1,024") {
#if !defined(__SANITIZE_ADDRESS__)
    for (auto const &[nodes, most_ms] : {std::pair{64, 1.0}, {1024, 100.0}}) {
        for (NodeMatrix const &matrix : matrices(nodes)) {
            double const ms = cpu_ms(matrix);
            MESSAGE(nodes << " nodes: " << ms << " ms of a processor");
            CHECK(ms <= most_ms);
        }
    }
#endif
}
