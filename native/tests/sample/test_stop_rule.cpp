// SPDX-License-Identifier: BSD-3-Clause
#include "sample/stop_rule.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <vector>

using weft::median_ranks;

TEST_CASE("the interval of the median has the ranks of the binomial table") {
    // R: n + 1 - qbinom(0.975, n, 0.5) and tables of the sign test (Hollander & Wolfe, A.2).
    struct Known {
        std::int64_t n, low, high;
    };
    for (Known const &known : {Known{6, 1, 6}, Known{7, 1, 7}, Known{8, 1, 8}, Known{9, 2, 8}, Known{10, 2, 9},
                               Known{12, 3, 10}, Known{15, 4, 12}, Known{20, 6, 15}, Known{25, 8, 18},
                               Known{30, 10, 21}, Known{50, 18, 33}, Known{100, 40, 61}, Known{1000, 469, 532}}) {
        CAPTURE(known.n);
        auto const ranks = median_ranks(known.n);
        REQUIRE(ranks.has_value());
        CHECK(ranks->low == known.low);
        CHECK(ranks->high == known.high);
    }
}

TEST_CASE("five values have no 95 % interval of their median") {
    for (std::int64_t n = 0; n <= 5; ++n) {
        CHECK_FALSE(median_ranks(n).has_value());
    }
}

TEST_CASE("the ranks cover 95 % and the next narrower ones do not") {
    for (std::int64_t n = 6; n <= 60; ++n) {
        CAPTURE(n);
        // Exact: the sums of binomial coefficients of n <= 60 fit into 64 bits.
        std::vector<double> row(std::size_t(n) + 1, 1);
        for (std::int64_t k = 1; k <= n; ++k) {
            row[std::size_t(k)] = row[std::size_t(k - 1)] * double(n - k + 1) / double(k);
        }
        double const all = std::accumulate(row.begin(), row.end(), 0.0);
        auto const covered = [&](std::int64_t low) { // P(low <= B < n + 1 - low)
            return std::accumulate(row.begin() + low, row.begin() + (n + 1 - low), 0.0) / all;
        };
        auto const ranks = *median_ranks(n);
        CHECK(ranks.low + ranks.high == n + 1);
        CHECK(covered(ranks.low) >= 0.95);
        CHECK(covered(ranks.low + 1) < 0.95);
    }
}

TEST_CASE("the ranks of many values neither underflow nor take the wrong side") {
    // Normal approximation: n/2 -+ 0.98 sqrt(n).
    auto const ranks = median_ranks(1'000'000);
    REQUIRE(ranks.has_value());
    CHECK(ranks->low == doctest::Approx(500'000 - 980).epsilon(1e-5));
    CHECK(ranks->low + ranks->high == 1'000'001);
}

TEST_CASE("the median of an even number of values lies between the middle two") {
    std::array<std::int64_t, 4> even{4, 1, 3, 2};
    CHECK(weft::median(even) == 2);
    std::array<std::int64_t, 3> odd{9, 1, 5};
    CHECK(weft::median(odd) == 5);
    CHECK(weft::median_of_sorted({}) == 0);
    std::array<std::int64_t, 2> large{INT64_MAX - 2, INT64_MAX};
    CHECK(weft::median(large) == INT64_MAX - 1);
}

TEST_CASE("a warm-up is steady when its last five medians agree within 5 %") {
    std::vector<std::int64_t> medians{100, 102, 104, 105};
    CHECK_FALSE(weft::is_steady(medians)); // four
    medians.push_back(101);
    CHECK(weft::is_steady(medians));
    medians.back() = 106;
    CHECK_FALSE(weft::is_steady(medians));
    medians = {900, 500, 100, 100, 100, 100, 100};
    CHECK(weft::is_steady(medians)); // the first ones do not count
}

TEST_CASE("chunks grow, and end at the budget and at the most samples") {
    weft::Rules const rules{
        .precision = 0.05, .min_samples = 10, .max_samples = 100, .warmup_most = 50, .budget_ns = 0};
    CHECK(weft::next_chunk(rules, 0, 1'000'000, 10) == 10);
    CHECK(weft::next_chunk(rules, 10, 1'000'000, 10) == 6);
    CHECK(weft::next_chunk(rules, 80, 1'000'000, 10) == 20); // most samples
    CHECK(weft::next_chunk(rules, 0, 35, 10) == 3);          // what the budget allows
    CHECK(weft::next_chunk(rules, 0, -5, 10) == 1);          // one at least
    CHECK(weft::next_chunk(rules, 0, 1'000'000, 0) == 1);    // the operation is not yet known
}

TEST_CASE("samples end by precision, number or budget, and precision needs the least number of them") {
    weft::Rules const rules{.min_samples = 10, .max_samples = 20, .budget_ns = 1000};
    using weft::EndedBy;
    auto const next = [&](weft::Progress const &progress) { return weft::decide(rules, progress); };
    weft::Decision const early = next({.kept = 9, .taken = 9, .precise = true, .left_ns = 1000, .sample_ns = 1});
    CHECK(early.samples == 1);
    weft::Decision const precise = next({.kept = 10, .taken = 10, .precise = true, .left_ns = 0, .sample_ns = 1});
    CHECK(precise.samples == 0);
    CHECK(precise.ended_by == EndedBy::precision);
    weft::Decision const many = next({.kept = 20, .taken = 20, .left_ns = 0, .sample_ns = 1});
    CHECK(many.samples == 0);
    CHECK(many.ended_by == EndedBy::samples);
    weft::Decision const late = next({.kept = 0, .taken = 3, .left_ns = 0, .sample_ns = 1}); // all came late
    CHECK(late.samples == 0);
    CHECK(late.ended_by == EndedBy::budget);
    CHECK(next({.left_ns = -5, .sample_ns = 1}).samples == 1); // at least one sample
}
