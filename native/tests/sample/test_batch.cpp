// SPDX-License-Identifier: BSD-3-Clause
#include "sample/batch.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

constexpr weft::ClockCost clock_cost{1, 20};

/// Batches tried for calls of `call_ns`, if the overhead of a sample is one clock read.
std::vector<std::int64_t> tried(std::int64_t call_ns, std::int64_t least_ns) {
    std::vector<std::int64_t> sizes;
    auto const lasts = [&](std::int64_t calls) { return clock_cost.cost_ns + calls * call_ns; };
    weft::Batch const batch = weft::calibrated(lasts(1), least_ns, clock_cost, [&](std::int64_t calls) {
        sizes.push_back(calls);
        return lasts(calls);
    });
    CHECK(batch.calls == (sizes.empty() ? 1 : sizes.back()));
    CHECK(batch.lasted_ns == lasts(batch.calls));
    return sizes;
}

} // namespace

TEST_CASE("a call that is long enough is a sample of its own") {
    CHECK(tried(400, 420).empty());
}

TEST_CASE("a short call is batched, a tenth longer than it has to be, in one step where its time is known well") {
    CHECK(tried(100, 1000) == std::vector<std::int64_t>{12});
}

TEST_CASE("a batch that is still too short at least doubles") {
    CHECK(weft::larger_batch({8, 1000}, 1001, clock_cost) == 16);
}

TEST_CASE("calls that take no time end at the most calls") {
    CHECK(tried(0, 1000).back() == weft::most_calls);
    CHECK(weft::larger_batch({weft::most_calls - 1, 0}, 1000, clock_cost) == weft::most_calls);
}
