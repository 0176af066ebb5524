// SPDX-License-Identifier: BSD-3-Clause
#include "cell/size_sweep.hpp"
#include "measured_cell.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using weft::op_at;

namespace {

MeasuredCell with_sizes(std::string const &bytes, std::string const &refine = "0") {
    return {"collective", {{"collective", "bcast"}, {"bytes", bytes}, {"refine", refine}}};
}

std::string complaint(std::string const &bytes) {
    MeasuredCell const cell = with_sizes(bytes);
    try {
        weft::sizes_of(cell.cell());
    } catch (weft::Failure const &failure) {
        return failure.what();
    }
    return "no complaint";
}

} // namespace

TEST_CASE("sizes ascend, and others are refused") {
    CHECK(weft::sizes_of(with_sizes("1 8 64").cell()) == std::vector<std::int64_t>{1, 8, 64});
    CHECK(complaint("8 8").find("bytes 8 does not ascend") != std::string::npos);
    CHECK(complaint("-1 8").find("-1 is negative") != std::string::npos);
    CHECK(complaint("").find("has no bytes") != std::string::npos);
    CHECK(complaint("many").find("not a whole number") != std::string::npos);
}

TEST_CASE("an operation is named after its size") {
    CHECK(op_at("alltoallv-linear", 1024) == "alltoallv-linear@1024");
}

TEST_CASE("the order of sizes is the launch's own, and the same on every rank") {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = 1; size < 40; ++size) {
        sizes.push_back(size);
    }
    MeasuredCell const cell = with_sizes("1");
    auto const order = weft::shuffled(cell.cell(), sizes);
    CHECK(order != sizes);
    CHECK(std::is_permutation(order.begin(), order.end(), sizes.begin()));
    for (std::int64_t const size : order) {
        CHECK(weft::min_over(cell.team().comm, size) == weft::max_over(cell.team().comm, size));
    }
}

TEST_CASE("a sweep measures its sizes in that order, not from small to large") {
    MeasuredCell const cell = with_sizes("1 2 4 8 16 32 64 128 256 512 1024 2048");
    std::vector<std::int64_t> measured;
    weft::sweep_sizes(cell.cell(), "bcast", 1, [&](std::int64_t bytes) { measured.push_back(bytes); });
    CHECK(measured == weft::shuffled(cell.cell(), weft::sizes_of(cell.cell())));
    CHECK_FALSE(std::is_sorted(measured.begin(), measured.end()));
}

TEST_CASE("refined sizes count for the memory that samples take") {
    CHECK(weft::most_sizes(with_sizes("1 8 64", "5").cell()) == 8);
}

TEST_CASE("a sweep is refined where the times of rank 0 step, on every rank alike") {
    MeasuredCell const cell = with_sizes("1024 2048 4096 8192", "3");
    std::vector<std::int64_t> measured;
    weft::sweep_sizes(cell.cell(), "bcast", 1, [&](std::int64_t bytes) {
        weft::Segment &segment = cell.cell().sampler().recorder().open(op_at("bcast", bytes), weft::Phase::warm, 1);
        segment.count = 1;
        segment.median_ns = cell.team().rank == 0 ? (bytes > 3000 ? 30'000 : 10'000) : 0;
        measured.push_back(bytes);
    });
    REQUIRE(measured.size() == 7);
    std::sort(measured.begin(), measured.begin() + 4); // the plan's own are shuffled
    CHECK(measured == std::vector<std::int64_t>{1024, 2048, 4096, 8192, 2896, 3444, 3158});
}
