// SPDX-License-Identifier: BSD-3-Clause
// The number of operations before the first recorded one. Pure: the caller runs them and evaluates their times.
#pragma once

#include <cstdint>

namespace weft {

/// Batches of unrecorded operations, until their medians are steady (see `is_steady`). At most `most` operations, and
/// at most a fifth of the budget.
class WarmUp {
  public:
    WarmUp(std::int64_t most, std::int64_t budget_ns) noexcept : most_(most), limit_ns_(budget_ns / 5) {
        batch_ = most > 0 ? 1 : 0;
    }

    /// Operations in the next batch; 0 when the warm-up is over.
    std::int64_t batch() const noexcept { return batch_; }
    /// True until the first batch has run. It is one operation, whose time sets the size of the other batches: five
    /// must fit into the available time. It does not count towards a steady median.
    bool first() const noexcept { return operations_ == 0; }
    /// Call after each batch. `spent_ns`: time since the start of the warm-up. `steady`: whether the batches after the
    /// first agree.
    void ran(std::int64_t spent_ns, bool steady) noexcept;
    /// Number of operations so far.
    std::int64_t operations() const noexcept { return operations_; }

  private:
    std::int64_t most_;
    std::int64_t limit_ns_;
    std::int64_t batch_;
    std::int64_t operations_ = 0;
};

} // namespace weft
