// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

using namespace weft;

namespace {

/// Merges the runs as vectors of length m and returns the keys; checks that the vectors stayed whole.
std::vector<double> merged(std::vector<std::vector<double>> const &runs, std::uint64_t m) {
    std::vector<double> from;
    std::vector<std::uint64_t> begins{0};
    for (auto const &run : runs) {
        for (double const key : run) {
            from.resize(from.size() + m);
            write_vector({from.data() + from.size() - m, m}, key);
        }
        begins.push_back(from.size() / m);
    }
    std::vector<double> to(from.size(), -1.0);
    LoserTree tree(static_cast<int>(runs.size()));
    tree.merge({from.data(), begins.back(), m}, begins, {to.data(), begins.back(), m});
    std::vector<double> keys;
    for (std::uint64_t i = 0; i < begins.back(); ++i) {
        keys.push_back(to[i * m]);
        CHECK_FALSE(first_wrong_element({to.data() + i * m, m}, keys.back()));
    }
    return keys;
}

} // namespace

TEST_CASE("any number of sorted runs become one") {
    std::mt19937_64 random(2);
    for (int runs = 1; runs <= 17; ++runs)
        for (std::uint64_t m : {1, 3}) {
            std::vector<std::vector<double>> input(static_cast<std::size_t>(runs));
            std::vector<double> all;
            for (auto &run : input) {
                run.resize(random() % 40 < 10 ? 0 : random() % 60);
                for (auto &key : run)
                    key = static_cast<double>(random() % 30);
                std::sort(run.begin(), run.end());
                all.insert(all.end(), run.begin(), run.end());
            }
            std::sort(all.begin(), all.end());
            CHECK(merged(input, m) == all);
        }
}

TEST_CASE("runs that are all empty merge to nothing") {
    CHECK(merged({{}, {}, {}}, 1).empty());
    CHECK(merged({{}}, 4).empty());
}

TEST_CASE("infinite keys are not taken for the end of a run") {
    auto const inf = std::numeric_limits<double>::infinity();
    CHECK(merged({{inf, inf}, {1}, {}, {-inf, inf}}, 1) == std::vector<double>{-inf, 1, inf, inf, inf});
}

TEST_CASE("NaNs that a broken exchange delivers never make the merge read outside of its runs") {
    std::mt19937_64 random(6);
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    for (int round = 0; round < 200; ++round) {
        std::vector<double> from(1 + random() % 60);
        std::vector<std::uint64_t> begins{0};
        for (std::size_t i = 0; i < from.size(); ++i) {
            from[i] = random() % 3 == 0 ? nan : static_cast<double>(i);
            if (random() % 5 == 0)
                begins.push_back(i);
        }
        begins.push_back(from.size());
        std::vector<double> to(from.size(), -1.0);
        LoserTree tree(static_cast<int>(begins.size() - 1));
        tree.merge({from.data(), from.size(), 1}, begins, {to.data(), to.size(), 1});
        // Every vector once: each number below its length, and as many NaNs as before.
        CHECK(std::count_if(to.begin(), to.end(), [](double key) { return key != key; }) ==
              std::count_if(from.begin(), from.end(), [](double key) { return key != key; }));
        for (std::size_t i = 0; i < from.size(); ++i)
            if (from[i] == from[i])
                CHECK(std::count(to.begin(), to.end(), from[i]) == 1);
    }
}

TEST_CASE("equal keys come in the order of their runs") {
    // Vectors of two elements, the second of which is the run.
    std::vector<double> const from{5, 0, 5, 0, 5, 1, 6, 1, 5, 2};
    std::vector<std::uint64_t> const begins{0, 2, 4, 5};
    std::vector<double> to(from.size());
    LoserTree tree(3);
    tree.merge({from.data(), 5, 2}, begins, {to.data(), 5, 2});
    CHECK(to == std::vector<double>{5, 0, 5, 0, 5, 1, 5, 2, 6, 1});
}

TEST_CASE("a tree can be used again") {
    std::vector<double> const from{2, 4, 1, 3};
    std::vector<double> to(4);
    LoserTree tree(2);
    std::vector<std::uint64_t> const begins{0, 2, 4};
    for (int round = 0; round < 3; ++round) {
        std::fill(to.begin(), to.end(), 0.0);
        tree.merge({from.data(), 4, 1}, begins, {to.data(), 4, 1});
        CHECK(to == std::vector<double>{1, 2, 3, 4});
    }
}
