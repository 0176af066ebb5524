// SPDX-License-Identifier: BSD-3-Clause
#include "collective/block_pattern.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using weft::BlockPattern;

TEST_CASE("the largest block of every pattern is the size that was asked for") {
    for (auto const *name : {"equal", "linear", "heavy"}) {
        BlockPattern const pattern(name, 4);
        std::int64_t most = 0;
        for (int from = 0; from < 4; ++from) {
            for (int to = 0; to < 4; ++to) {
                std::int64_t const bytes = pattern.block(from, to, 1000, 8);
                CHECK(bytes % 8 == 0);
                CHECK(bytes <= 1000);
                most = std::max(most, bytes);
            }
        }
        CHECK(most == 1000);
    }
}

TEST_CASE("linear grows with the receiver, heavy differs by the sender") {
    BlockPattern const linear("linear", 4);
    CHECK(linear.block(3, 0, 400, 1) == 100);
    CHECK(linear.block(0, 2, 400, 1) == 300);
    BlockPattern const heavy("heavy", 4);
    CHECK(heavy.block(0, 3, 400, 1) == 400);
    CHECK(heavy.block(3, 0, 400, 1) == 50);
    CHECK(heavy.block(3, 0, 7, 1) == 0);
}

TEST_CASE("a matrix of bytes is sent as it stands when the size is its largest, and scales with other sizes") {
    BlockPattern const matrix("matrix", 2, {0, 4096, 1 << 20, 7});
    CHECK(matrix.block(0, 1, 1 << 20, 1) == 4096);
    CHECK(matrix.block(1, 1, 1 << 20, 1) == 7);
    CHECK(matrix.block(0, 1, 1 << 10, 1) == 4);
    CHECK(matrix.block(0, 0, 1 << 20, 1) == 0);
    BlockPattern const large("matrix", 2, {std::int64_t{1} << 50, 1, 1, 1});
    CHECK(large.block(0, 0, std::int64_t{1} << 40, 1) == std::int64_t{1} << 40); // the product needs 128 bits
}

TEST_CASE("patterns that are none are refused with what is wrong") {
    CHECK_THROWS_WITH_AS(BlockPattern("random", 2), doctest::Contains("random"), std::invalid_argument);
    CHECK_THROWS_WITH_AS(BlockPattern("matrix", 2, {1, 2, 3}), doctest::Contains("3 weights for 2 ranks"),
                         std::invalid_argument);
    CHECK_THROWS_AS(BlockPattern("matrix", 1, {0}), std::invalid_argument);
    CHECK_THROWS_AS(BlockPattern("matrix", 2, {1, 2, -3, 4}), std::invalid_argument);
}
