// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "schedules.hpp"

#include <cmath>

namespace weft::rounds {

using Acts = std::vector<Act>;

// Bytes of a copy in whole cache lines, as they are charged: the copies of many blocks are one charge.
inline double in_lines(double bytes) {
    constexpr double line_bytes = 64;
    return std::ceil(bytes / line_bytes) * line_bytes;
}

// As MPI_Sendrecv in SMPI: a message to oneself is a copy.
inline void both(Acts &acts, std::int32_t rank, std::int32_t to, std::int32_t from, double bytes) {
    if (to == rank && from == rank) {
        acts.push_back({Does::charge, -1, bytes});
        return;
    }
    acts.push_back({Does::send, to, bytes});
    acts.push_back({Does::receive, from});
    acts.push_back({Does::all});
}

// SMPI's reduction of a few bytes: all send to rank 0.
inline void ask(Acts &acts, std::int32_t rank, std::int32_t ranks) {
    for (auto other = 1; rank == 0 && other < ranks; ++other)
        acts.push_back({Does::receive, other});
    if (rank != 0)
        acts.push_back({Does::send, 0, sizeof(std::int64_t)});
    acts.push_back({Does::all});
}

// SMPI's binomial tree.
inline void tell(Acts &acts, std::int32_t rank, std::int32_t ranks) {
    std::int64_t reach = 1;
    for (; reach < ranks && (rank & reach) == 0; reach *= 2)
        ;
    if (reach < ranks) {
        acts.push_back({Does::receive, std::int32_t(rank - reach)});
        acts.push_back({Does::all});
    }
    for (reach /= 2; reach > 0; reach /= 2)
        if (rank + reach < ranks) {
            acts.push_back({Does::send, std::int32_t(rank + reach), sizeof(std::int64_t)});
            acts.push_back({Does::all});
        }
}

// Recursive doubling of all blocks of all ranks; where p is no power of two, those who have a subtree send it on.
class Doubling : public Schedule {
  public:
    Doubling(std::int32_t ranks, double bytes) : p_(ranks), row_(ranks * bytes), acts_(std::size_t(ranks)) {
        std::vector<double> held(std::size_t(p_), row_), last(std::size_t(p_), 0);
        for (auto rank = 0; rank < p_; ++rank)
            acts_[std::size_t(rank)].push_back({Does::charge, -1, row_});
        for (std::int32_t mask = 1, level = 0; mask < p_; mask *= 2, ++level) {
            swap_halves(mask, held, last);
            hand_on(mask, level, held, last);
        }
        for (auto rank = 0; rank < p_; ++rank)
            acts_[std::size_t(rank)].push_back({Does::charge, -1, p_ * in_lines(bytes)});
    }
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        if (s > 0)
            return false;
        acts = acts_[std::size_t(rank)];
        return true;
    }

  private:
    void swap_halves(std::int32_t mask, std::vector<double> &held, std::vector<double> &last) {
        auto const before = held;
        for (auto rank = 0; rank < p_; ++rank) {
            auto const other = rank ^ mask;
            if (other >= p_)
                continue;
            both(acts_[std::size_t(rank)], rank, other, other, before[std::size_t(rank)]);
            last[std::size_t(rank)] = before[std::size_t(other)];
            held[std::size_t(rank)] += last[std::size_t(rank)];
        }
    }

    void hand_on(std::int32_t mask, std::int32_t level, std::vector<double> &held, std::vector<double> &last) {
        auto const is_short = [&](std::int32_t rank) { return ((rank ^ mask) >> level << level) + mask > p_; };
        for (std::int32_t reach = mask / 2, k = level; reach > 0; reach /= 2, --k) {
            auto const has = [&](std::int32_t rank, std::int32_t of) {
                auto const completed = p_ - (of >> level << level) - mask;
                return rank < (of >> k << k) + completed;
            };
            for (auto rank = 0; rank < p_; ++rank) {
                auto const other = rank ^ reach;
                if (!is_short(rank) || other < rank || other >= p_ || !has(rank, rank) || has(other, rank))
                    continue;
                acts_[std::size_t(rank)].push_back({Does::send, other, last[std::size_t(rank)]});
                acts_[std::size_t(rank)].push_back({Does::all});
                acts_[std::size_t(other)].push_back({Does::receive, rank});
                acts_[std::size_t(other)].push_back({Does::all});
                last[std::size_t(other)] = last[std::size_t(rank)];
                held[std::size_t(other)] += last[std::size_t(rank)];
            }
        }
    }

    std::int32_t p_;
    double row_;
    std::vector<Acts> acts_;
};

} // namespace weft::rounds
