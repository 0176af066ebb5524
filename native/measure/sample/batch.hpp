// SPDX-License-Identifier: BSD-3-Clause
// The number of calls in one sample, since one call may be too short for the clock (METHOD 7).
#pragma once

#include "time/clock.hpp"

#include <cstdint>

namespace weft {

/// Most calls in one sample.
constexpr std::int64_t most_calls = 1 << 20;

/// A batch, and the duration of a sample of it.
struct Batch {
    std::int64_t calls = 1;
    std::int64_t lasted_ns = 0;
};

/// The next batch to try after one that was too short: a tenth longer than necessary, so that the next try is long
/// enough, and at least twice the last.
std::int64_t larger_batch(Batch const &last, std::int64_t least_ns, ClockCost const &cost) noexcept;

/// The batch whose samples last at least `least_ns`. `one_call_ns`: duration of a sample of one call. `look(calls)`
/// takes some samples of `calls` calls and returns the duration of one.
template <class Look>
Batch calibrated(std::int64_t one_call_ns, std::int64_t least_ns, ClockCost const &cost, Look &&look) {
    Batch batch{1, one_call_ns};
    while (batch.lasted_ns < least_ns && batch.calls < most_calls) {
        batch.calls = larger_batch(batch, least_ns, cost);
        batch.lasted_ns = look(batch.calls);
    }
    return batch;
}

} // namespace weft
