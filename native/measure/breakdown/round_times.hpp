// SPDX-License-Identifier: BSD-3-Clause
// Times of the rounds of a plain exchange on one rank: the median over its last few runs. Records of every round of
// every run would be p times as many as those of the exchange itself.
#pragma once

#include "sample/recorder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class RoundTimes {
  public:
    static constexpr int runs_kept = 15;
    /// Of more ranks no rounds are kept one by one: each call would store p rows of each of p ranks.
    static constexpr int most_ranks = 512;

    explicit RoundTimes(int ranks) : rounds_(kept(ranks)), begins_(runs_kept), ends_(kept(ranks) * runs_kept) {}

    /// Bytes for `calls` calls: the rows of each, and the runs of one.
    [[nodiscard]] static std::int64_t bytes(int ranks, std::int64_t calls) {
        auto const rounds = std::int64_t(kept(ranks));
        return calls * rounds * std::int64_t(sizeof(Row)) + rounds * runs_kept * 8;
    }
    [[nodiscard]] std::int64_t rows() const noexcept { return std::int64_t(rounds_); }

    /// Begins a run; returns where the ends of its rounds go: nowhere where none are kept.
    [[nodiscard]] std::span<std::int64_t> begin(std::int64_t now_ns) noexcept {
        std::size_t const place = std::size_t(runs_++ % runs_kept);
        begins_[place] = now_ns;
        return std::span(ends_).subspan(place * rounds_, rounds_);
    }

    /// Writes the median duration of round d into row d.
    void record(Segment &segment) const;

  private:
    [[nodiscard]] static std::size_t kept(int ranks) { return ranks <= most_ranks ? std::size_t(ranks) : 0; }

    std::size_t rounds_;
    std::int64_t runs_ = 0;
    std::vector<std::int64_t> begins_;
    std::vector<std::int64_t> ends_; ///< run by run
};

} // namespace weft
