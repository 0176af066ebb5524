// SPDX-License-Identifier: BSD-3-Clause
#include "sample/warm_up.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

/// The batches of a warm-up whose operations last `operation_ns` each; steady after so many batches.
std::vector<std::int64_t> batches(weft::WarmUp warm_up, std::int64_t operation_ns, std::size_t steady_after) {
    std::vector<std::int64_t> taken;
    while (warm_up.batch() > 0) {
        taken.push_back(warm_up.batch());
        warm_up.ran((warm_up.operations() + taken.back()) * operation_ns, taken.size() >= steady_after);
    }
    return taken;
}

constexpr std::int64_t second = 1'000'000'000;
constexpr std::size_t never = 1000;

} // namespace

TEST_CASE("a warm-up begins with one operation, goes on in batches of five, and ends when it is steady") {
    CHECK(batches({50, second}, 1000, 4) == std::vector<std::int64_t>{1, 5, 5, 5});
}

TEST_CASE("the first operation alone is never steady") {
    CHECK(batches({50, second}, 1000, 0) == std::vector<std::int64_t>{1, 5});
}

TEST_CASE("a warm-up that is never steady ends at the most operations") {
    CHECK(batches({13, second}, 1000, never) == std::vector<std::int64_t>{1, 5, 5, 2});
    CHECK(batches({1, second}, 1000, never) == std::vector<std::int64_t>{1});
    CHECK(batches({0, second}, 1000, never).empty());
}

TEST_CASE("a warm-up of long operations takes a fifth of the budget, in batches that fit") {
    CHECK(batches({50, second}, 20'000'000, never) == std::vector<std::int64_t>{1, 2, 2, 2, 2, 2}); // 0.2 s at 20 ms
    CHECK(batches({50, second}, second, never) == std::vector<std::int64_t>{1});
}
