// SPDX-License-Identifier: BSD-3-Clause
#include "sample/warm_up.hpp"

#include <algorithm>

namespace weft {

void WarmUp::ran(std::int64_t spent_ns, bool steady) noexcept {
    constexpr std::int64_t largest_batch = 5;
    constexpr std::int64_t batches_that_fit = 5;
    bool const sizes_the_others = first();
    operations_ += batch_;
    if (spent_ns >= limit_ns_ || (steady && !sizes_the_others)) {
        batch_ = 0;
        return;
    }
    if (sizes_the_others) {
        std::int64_t const affordable = limit_ns_ / (batches_that_fit * std::max<std::int64_t>(spent_ns, 1));
        batch_ = std::clamp<std::int64_t>(affordable, 1, largest_batch);
    }
    batch_ = std::min(batch_, most_ - operations_);
}

} // namespace weft
