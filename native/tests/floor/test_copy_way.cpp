// SPDX-License-Identifier: BSD-3-Clause
#include "floor/copy_way.hpp"
#include "host/buffer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

using namespace weft;

TEST_CASE("each way copies every byte, at sizes that are no multiple of a piece or a cache line, too") {
    for (std::size_t const bytes : {1UL, 63UL, 129UL, 4096UL, 262'144UL, 262'145UL, 1'048'576UL, 1'048'576UL + 77}) {
        Buffer const from = Buffer::make(make_team(MPI_COMM_WORLD), bytes, "from");
        Buffer const to = Buffer::make(make_team(MPI_COMM_WORLD), bytes, "to");
        for (CopyWay const &way : copy_ways(bytes)) {
            CAPTURE(bytes);
            CAPTURE(way.suffix());
            auto const copy = [&](auto... given) { way.copy(given...); };
            CHECK(prove_copy(copy, {to.data(), bytes}, {from.data(), bytes}, "rank 0", [] {}).count == 0);
        }
    }
}

TEST_CASE("a way that copies less than all bytes is found, whichever bytes it leaves out") {
    std::size_t const bytes = 4096;
    Buffer const from = Buffer::make(make_team(MPI_COMM_WORLD), bytes, "from");
    Buffer const to = Buffer::make(make_team(MPI_COMM_WORLD), bytes, "to");
    for (std::size_t const lost : {std::size_t(0), bytes / 2, bytes - 1}) {
        auto const short_of_one = [&](std::byte *target, std::byte const *source, std::size_t all) {
            std::memcpy(target, source, lost);
            std::memcpy(target + lost + 1, source + lost + 1, all - lost - 1);
        };
        Flaws const found = prove_copy(short_of_one, {to.data(), bytes}, {from.data(), bytes}, "rank 3", [] {});
        CHECK(found.count == 1);
        CHECK(found.first == "rank 3: byte " + std::to_string(lost) + " of 4096 was not copied");
    }
}

TEST_CASE("no two ways of a size have one name, and larger sizes have the ways of smaller ones, too") {
    std::set<std::string> before;
    for (std::size_t const bytes : {16'384UL, 262'145UL, 1'048'576UL, 67'108'864UL}) {
        std::set<std::string> names;
        for (CopyWay const &way : copy_ways(bytes)) {
            names.insert(way.suffix());
        }
        CHECK(names.size() == copy_ways(bytes).size());
        CHECK(names.contains(""));
        CHECK(names.contains("-in-262144") == (bytes > 262'144));
        CHECK(names.contains("-in-4096") == (bytes >= 1'048'576));
        CHECK(std::includes(names.begin(), names.end(), before.begin(), before.end()));
        before = names;
    }
}

#if defined(__x86_64__)
TEST_CASE("large copies are also tried by stores past the caches, and by the instruction for strings") {
    std::set<std::string> names;
    for (CopyWay const &way : copy_ways(1'048'576)) {
        names.insert(way.suffix());
    }
    CHECK(names.contains("-streamed"));
    CHECK(names.contains("-string"));
}
#endif

TEST_CASE("small sizes are tried more often than large ones, and each at least twice") {
    CHECK(copy_tries(1) == 30);
    CHECK(copy_tries(1'048'576) == 16);
    CHECK(copy_tries(4'194'304) == 4);
    CHECK(copy_tries(1'073'741'824) == 2);
}

TEST_CASE("the way to copy is that of the shortest time of the slowest rank, whatever disturbed a try") {
    std::vector<CopyWay> const ways{{}, {.piece = 4096}, {.piece = 8192}};
    // of each way: three tries on this rank, and the best of another rank
    std::map<std::size_t, std::vector<std::int64_t>> tries{
        {0, {900, 50, 70}}, {4096, {40, 40, 40}}, {8192, {90, 80, 60}}};
    std::map<std::int64_t, std::int64_t> const beside{{50, 55}, {40, 99}, {60, 10}};
    std::map<std::size_t, std::size_t> looked;
    auto const once = [&](CopyWay const &way) { return tries.at(way.piece).at(looked[way.piece]++); };
    auto const slowest = [&](std::int64_t mine) { return std::max(mine, beside.at(mine)); };
    CHECK(fastest_of(ways, 3, once, slowest).piece == 0);
    CHECK(looked == std::map<std::size_t, std::size_t>{{0, 3}, {4096, 3}, {8192, 3}});
}
