// SPDX-License-Identifier: BSD-3-Clause
// How many calls make one sample: one call may be too short for the clock (METHOD 7).
#pragma once

#include "time/clock.hpp"

#include <cstdint>

namespace weft {

/// More calls than this are not made in one sample, however short a call is.
constexpr std::int64_t most_calls = 1 << 20;

/// A batch, and what a sample of it lasted.
struct Batch {
    std::int64_t calls = 1;
    std::int64_t lasted_ns = 0;
};

/// The next batch to try after one that was too short: a tenth longer than it has to be, or the next try falls short
/// again; and at least twice as large as the last.
std::int64_t larger_batch(Batch const &last, std::int64_t least_ns, ClockCost const &cost) noexcept;

/// The batch whose samples last at least `least_ns`. `one_call_ns`: what a sample of one call lasted. `look(calls)`
/// takes some samples of so many calls and says what one lasted.
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
