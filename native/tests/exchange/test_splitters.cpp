// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/splitters.hpp"
#include "virtual_span.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace weft;

namespace {

/// The whole sample sort of p ranks in one process without MPI: the final arrays of all ranks.
struct SortedByRanks {
    std::vector<std::vector<double>> received;
    std::uint64_t most = 0;
    std::uint64_t bound = 0;
};

SortedByRanks sort_on_ranks(std::vector<double> const &keys, int p) {
    Sampling const sampling{Share{keys.size(), p}};
    auto const &share = sampling.share;
    std::vector<std::vector<double>> sorted(static_cast<std::size_t>(p));
    std::vector<KeyPlace> samples;
    for (int rank = 0; rank < p; ++rank) {
        auto const begin = keys.begin() + static_cast<std::ptrdiff_t>(share.first(rank));
        auto &mine = sorted[static_cast<std::size_t>(rank)];
        mine.assign(begin, begin + static_cast<std::ptrdiff_t>(share.count(rank)));
        std::sort(mine.begin(), mine.end());
        std::vector<KeyPlace> taken(sampling.count(rank));
        take_samples(sampling, rank, {mine.data(), mine.size(), 1}, taken);
        samples.insert(samples.end(), taken.begin(), taken.end());
    }
    REQUIRE(samples.size() == sampling.total());
    std::vector<Splitter> splitters(static_cast<std::size_t>(p - 1));
    choose_splitters(samples, splitters);
    SortedByRanks result{std::vector<std::vector<double>>(static_cast<std::size_t>(p)), 0, sampling.receive_bound()};
    std::vector<std::uint64_t> begins(static_cast<std::size_t>(p) + 1);
    for (int rank = 0; rank < p; ++rank) {
        auto const &mine = sorted[static_cast<std::size_t>(rank)];
        find_blocks(splitters, {mine.data(), mine.size(), 1}, share.first(rank), begins);
        REQUIRE(std::is_sorted(begins.begin(), begins.end()));
        for (std::size_t to = 0; to < result.received.size(); ++to)
            result.received[to].insert(result.received[to].end(),
                                       mine.begin() + static_cast<std::ptrdiff_t>(begins[to]),
                                       mine.begin() + static_cast<std::ptrdiff_t>(begins[to + 1]));
    }
    for (auto &array : result.received) {
        std::sort(array.begin(), array.end());
        result.most = std::max<std::uint64_t>(result.most, array.size());
    }
    return result;
}

void check_sorted_within_bound(std::vector<double> keys, int p) {
    auto const result = sort_on_ranks(keys, p);
    CHECK(result.most <= result.bound);
    std::vector<double> joined;
    for (auto const &array : result.received)
        joined.insert(joined.end(), array.begin(), array.end());
    std::sort(keys.begin(), keys.end());
    CHECK(joined == keys);
}

} // namespace

TEST_CASE("no rank ever receives more than the bound, whatever the keys and however p divides n") {
    std::mt19937_64 random(3);
    std::vector<std::function<double(std::size_t, std::size_t)>> const kinds{
        [&](std::size_t, std::size_t) { return static_cast<double>(random() % 1000000); },
        [&](std::size_t, std::size_t) { return static_cast<double>(random() % 3); },
        [](std::size_t, std::size_t) { return 1.0; },
        [](std::size_t i, std::size_t) { return static_cast<double>(i); },
        [](std::size_t i, std::size_t n) { return static_cast<double>(n - i); },
        [](std::size_t i, std::size_t n) { return i < n / 2 ? 0.0 : static_cast<double>(i); },
        [](std::size_t i, std::size_t) { return i % 2 == 0 ? -std::numeric_limits<double>::infinity() : 1e300; },
    };
    for (int p : {1, 2, 3, 4, 7, 16})
        for (std::size_t n : {1, 2, 3, 5, 16, 17, 100, 255, 1024, 4099, 20011})
            for (auto const &key : kinds) {
                std::vector<double> keys(n);
                for (std::size_t i = 0; i < n; ++i)
                    keys[i] = key(i, n);
                CAPTURE(p);
                CAPTURE(n);
                check_sorted_within_bound(keys, p);
            }
}

TEST_CASE("small widths are cut evenly too: random small cases hold the bound") {
    std::mt19937_64 random(4);
    for (int round = 0; round < 400; ++round) {
        std::vector<double> keys(1 + random() % 300);
        for (auto &key : keys)
            key = static_cast<double>(random() % (1 + random() % 40));
        check_sorted_within_bound(keys, static_cast<int>(1 + random() % 20));
    }
}

TEST_CASE("the bound stays within two shares and is close to one where samples are many") {
    for (int p : {1, 2, 4, 8, 64, 288, 1024, 4096}) {
        std::uint64_t const share = 1 << 20;
        Sampling const sampling{Share{share * static_cast<std::uint64_t>(p), p}};
        CHECK(sampling.receive_bound() >= share);
        CHECK(sampling.receive_bound() <= 2 * share + static_cast<std::uint64_t>(p));
        if (p <= 64)
            CHECK(sampling.receive_bound() <= share + share / 15);
    }
}

TEST_CASE("equal keys are spread evenly over the ranks") {
    auto const result = sort_on_ranks(std::vector<double>(8000, 3.0), 8);
    for (auto const &array : result.received)
        CHECK(array.size() == doctest::Approx(1000).epsilon(0.01));
}

TEST_CASE("fewer vectors than ranks leave some ranks with nothing") {
    auto const result = sort_on_ranks({5, 1, 3}, 8);
    CHECK(result.most == 1);
    CHECK(result.bound == 1);
}

TEST_CASE("the samples of a rank are as many as the sampling says and the last one of each width") {
    Sampling const sampling{Share{1000000, 2}};
    REQUIRE(sampling.width() == 15625);
    std::vector<double> keys(500000);
    std::iota(keys.begin(), keys.end(), 0.0);
    std::vector<KeyPlace> samples(sampling.count(1));
    REQUIRE(samples.size() == 32);
    take_samples(sampling, 1, {keys.data(), keys.size(), 1}, samples);
    CHECK(samples[0].key == 15624);
    CHECK(samples[0].place == 515624);
    CHECK(samples[31].key == 499999);
}

TEST_CASE("a splitter among equal keys cuts at its place") {
    std::vector<double> const keys{1, 2, 2, 2, 2, 3};
    ConstVectors const sorted{keys.data(), keys.size(), 1};
    CHECK(vectors_before({2, 0}, sorted, 100) == 1);
    CHECK(vectors_before({2, 103}, sorted, 100) == 3);
    CHECK(vectors_before({2, 900}, sorted, 100) == 5);
    CHECK(vectors_before({0, 900}, sorted, 100) == 0);
    CHECK(vectors_before({9, 0}, sorted, 100) == 6);
    CHECK(vectors_before({-std::numeric_limits<double>::infinity(), 0}, sorted, 0) == 0);
}

TEST_CASE("blocks are found in an array of more than 2^32 vectors") {
    std::uint64_t const count = (std::uint64_t{1} << 32) + 12345;
    VirtualSpan const span(count); // reads as zeros: all keys are equal, places decide
    ConstVectors const sorted{span.data(), count, 1};
    std::uint64_t const first = std::uint64_t{1} << 40;
    std::uint64_t const cut = (std::uint64_t{1} << 32) + 17;
    std::vector<Splitter> const splitters{{0.0, first + 5}, {0.0, first + cut}};
    std::vector<std::uint64_t> begins(4);
    find_blocks(splitters, sorted, first, begins);
    CHECK(begins == std::vector<std::uint64_t>{0, 5, cut, count});
}
