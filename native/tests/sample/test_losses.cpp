// SPDX-License-Identifier: BSD-3-Clause
#include "host/busy_time.hpp"
#include "sample/losses.hpp"

#include <doctest/doctest.h>

#include <limits>

using weft::LostBy;
using weft::platform::Usage;

TEST_CASE("a loss holds nanoseconds and faults apart") {
    CHECK(weft::lost_between({5, 0, 7}, {5, 0, 7}) == 0);
    std::int64_t const lost = weft::lost_between(Usage{5, 0, 7}, Usage{1'000'005, 0, 9});
    CHECK(weft::lost_of(lost) == 1'000'000);
    CHECK(weft::faults_of(lost) == 2);
    std::int64_t const switched = weft::lost_of(weft::lost_between({0, 3, 0}, {0, 8, 0}));
    CHECK(switched == (weft::platform::knows_delay() ? 0 : 5)); // only where nothing else is known
    std::int64_t const most = weft::packed_loss(std::int64_t{1} << 60, std::int64_t{1} << 60);
    CHECK(most == std::numeric_limits<std::int64_t>::max());
    CHECK(weft::packed_loss(-1, -1) == 0);
    std::int64_t const both = weft::both_losses(weft::packed_loss(20, 1), weft::packed_loss(3, 4));
    CHECK(weft::lost_of(both) == 23);
    CHECK(weft::faults_of(both) == 5);
}

TEST_CASE("a sample has lost what is known, and all of itself where no length is known") {
    CHECK(weft::most_lost_ns({0, 100, weft::packed_loss(7, 0)}, LostBy::delay) == 7);
    CHECK(weft::most_lost_ns({0, 100, weft::packed_loss(7, 0)}, LostBy::others) == 7);
    CHECK(weft::most_lost_ns({0, 100, weft::packed_loss(7, 1)}, LostBy::delay) == 100);
    CHECK(weft::most_lost_ns({0, 100, weft::packed_loss(7, 0)}, LostBy::switches) == 100);
    CHECK(weft::most_lost_ns({0, 100, 0}, LostBy::switches) == 0);
}

TEST_CASE("cores are busy with processes, and with interrupts only where the kernel counts them as such") {
    constexpr char const *by_ticks = "cpu  60 0 30 900 5 0 12 3 0 0\n"
                                     "cpu0 10 1 20 300 1 0 4 1 0 0\n"
                                     "cpu1 20 0 5 300 2 0 8 1 0 0\n"
                                     "cpu10 30 0 5 300 2 0 0 1 0 0\n"
                                     "intr 12345\n";
    CHECK(weft::busy_ticks(by_ticks, {0}) == 35);
    CHECK(weft::busy_ticks(by_ticks, {0, 1}) == 68);
    CHECK(weft::busy_ticks(by_ticks, {10}) == 35);
    CHECK(weft::busy_ticks(by_ticks, {}) == 0);
    constexpr char const *apart = "cpu  60 0 30 900 5 9 12 3 0 0\ncpu0 10 1 20 300 1 9 4 1 0 0\n";
    CHECK(weft::busy_ticks(apart, {0}) == 31);
}

TEST_CASE("a rank that waits for a processor, and does not yield it, is delayed") {
    if (!weft::platform::knows_delay()) {
        MESSAGE("this kernel has no schedstat");
        return;
    }
    Usage const before = weft::platform::usage();
    for (std::int64_t const until = weft::platform::now_ns() + 20'000'000; weft::platform::now_ns() < until;) {
    }
    Usage const after = weft::platform::usage();
    CHECK(after.delay_ns >= before.delay_ns);
    CHECK(weft::platform::own_time_ns() > 0);
}
