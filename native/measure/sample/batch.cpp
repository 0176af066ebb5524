// SPDX-License-Identifier: BSD-3-Clause
#include "sample/batch.hpp"

#include <algorithm>

namespace weft {

std::int64_t larger_batch(Batch const &last, std::int64_t least_ns, ClockCost const &cost) noexcept {
    std::int64_t const each_ns = std::max<std::int64_t>(1, (last.lasted_ns - cost.cost_ns) / last.calls);
    std::int64_t const enough = (least_ns + least_ns / 10) / each_ns + 1;
    return std::clamp(enough, std::min(2 * last.calls, most_calls), most_calls);
}

} // namespace weft
