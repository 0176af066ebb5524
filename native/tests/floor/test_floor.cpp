// SPDX-License-Identifier: BSD-3-Clause
#include "measured_cell.hpp"

#include <doctest/doctest.h>

TEST_CASE("a latency is half of a round trip, and the empty operation is never batched") {
    MeasuredCell cell("floor", {{"copies", "4096 100001"}});
    constexpr std::int64_t calls = 7;
    cell.cell().sampler().batches().decide("latency", calls);
    weft::Validation const &validation = cell.run();
    CHECK(validation.performed);
    CHECK(validation.errors == 0);
    weft::Segment const *const empty = cell.segment("empty", weft::Phase::warm);
    REQUIRE(empty != nullptr);
    CHECK(empty->batch == 1);
    weft::Segment const *const cold = cell.segment("latency", weft::Phase::cold);
    weft::Segment const *const warm = cell.segment("latency", weft::Phase::warm);
    REQUIRE((cold != nullptr) == (cell.team().size > 1));
    if (cold != nullptr) {
        CHECK(cold->batch == 2);
        CHECK(warm->batch == 2 * calls);
    }
    CHECK(cell.segments().find("copy-4096") < cell.segments().find("copy-100001"));
}
