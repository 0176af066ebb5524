// SPDX-License-Identifier: BSD-3-Clause
#include "cell/node_report.hpp"
#include "host/platform.hpp"

#include <doctest/doctest.h>

TEST_CASE("a slow node does not hold up its peers while it measures its pace") {
    auto const slow = [](std::size_t) { weft::platform::sleep_ns(20'000'000); };
    CHECK(weft::times_of(12, 50'000'000, slow).size() == 4);
    CHECK(weft::times_of(3, 50'000'000, slow).size() == 3);
    CHECK(weft::times_of(12, 10'000'000'000, [](std::size_t) {}).size() == 12);
}

TEST_CASE("a node measures its pace") {
    weft::OwnPace const pace = weft::measure_own_pace();
    CHECK(pace.copy_ns > 0);
    CHECK(pace.loop_ns > 0);
}
