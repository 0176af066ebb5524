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
    auto const rows = weft::summary_of(descending(100), 2, weft::LostBy::delay);
    auto const holds = [&](std::size_t row, std::int64_t first, std::int64_t second) {
        CAPTURE(row);
        CHECK(rows[row].duration_ns == first);
        CHECK(rows[row].lost == second);
    };
    REQUIRE(rows.size() > 7);
    holds(0, 100, 0);
    holds(1, 1000, 5000);
    holds(2, 25'000, 50'500);
    holds(3, 75'000, 95'000);
    holds(4, 99'000, 100'000);
    holds(5, 50'500, 50'500);
    holds(6, 1000, 100'000); // all in one order: fewer than six effective samples, so no interval but the widest
}

TEST_CASE("the histogram counts every sample, in buckets of one way") {
    auto const rows = weft::summary_of(lasting({2048, 2048, 4096, 4100, 1 << 30}), 2, weft::LostBy::delay);
    REQUIRE(rows.size() == 7 + 3);
    CHECK(rows[7].duration_ns == 320); // 1024 ns: log2 is 10
    CHECK(rows[7].lost == 2);
    CHECK(rows[8].duration_ns == 352);
    CHECK(rows[8].lost == 2);
    CHECK(rows[9].duration_ns == 29 * 32);
    CHECK(rows[9].lost == 1);
}

TEST_CASE("the interval of a summary is that of its effective samples") {
    std::vector<std::int64_t> shuffled;
    for (std::int64_t i = 0; i < 100; ++i) {
        shuffled.push_back(1000 * (1 + i * 37 % 100));
    }
    auto const independent = weft::summary_of(lasting(shuffled), 2, weft::LostBy::delay);
    CHECK(independent[6].duration_ns == 40'000); // x(40) and x(61) hold the median of 100 with 95 %
    CHECK(independent[6].lost == 61'000);
    std::vector<std::int64_t> fours; // each value four times: a quarter of them is independent
    for (std::int64_t i = 0; i < 100; ++i) {
        fours.push_back(1000 * (1 + 4 * (i / 4 * 7 % 25)) + i % 4);
    }
    auto const alike = weft::summary_of(lasting(fours), 2, weft::LostBy::delay);
    CHECK(alike[6].duration_ns < 37'000);
    CHECK(alike[6].lost > 65'000);
}

TEST_CASE("a summary tells how many samples were disturbed, and their median without it") {
    auto samples = lasting({300, 100, 200});
    samples[0].lost = weft::packed_loss(120, 0); // 180 at least
    samples[1].lost = weft::packed_loss(1, 0);   // 99: one per cent is no disturbance
    auto rows = weft::summary_of(samples, 2, weft::LostBy::delay);
    CHECK(rows[0].lost == 1);
    CHECK(rows[5].lost == 180);
    rows = weft::summary_of(samples, 2, weft::LostBy::switches); // a flag: all of a sample may be lost
    CHECK(rows[0].lost == 2);
    CHECK(rows[5].lost == 0);
    samples = lasting({300, 100, 200});
    samples[2].lost = weft::packed_loss(0, 1); // nobody knows how long a fault waited
    CHECK(weft::summary_of(samples, 2, weft::LostBy::delay)[5].lost == 100);
}

TEST_CASE("few samples have the widest interval, none give nothing") {
    auto const samples = lasting({300, 100, 200});
    auto const rows = weft::summary_of(samples, 2, weft::LostBy::delay);
    CHECK(rows[6].duration_ns == 100);
    CHECK(rows[6].lost == 300);
    CHECK(weft::summary_of({}, 2, weft::LostBy::delay).empty());
}

TEST_CASE("what lasts less than a nanosecond falls into the first bucket") {
    CHECK(weft::log_bucket(0, 2) == 0);
    CHECK(weft::log_bucket(1, 2) == 0);
    CHECK(weft::log_bucket(4, 2) == 32);
}
