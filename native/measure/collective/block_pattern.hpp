// SPDX-License-Identifier: BSD-3-Clause
// Block sizes of an all-to-all with unequal blocks. Pure: no MPI.
// weft.kernel.collective.blocks has the same formulas. A sweep's size is the largest block.
//   equal    all blocks alike
//   linear   every rank sends (j + 1) / p of the largest block to rank j: the last rank receives most
//   heavy    rank 0 sends the largest block to every rank, all others an eighth of it
//   matrix   p x p weights, from a file with the traffic of an application; patterns of other names that come with
//   weights are such
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

    /// Bytes of the block from one rank to another, a whole multiple of `unit`, if the largest block has `largest`
    /// bytes.
    [[nodiscard]] std::int64_t block(int from, int to, std::int64_t largest, std::int64_t unit) const;

  private:
    enum class Kind { equal, linear, heavy, matrix };
    static Kind kind_of(std::string_view name);

    Kind kind_;
    int ranks_;
    std::vector<std::int64_t> weights_; // row-major: row = sender
    std::int64_t heaviest_ = 0;
};

} // namespace weft
