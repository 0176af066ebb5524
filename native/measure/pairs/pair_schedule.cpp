// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_schedule.hpp"

#include <algorithm>

namespace weft {

std::vector<Pair> circle(int players, int round) {
    int const ring = players - 1; // the last player stays in place, the others rotate
    std::vector<Pair> pairs;
    pairs.push_back({ring, round});
    for (int k = 1; k < players / 2; ++k) {
        pairs.push_back({(round + k) % ring, (round + ring - k) % ring});
    }
    return pairs;
}

PairSchedule::PairSchedule(std::span<int const> node_of) {
    for (int rank = 0; rank < int(node_of.size()); ++rank) {
        auto const node = std::size_t(node_of[std::size_t(rank)]);
        ranks_of_.resize(std::max(ranks_of_.size(), node + 1));
        ranks_of_[node].push_back(rank);
    }
    int const nodes = int(ranks_of_.size());
    for (std::vector<int> const &ranks : ranks_of_) {
        slots_ = std::max(slots_, int(ranks.size()));
    }
    auto const even = [](int count) { return count + count % 2; };
    halved_ = nodes > 1 && nodes % 2 == 1 && slots_ % 2 == 0;
    width_ = halved_ ? slots_ / 2 : slots_;
    players_ = halved_ ? 2 * nodes : even(nodes);
    if (nodes > 1) {
        between_ = (players_ - (halved_ ? 2 : 1)) * width_;
    }
    within_ = slots_ > 1 ? even(slots_) - 1 : 0;
}

std::vector<Pair> PairSchedule::pairs(int round) const {
    std::vector<Pair> found = is_within(round) ? within(round - between_) : between(round);
    for (Pair &pair : found) {
        pair = {std::min(pair.low, pair.high), std::max(pair.low, pair.high)};
    }
    std::sort(found.begin(), found.end(), [](Pair const &a, Pair const &b) { return a.low < b.low; });
    return found;
}

// Round 0 of the circle method pairs the last player with 0, and k with last - k: the halves of one node.
PairSchedule::Player PairSchedule::player(int number) const {
    int const nodes = int(ranks_of_.size());
    if (!halved_) {
        return {number, 0};
    }
    if (number < nodes) {
        return {number, 0};
    }
    return {number == players_ - 1 ? 0 : players_ - 1 - number, width_};
}

/// -1 if there is no such node, or the node has no such slot.
int PairSchedule::rank_at(int node, int slot) const {
    if (node >= int(ranks_of_.size()) || slot >= int(ranks_of_[std::size_t(node)].size())) {
        return -1;
    }
    return ranks_of_[std::size_t(node)][std::size_t(slot)];
}

std::vector<Pair> PairSchedule::between(int round) const {
    int const shift = round % width_;
    std::vector<Pair> found;
    for (auto const &[one, other] : circle(players_, round / width_ + (halved_ ? 1 : 0))) {
        Player const a = player(one);
        Player const b = player(other);
        for (int slot = 0; slot < width_; ++slot) {
            int const x = rank_at(a.node, a.first + slot);
            int const y = rank_at(b.node, b.first + (slot + shift) % width_);
            if (x >= 0 && y >= 0) {
                found.push_back({x, y});
            }
        }
    }
    return found;
}

std::vector<Pair> PairSchedule::within(int round) const {
    std::vector<Pair> found;
    for (auto const &[one, other] : circle(slots_ + slots_ % 2, round)) {
        for (int node = 0; node < int(ranks_of_.size()); ++node) {
            int const x = rank_at(node, one);
            int const y = rank_at(node, other);
            if (x >= 0 && y >= 0) {
                found.push_back({x, y});
            }
        }
    }
    return found;
}

} // namespace weft
