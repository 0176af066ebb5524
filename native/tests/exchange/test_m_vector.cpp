// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/m_vector.hpp"
#include "virtual_span.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace weft;

TEST_CASE("the first element of a vector is its key and the others follow from it") {
    std::vector<double> vector(4);
    write_vector(vector, 41.0);
    CHECK(vector == std::vector<double>{41.0, 41.25, 41.5, 41.75});
}

TEST_CASE("a key of minus zero keeps its sign") {
    std::vector<double> vector(1);
    write_vector(vector, -0.0);
    CHECK(same_bits(vector[0], -0.0));
}

TEST_CASE("a wrong element of a vector is named") {
    std::vector<double> vector(300);
    write_vector(vector, 7.0);
    CHECK_FALSE(first_wrong_element(vector, 7.0));
    vector[299] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(vector[299]) ^ 1);
    CHECK(first_wrong_element(vector, 7.0) == 299);
    CHECK(first_wrong_element(vector, 8.0) == 0);
}

TEST_CASE("the bytes of an array are counted in 64 bits and an overflow is seen") {
    CHECK(array_bytes(0, 512) == 0);
    CHECK(array_bytes(1492992 / 8, 512) == 764411904);
    CHECK(array_bytes(std::uint64_t{1} << 31, 3) == std::uint64_t{51539607552});
    CHECK(array_bytes(std::uint64_t{1} << 61, 1) == std::nullopt);
    CHECK(array_bytes(std::uint64_t{1} << 40, std::uint64_t{1} << 40) == std::nullopt);
}

TEST_CASE("vectors beyond 2^32 elements and 2^35 bytes are where they should be") {
    std::uint64_t const m = 3;
    std::uint64_t const count = (std::uint64_t{1} << 32) / m + 1000; // just over 2^32 doubles, 32 GiB of addresses
    VirtualSpan const span(count * m);
    Vectors const vectors{span.data(), count, m};
    auto const last = count - 1;
    REQUIRE(vectors.offset(last) > (std::uint64_t{1} << 32));
    write_vector(vectors[last], 5.0);
    CHECK(span.data()[last * m] == 5.0);
    CHECK(vectors.key(last) == 5.0);
    CHECK(reinterpret_cast<char const *>(vectors[last].data()) - reinterpret_cast<char const *>(span.data()) ==
          static_cast<std::ptrdiff_t>(last * m * 8));
    // A 32-bit offset would have written near the beginning.
    CHECK(vectors.key((vectors.offset(last) & 0xffffffff) / m) == 0.0);
    CHECK(vectors.elements().size() == count * m);
}
