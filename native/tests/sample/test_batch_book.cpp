// SPDX-License-Identifier: BSD-3-Clause
#include "sample/batch_book.hpp"

#include <doctest/doctest.h>

using weft::BatchBook;

TEST_CASE("what the first launch decided is what the later ones read") {
    BatchBook first;
    CHECK_FALSE(first.is_new());
    first.decide("alltoall@8", 64);
    first.decide("alltoall@8", 3); // this choice is kept
    first.decide("barrier", 1);
    CHECK(first.is_new());
    BatchBook const later = BatchBook::parse(first.text("run1 abc"), "run1 abc");
    CHECK(later.of("alltoall@8") == 64);
    CHECK(later.of("barrier") == 1);
    CHECK_FALSE(later.of("alltoall@16").has_value());
    CHECK_FALSE(later.is_new());
}

TEST_CASE("a book of another run, of other parameters, torn or senseless is none") {
    BatchBook book;
    book.decide("A", 64);
    std::string const text = book.text("run1 abc");
    CHECK(BatchBook::parse(text, "run1 abc").of("A") == 64);
    CHECK_FALSE(BatchBook::parse(text, "run2 abc").of("A").has_value());
    CHECK_FALSE(BatchBook::parse(text, "run1 abd").of("A").has_value());
    CHECK_FALSE(BatchBook::parse("", "run1 abc").of("A").has_value());
    CHECK_FALSE(BatchBook::parse("weft-batches 1\nrun1 abc\nA 64\nB x", "run1 abc").of("A").has_value());
    CHECK_FALSE(BatchBook::parse("weft-batches 1\nrun1 abc\nA 0\n", "run1 abc").of("A").has_value());
    CHECK_FALSE(BatchBook::parse("weft-batches 1\nrun1 abc\nA 99999999\n", "run1 abc").of("A").has_value());
}
