// SPDX-License-Identifier: BSD-3-Clause
#include "cell/refine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace {

using Time = std::function<double(std::int64_t)>;

/// A sweep over powers of two from 1 to 2^20.
std::vector<weft::SizePoint> octaves(Time const &time) {
    std::vector<weft::SizePoint> sweep;
    for (std::int64_t bytes = 1; bytes <= 1 << 20; bytes *= 2) {
        sweep.push_back({bytes, time(bytes)});
    }
    return sweep;
}

/// Refines until no size is left to add or `most` sizes were added; returns them in order.
std::vector<std::int64_t> refined(std::vector<weft::SizePoint> sweep, Time const &time, int most,
                                  weft::RefineRules const &rules = {}) {
    std::vector<std::int64_t> added;
    while (int(added.size()) < most) {
        auto const size = weft::next_size(sweep, rules);
        if (!size) {
            break;
        }
        added.push_back(*size);
        sweep.push_back({*size, time(*size)});
        std::sort(sweep.begin(), sweep.end(), [](auto const &a, auto const &b) { return a.bytes < b.bytes; });
    }
    return added;
}

double straight(std::int64_t bytes) {
    return 1e-6 + double(bytes) / 5e9;
}

} // namespace

TEST_CASE("latency and bandwidth alone give nothing to refine") {
    CHECK(refined(octaves(straight), straight, 10).empty());
    auto const power = [](std::int64_t bytes) { return 1e-7 * std::pow(double(bytes), 0.7); };
    CHECK(refined(octaves(power), power, 10).empty());
}

TEST_CASE("a step is closed in to an eighth of an octave, and then left alone") {
    for (std::int64_t const limit : {1500, 4096, 5000, 60'000}) {
        auto const stepped = [&](std::int64_t bytes) { return straight(bytes) * (bytes > limit ? 1.6 : 1.0); };
        auto const added = refined(octaves(stepped), stepped, 20);
        std::int64_t below = 1;
        std::int64_t above = 1 << 20;
        for (auto const &point : octaves(stepped)) {
            (point.bytes > limit ? above : below) =
                point.bytes > limit ? std::min(above, point.bytes) : std::max(below, point.bytes);
        }
        for (std::int64_t const size : added) {
            (size > limit ? above : below) = size > limit ? std::min(above, size) : std::max(below, size);
        }
        CAPTURE(limit);
        CHECK(std::log2(double(above) / double(below)) < 0.13);
        CHECK(added.size() <= 9); // three halvings, and those for the adjacent kink
    }
}

TEST_CASE("a drop is as good as a step") {
    auto const dropping = [](std::int64_t bytes) { return straight(bytes) * (bytes > 8192 ? 0.5 : 1.0); };
    auto const added = refined(octaves(dropping), dropping, 3);
    REQUIRE(added.size() == 3);
    CHECK(added[0] == 11585); // the geometric middle of 8 and 16 KiB
    CHECK(added[2] == 8933);  // 2^(13 + 1/8)
}

TEST_CASE("the largest of two steps comes first, and the budget ends it") {
    auto const twice = [](std::int64_t bytes) {
        return straight(bytes) * (bytes > 64 ? 1.3 : 1.0) * (bytes > 65536 ? 3.0 : 1.0);
    };
    auto const added = refined(octaves(twice), twice, 4);
    REQUIRE(added.size() == 4);
    CHECK(added[0] > 65536);
    CHECK(added[0] < 131072);
}

TEST_CASE("what is within the tolerance, the bend from latency to bandwidth included, is noise") {
    auto const noisy = [](std::int64_t bytes) { return straight(bytes) * (bytes % 3 == 1 ? 1.03 : 1.0); };
    CHECK(refined(octaves(noisy), noisy, 10).empty());
    weft::RefineRules strict;
    strict.tolerance = 0.01;
    CHECK_FALSE(refined(octaves(noisy), noisy, 10, strict).empty());
}

TEST_CASE("sizes are whole multiples, and never one that is there") {
    auto const stepped = [](std::int64_t bytes) { return straight(bytes) * (bytes > 16 ? 2.0 : 1.0); };
    std::vector<weft::SizePoint> sweep;
    for (std::int64_t const bytes : {8, 16, 24, 32}) {
        sweep.push_back({bytes, stepped(bytes)});
    }
    weft::RefineRules doubles;
    doubles.multiple = 8;
    CHECK_FALSE(weft::next_size(sweep, doubles).has_value()); // there is no multiple of 8 between 16 and 24
    CHECK(weft::next_size(sweep, {}).value_or(0) == 20);
}

TEST_CASE("a sweep that is too short, of no time or from 0 bytes is left alone") {
    CHECK_FALSE(weft::next_size({}, {}).has_value());
    std::vector<weft::SizePoint> const three{{0, 1.0}, {1, 5.0}, {2, 1.0}};
    CHECK(weft::deviation(three, 1) == 0);
    CHECK(weft::deviation(three, 0) == 0);
    CHECK(weft::deviation(three, 2) == 0);
    std::vector<weft::SizePoint> const timeless{{1, 0.0}, {2, 0.0}, {4, 0.0}, {8, 0.0}};
    CHECK_FALSE(weft::next_size(timeless, {}).has_value());
}
