// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/key_source.hpp"
#include "record/npy_file.hpp"
#include "scratch_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

using namespace weft;

namespace {

std::vector<double> all_keys(KeyRequest const &request) {
    std::vector<double> keys(request.n);
    make_key_source(request)->keys(0, keys);
    return keys;
}

} // namespace

TEST_CASE("the keys of a part are the same whoever makes them") {
    for (auto const *data : {"uniform", "skewed", "reverse"}) {
        KeyRequest const request{data, 10000, 7, 1, {}};
        auto const whole = all_keys(request);
        std::vector<double> part(100);
        make_key_source(request)->keys(9900, part);
        CHECK(std::equal(part.begin(), part.end(), whole.end() - 100));
    }
}

TEST_CASE("another seed or another launch gives other keys, the same ones give the same") {
    for (auto const *data : {"uniform", "skewed"}) {
        auto const keys = all_keys({data, 1000, 7, 1, {}});
        CHECK(keys == all_keys({data, 1000, 7, 1, {}}));
        CHECK(keys != all_keys({data, 1000, 7, 2, {}}));
        CHECK(keys != all_keys({data, 1000, 8, 1, {}}));
    }
}

TEST_CASE("uniform keys fill [0, 1) evenly") {
    auto const keys = all_keys({"uniform", 100000, 1, 1, {}});
    CHECK(*std::min_element(keys.begin(), keys.end()) >= 0.0);
    CHECK(*std::max_element(keys.begin(), keys.end()) < 1.0);
    for (double const edge : {0.1, 0.5, 0.9})
        CHECK(static_cast<double>(std::count_if(keys.begin(), keys.end(), [&](double key) { return key < edge; })) ==
              doctest::Approx(edge * 100000).epsilon(0.03));
}

TEST_CASE("half of the skewed keys are 1 and a hundredth are 100 or more") {
    auto const keys = all_keys({"skewed", 100000, 1, 1, {}});
    CHECK(static_cast<double>(std::count(keys.begin(), keys.end(), 1.0)) == doctest::Approx(50000).epsilon(0.03));
    CHECK(static_cast<double>(std::count_if(keys.begin(), keys.end(), [](double key) { return key >= 100; })) ==
          doctest::Approx(1000).epsilon(0.15));
}

TEST_CASE("reverse keys descend from n to 1") {
    CHECK(all_keys({"reverse", 4, 1, 1, {}}) == std::vector<double>{4, 3, 2, 1});
}

TEST_CASE("the keys of a file are its first n") {
    ScratchFile const file(npy_bytes({3.5, 1.5, 2.5, 9.0}));
    CHECK(all_keys({"file", 4, 1, 1, file.path()}) == std::vector<double>{3.5, 1.5, 2.5, 9.0});
    CHECK(all_keys({"file", 2, 1, 1, file.path()}) == std::vector<double>{3.5, 1.5});
}

TEST_CASE("a file with fewer keys than n is refused with both numbers") {
    ScratchFile const file(npy_bytes({3.5, 1.5}));
    CHECK_THROWS_WITH_AS((void)make_key_source({"file", 5, 1, 1, file.path()}),
                         doctest::Contains("holds 2 keys where the study asks for n = 5"), KeyFileError);
}

TEST_CASE("an unknown kind of data is refused by name") {
    CHECK_THROWS_WITH((void)make_key_source({"normal", 5, 1, 1, {}}), doctest::Contains("data = \"normal\""));
}

TEST_CASE("a NaN key is refused with its place") {
    std::vector<double> keys(10000, 1.0);
    keys[8191] = std::numeric_limits<double>::quiet_NaN();
    ScratchFile const file(npy_bytes(keys));
    auto const source = make_key_source({"file", keys.size(), 1, 1, file.path()});
    CHECK_NOTHROW(refuse_nan(*source, 0, 8191));
    CHECK_NOTHROW(refuse_nan(*source, 8192, 1808));
    CHECK_THROWS_WITH_AS(refuse_nan(*source, 4000, 6000), doctest::Contains("key 8191 "), KeyFileError);
}

TEST_CASE("vectors are written from keys over the edges of the chunks") {
    std::uint64_t const m = 3;
    std::vector<double> elements(9000 * m);
    auto const source = make_key_source({"reverse", 20000, 1, 1, {}});
    write_vectors(*source, 500, {elements.data(), 9000, m});
    for (std::uint64_t i = 0; i < 9000; ++i)
        REQUIRE_FALSE(first_wrong_element({elements.data() + i * m, m}, static_cast<double>(20000 - 500 - i)));
}
