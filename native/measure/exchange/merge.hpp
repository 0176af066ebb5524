// SPDX-License-Identifier: BSD-3-Clause
// Step (iv): merges p sorted runs with a loser tree: log2 p comparisons per vector, each vector moved once.
#pragma once

#include "exchange/m_vector.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class LoserTree {
  public:
    explicit LoserTree(int runs);

    /// Bytes of a tree for `runs` runs, for the memory need.
    [[nodiscard]] static constexpr std::uint64_t bytes(int runs) {
        return static_cast<std::uint64_t>(runs) * (sizeof(Run) + sizeof(std::uint32_t));
    }

    /// Merges run k = vectors [begins[k], begins[k + 1]) of `from` into `to`; equal keys keep the order of their runs.
    /// `begins` holds runs + 1 places. Nothing is allocated.
    void merge(ConstVectors from, std::span<std::uint64_t const> begins, Vectors to);

  private:
    struct Run {
        double key;          ///< of the head; +inf when exhausted
        std::uint64_t order; ///< breaks ties: the run's number, or larger than that of every live run if exhausted (a
                             ///< live key may be +inf)
        double const *head;
        double const *end;
    };

    void start(ConstVectors from, std::span<std::uint64_t const> begins);
    void play_all();
    template <class Copy> void run(std::uint64_t total, std::uint64_t m, Copy &&copy);
    void load(Run &run);
    /// Not `==` for ties: a NaN (only from a faulty exchange) must win against an exhausted run, or the merge would
    /// read beyond the end of a run. This way it stays within the arrays, and the proof finds the NaN.
    [[nodiscard]] bool wins(std::uint32_t a, std::uint32_t b) const {
        return runs_[a].key < runs_[b].key || (!(runs_[b].key < runs_[a].key) && runs_[a].order < runs_[b].order);
    }

    std::vector<Run> runs_;
    std::vector<std::uint32_t> tree_; ///< [0] the winner, [1 .. runs) the loser of each match
};

} // namespace weft
