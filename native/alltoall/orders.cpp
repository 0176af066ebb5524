// SPDX-License-Identifier: BSD-3-Clause
#include "orders.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace weft::alltoall {

namespace {

/// Shifts in the sequence `ranks_in_order`: position i sends to position i + s.
std::vector<Step> shifts(std::vector<int> const &ranks_in_order, int rank) {
    int const p = int(ranks_in_order.size());
    auto const found = std::find(ranks_in_order.begin(), ranks_in_order.end(), rank);
    int const mine = int(found - ranks_in_order.begin());
    std::vector<Step> steps;
    for (int s = 1; s < p; ++s) {
        steps.push_back({ranks_in_order[std::size_t((mine + s) % p)], ranks_in_order[std::size_t((mine - s + p) % p)]});
    }
    return steps;
}

std::vector<int> counted(int ranks) {
    std::vector<int> sequence(static_cast<std::size_t>(ranks));
    std::iota(sequence.begin(), sequence.end(), 0);
    return sequence;
}

/// The first rank of each node, then the second of each, and so on: neighbours lie on different nodes.
std::vector<int> across_nodes(Nodes const &nodes) {
    std::vector<int> sequence;
    for (int local = 0; local < nodes.largest(); ++local) {
        for (int node = 0; node < nodes.count(); ++node) {
            if (local < nodes.size_of(node)) {
                sequence.push_back(nodes.members(node)[std::size_t(local)]);
            }
        }
    }
    return sequence;
}

std::vector<int> shuffled(int ranks) {
    std::vector<int> sequence = counted(ranks);
    std::mt19937 random(20081113); // an arbitrary seed, the same on every rank
    for (std::size_t i = sequence.size(); i > 1; --i) {
        std::swap(sequence[i - 1], sequence[random() % i]); // std::shuffle differs between standard libraries
    }
    return sequence;
}

std::vector<Step> exclusive_or(int rank, int ranks) {
    if ((ranks & (ranks - 1)) != 0) {
        return mutual_steps(rank, ranks);
    }
    std::vector<Step> steps;
    for (int s = 1; s < ranks; ++s) {
        steps.push_back({rank ^ s, rank ^ s});
    }
    return steps;
}

} // namespace

std::vector<Step> mutual_steps(int rank, int ranks) {
    std::vector<Step> steps;
    for (int s = 0; s < ranks; ++s) {
        int const partner = (s - rank + ranks) % ranks;
        steps.push_back(partner == rank ? Step{-1, -1} : Step{partner, partner});
    }
    return steps;
}

std::vector<Step> steps_of(Order order, int rank, Nodes const &nodes) {
    switch (order) {
    case Order::exclusive_or:
        return exclusive_or(rank, nodes.ranks());
    case Order::node_rotated:
        return shifts(across_nodes(nodes), rank);
    case Order::permuted:
        return shifts(shuffled(nodes.ranks()), rank);
    default:
        return shifts(counted(nodes.ranks()), rank);
    }
}

} // namespace weft::alltoall
