// SPDX-License-Identifier: BSD-3-Clause
// How much each rank sends to each other in an all-to-all of unequal blocks. Pure: no MPI.
// weft.kernel.collective.blocks has the same formulas. A sweep's size is the largest block.
//   equal    all blocks alike
//   linear   rank j is sent (j + 1) / p of the largest block by everybody: the last rank receives most
//   heavy    rank 0 sends the largest block to everybody, all others an eighth of it
//   matrix   weights of p x p: from a file of the application's own traffic
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class BlockPattern {
  public:
    /// Throws std::invalid_argument for an unknown name, and for weights that are not p x p or all 0.
    BlockPattern(std::string_view name, int ranks, std::vector<std::int64_t> weights = {});

    [[nodiscard]] bool is_equal() const noexcept { return kind_ == Kind::equal; }

    /// Bytes of the block from one rank to another, a whole multiple of `unit`, where the largest has `largest`.
    [[nodiscard]] std::int64_t block(int from, int to, std::int64_t largest, std::int64_t unit) const;

  private:
    enum class Kind { equal, linear, heavy, matrix };
    static Kind kind_of(std::string_view name);

    Kind kind_;
    int ranks_;
    std::vector<std::int64_t> weights_; // row by row: who sends
    std::int64_t heaviest_ = 0;
};

} // namespace weft
