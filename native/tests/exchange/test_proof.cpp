// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/proof.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

using namespace weft;

namespace {

std::vector<double> sorted_contention(ContentionSet const &set, int rank, std::uint64_t m) {
    std::vector<double> elements(set.local() * m);
    for (std::uint64_t i = 0; i < set.local(); ++i)
        write_vector({elements.data() + i * m, m}, static_cast<double>(set.sorted_key(rank, i)));
    return elements;
}

} // namespace

TEST_CASE("the checksum does not depend on the order and sees every change of a bit") {
    std::vector<double> elements{1.0, 2.0, 3.0, -0.0};
    auto const before = checksum(elements);
    std::reverse(elements.begin(), elements.end());
    CHECK(checksum(elements) == before);
    for (auto &element : elements)
        for (int bit = 0; bit < 64; ++bit) {
            auto const kept = element;
            element = std::bit_cast<double>(std::bit_cast<std::uint64_t>(element) ^ (std::uint64_t{1} << bit));
            CHECK(checksum(elements) != before);
            element = kept;
        }
    elements[1] = elements[0]; // one lost, one doubled
    CHECK(checksum(elements) != before);
}

TEST_CASE("a correct contention set has no flaw") {
    ContentionSet const set{96, 4};
    for (int rank = 0; rank < 4; ++rank) {
        auto const elements = sorted_contention(set, rank, 5);
        CHECK(check_contention(set, rank, {elements.data(), set.local(), 5}).count == 0);
    }
}

TEST_CASE("a wrong key is counted and described by rank, block and vector") {
    ContentionSet const set{16 * 20, 4};
    auto elements = sorted_contention(set, 3, 2);
    elements[(2 * set.block() + 17) * 2] = 41;
    auto const flaws = check_contention(set, 3, {elements.data(), set.local(), 2});
    CHECK(flaws.count == 1);
    CHECK(flaws.first == "rank 3: vector 17 of block 2 holds key 41, expected 298");
}

TEST_CASE("a wrong last bit of a later element is found and described") {
    ContentionSet const set{48, 4};
    auto elements = sorted_contention(set, 1, 4);
    elements[4 * 4 + 3] += 1;
    auto const flaws = check_contention(set, 1, {elements.data(), set.local(), 4});
    CHECK(flaws.count == 1);
    CHECK(flaws.first == "rank 1: element 3 of vector 1 of block 1 is 18.75, expected 17.75");
}

TEST_CASE("an exchange that did nothing is found in every vector") {
    ContentionSet const set{48, 4};
    std::vector<double> unsorted(set.local());
    write_unsorted(set, 0, {unsorted.data(), set.local(), 1});
    CHECK(check_contention(set, 0, {unsorted.data(), set.local(), 1}).count == 9);
}

TEST_CASE("a wrong integer of call B is counted and described") {
    ContentionSet const set{48, 4};
    std::vector<int> received(set.local());
    for (std::size_t i = 0; i < received.size(); ++i)
        received[i] = static_cast<int>(set.sorted_key(2, i));
    CHECK(check_integers(set, 2, received).count == 0);
    received[4] = -1;
    auto const flaws = check_integers(set, 2, received);
    CHECK(flaws.count == 1);
    CHECK(flaws.first == "rank 2: call B: integer 1 of block 1 is -1, expected 29");
}

TEST_CASE("the integers that call B sends arrive as the integers that it must hold") {
    ContentionSet const set{48, 4};
    for (int to = 0; to < 4; ++to) {
        std::vector<int> received;
        for (int from = 0; from < 4; ++from) {
            std::vector<int> sent(set.local());
            write_integers(set, from, sent);
            auto const begin = sent.begin() + static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(to) * set.block());
            received.insert(received.end(), begin, begin + static_cast<std::ptrdiff_t>(set.block()));
        }
        CHECK(check_integers(set, to, received).count == 0);
    }
}

TEST_CASE("keys out of order, NaN keys and strange elements are flaws of a sorted array") {
    std::vector<double> elements{1, 1.5, 2, 2.5, 3, 3.5};
    ConstVectors const sorted{elements.data(), 3, 2};
    CHECK(check_sorted(0, sorted).count == 0);
    elements[2] = 0;
    elements[3] = 0.5;
    CHECK(check_sorted(5, sorted).count == 1);
    CHECK(check_sorted(5, sorted).first == "rank 5: vector 1 holds key 0 after key 1");
    elements[2] = std::numeric_limits<double>::quiet_NaN();
    CHECK(check_sorted(0, sorted).count >= 2);
    elements[2] = 2;
    elements[3] = 2.25;
    CHECK(check_sorted(5, sorted).first == "rank 5: element 1 of vector 1 is 2.25, expected 2.5 beside key 2");
    CHECK(check_sorted(0, {nullptr, 0, 2}).count == 0);
}
