// SPDX-License-Identifier: BSD-3-Clause
// How many operations run before any is recorded. Pure: the caller runs them and looks at their times.
#pragma once

#include <cstdint>

namespace weft {

/// Batches of unrecorded operations, until their medians are steady (see `is_steady`). No more than `most` operations,
/// and no longer than a fifth of the budget.
class WarmUp {
  public:
    WarmUp(std::int64_t most, std::int64_t budget_ns) noexcept : most_(most), limit_ns_(budget_ns / 5) {
        batch_ = most > 0 ? 1 : 0;
    }

    /// Operations of the next batch; 0 when the warm-up is over.
    std::int64_t batch() const noexcept { return batch_; }
    /// True until the first batch has run. It is one operation, which sizes the other batches: five have to fit into
    /// the time there is. Its time does not count towards a steady median.
    bool first() const noexcept { return operations_ == 0; }
    /// The batch has run. `spent_ns`: since the warm-up began. `steady`: do the batches after the first agree?
    void ran(std::int64_t spent_ns, bool steady) noexcept;
    /// So far.
    std::int64_t operations() const noexcept { return operations_; }

  private:
    std::int64_t most_;
    std::int64_t limit_ns_;
    std::int64_t batch_;
    std::int64_t operations_ = 0;
};

} // namespace weft
