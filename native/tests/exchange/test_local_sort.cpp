// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/local_sort.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

using namespace weft;

namespace {

std::vector<double> sorted_by_weft(std::vector<double> const &keys, std::uint64_t m) {
    std::vector<double> from(keys.size() * m);
    std::vector<double> to(from.size(), -1.0);
    for (std::size_t i = 0; i < keys.size(); ++i)
        write_vector({from.data() + i * m, m}, keys[i]);
    std::vector<KeyPlace> index(index_entries(keys.size(), m));
    sort_vectors({from.data(), keys.size(), m}, {to.data(), keys.size(), m}, index);
    return to;
}

} // namespace

TEST_CASE("the local sort puts whole vectors in the order of their keys") {
    std::mt19937_64 random(1);
    for (std::uint64_t m : {1, 2, 7, 64})
        for (std::size_t count : {0, 1, 2, 3, 1000}) {
            std::vector<double> keys(count);
            for (auto &key : keys)
                key = static_cast<double>(random() % 50) - 25;
            auto const result = sorted_by_weft(keys, m);
            std::sort(keys.begin(), keys.end());
            for (std::size_t i = 0; i < count; ++i)
                CHECK_FALSE(first_wrong_element({result.data() + i * m, m}, keys[i]));
        }
}

TEST_CASE("vectors with equal keys keep their order") {
    std::vector<double> const from{2, 0, 1, 1, 2, 2, 1, 3};
    std::vector<double> to(from.size());
    std::vector<KeyPlace> index(4);
    sort_vectors({from.data(), 4, 2}, {to.data(), 4, 2}, index);
    CHECK(to == std::vector<double>{1, 1, 1, 3, 2, 0, 2, 2});
}

TEST_CASE("infinite keys are sorted like any other") {
    auto const inf = std::numeric_limits<double>::infinity();
    CHECK(sorted_by_weft({3, inf, -inf, 0, inf}, 1) == std::vector<double>{-inf, 0, 3, inf, inf});
}
