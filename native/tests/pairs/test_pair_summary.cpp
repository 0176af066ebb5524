// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_summary.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using weft::Row;

namespace {

std::vector<Row> lasting(std::vector<std::int64_t> const &durations) {
    std::vector<Row> rows;
    for (std::int64_t const duration : durations) {
        rows.push_back({0, duration, 0});
    }
    return rows;
}

/// 1000, 2000 .. n x 1000 ns, the longest first.
std::vector<Row> descending(std::int64_t n) {
    std::vector<std::int64_t> durations;
    for (std::int64_t i = n; i > 0; --i) {
        durations.push_back(1000 * i);
    }
    return lasting(durations);
}

} // namespace

TEST_CASE("a summary holds the order statistics of its samples") {
    auto const rows = weft::summary_of(descending(100), 2);
    auto const holds = [&](std::size_t row, std::int64_t first, std::int64_t second) {
        CAPTURE(row);
        CHECK(rows[row].duration_ns == first);
        CHECK(rows[row].taint == second);
    };
    REQUIRE(rows.size() > 7);
    holds(0, 100, 0);
    holds(1, 1000, 5000);
    holds(2, 25'000, 50'500);
    holds(3, 75'000, 95'000);
    holds(4, 99'000, 100'000);
    holds(5, 50'500, 0);
    holds(6, 40'000, 61'000); // x(40) and x(61) hold the median of 100 with 95 %
}

TEST_CASE("the histogram counts every sample, in buckets of one way") {
    auto const rows = weft::summary_of(lasting({2048, 2048, 4096, 4100, 1 << 30}), 2);
    REQUIRE(rows.size() == 7 + 3);
    CHECK(rows[7].duration_ns == 320); // 1024 ns: log2 is 10
    CHECK(rows[7].taint == 2);
    CHECK(rows[8].duration_ns == 352);
    CHECK(rows[8].taint == 2);
    CHECK(rows[9].duration_ns == 29 * 32);
    CHECK(rows[9].taint == 1);
}

TEST_CASE("tainted samples are counted, few samples have the widest interval, none give nothing") {
    auto samples = lasting({300, 100, 200});
    samples[1].taint = 7;
    auto const rows = weft::summary_of(samples, 2);
    CHECK(rows[0].taint == 1);
    CHECK(rows[6].duration_ns == 100);
    CHECK(rows[6].taint == 300);
    CHECK(weft::summary_of({}, 2).empty());
}

TEST_CASE("what lasts less than a nanosecond falls into the first bucket") {
    CHECK(weft::log_bucket(0, 2) == 0);
    CHECK(weft::log_bucket(1, 2) == 0);
    CHECK(weft::log_bucket(4, 2) == 32);
}
