// SPDX-License-Identifier: BSD-3-Clause
#include "time/clock.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace weft {

ClockCost measure_clock(Now now) {
    std::array<std::int64_t, 2000> steps{};
    std::int64_t const began = now();
    std::int64_t last = began;
    for (std::int64_t &step : steps) {
        std::int64_t const read = now();
        step = read - last;
        last = read;
    }
    if (last == began) {
        return {0, 0}; // reading a simulated clock takes no time, and it is exact
    }
    // The smallest step seen is at least the cost of a read. The resolution is the smallest difference between two
    // steps, or between a step and none.
    std::sort(steps.begin(), steps.end());
    std::int64_t resolution = std::numeric_limits<std::int64_t>::max();
    std::int64_t previous = 0;
    for (std::int64_t const step : steps) {
        if (step > previous) {
            resolution = std::min(resolution, step - previous);
        }
        previous = step;
    }
    return {resolution, std::max<std::int64_t>(1, (last - began) / std::int64_t(steps.size()))};
}

} // namespace weft
