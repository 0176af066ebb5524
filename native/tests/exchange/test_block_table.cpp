// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/block_table.hpp"
#include "mpi/team.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

using namespace weft;

namespace {

/// Blocks from `from` to `to`: some empty, all of different sizes.
std::uint64_t block_size(int from, int to) {
    return static_cast<std::uint64_t>((from * 5 + to * 3) % 4);
}

/// Rank r sends vectors of three doubles that identify sender, receiver and position.
void check_blocks_arrive(bool wide) {
    auto const team = make_team(MPI_COMM_WORLD);
    std::vector<std::uint64_t> begins{0};
    std::vector<double> sent;
    for (int to = 0; to < team.size; ++to) {
        begins.push_back(begins.back() + block_size(team.rank, to));
        for (std::uint64_t i = 0; i < block_size(team.rank, to); ++i)
            sent.insert(sent.end(), {double(team.rank), double(to), double(i)});
    }
    BlockTable table(team.size, wide);
    table.set_send(begins);
    table.forget_received();
    table.exchange_counts(team.comm);
    std::vector<std::uint64_t> received_begins(begins.size());
    table.place_received(received_begins);
    std::vector<double> received(received_begins.back() * 3, -1.0);
    auto const type = vector_type(3);
    table.exchange_blocks(sent.data(), received.data(), type, team.comm);

    std::vector<double> expected;
    for (int from = 0; from < team.size; ++from) {
        CHECK(received_begins[static_cast<std::size_t>(from)] * 3 == expected.size());
        for (std::uint64_t i = 0; i < block_size(from, team.rank); ++i)
            expected.insert(expected.end(), {double(from), double(team.rank), double(i)});
    }
    CHECK(received == expected);
}

} // namespace

TEST_CASE("unequal and empty blocks arrive in the order of their senders") {
    check_blocks_arrive(false);
}

#if MPI_VERSION >= 4
TEST_CASE("so they do with counts of 64 bits") {
    check_blocks_arrive(true);
}
#else
TEST_CASE("a wide table is never used where MPI has no large counts") {
    auto const team = make_team(MPI_COMM_WORLD);
    BlockTable table(team.size, true);
    table.set_equal(1);
    table.exchange_counts(team.comm); // an MPI_Alltoall of one MPI_COUNT needs no MPI 4
    std::vector<double> array(static_cast<std::size_t>(team.size));
    CHECK_THROWS_WITH(table.exchange_blocks(array.data(), array.data(), MPI_DOUBLE, team.comm),
                      doctest::Contains("MPI 4"));
}
#endif

TEST_CASE("equal blocks need no call A") {
    auto const team = make_team(MPI_COMM_WORLD);
    BlockTable table(team.size, false);
    table.set_equal(2);
    std::vector<int> sent(2 * static_cast<std::size_t>(team.size), team.rank);
    std::vector<int> received(sent.size(), -1);
    table.exchange_blocks(sent.data(), received.data(), MPI_INT, team.comm);
    for (std::size_t i = 0; i < received.size(); ++i)
        CHECK(received[i] == static_cast<int>(i / 2));
}

TEST_CASE("forgotten counts read as nothing received") {
    BlockTable table(3, false);
    table.set_equal(7);
    std::vector<std::uint64_t> begins(4);
    table.place_received(begins);
    CHECK(begins == std::vector<std::uint64_t>{0, 7, 14, 21});
    table.forget_received();
    table.place_received(begins);
    CHECK(begins == std::vector<std::uint64_t>{0, 0, 0, 0});
}

TEST_CASE("an array that an int cannot count is refused under MPI 3 and taken under MPI 4") {
    constexpr std::uint64_t most = INT_MAX;
    CHECK(BlockTable::refusal(most, 1, 3).empty());
    CHECK(BlockTable::refusal(most + 1, 1, 3).find("2147483648 vectors") != std::string::npos);
    CHECK(BlockTable::refusal(most + 1, 1, 3).find("MPI_Alltoallv_c") != std::string::npos);
    CHECK(BlockTable::refusal(most + 1, 1, 4).empty());
    CHECK(BlockTable::refusal(1, most, 3).empty());
    CHECK(BlockTable::refusal(1, most + 1, 4).find("smaller m") != std::string::npos);
    CHECK_FALSE(BlockTable::needs_wide(most));
    CHECK(BlockTable::needs_wide(most + 1));
}

TEST_CASE("places beyond 2^31 stay what they are in a wide table") {
    BlockTable table(3, true);
    table.set_equal(std::uint64_t{3} << 30);
    std::vector<std::uint64_t> begins(4);
    table.place_received(begins);
    CHECK(begins[2] == std::uint64_t{6} << 30);
    CHECK(begins[3] == std::uint64_t{9} << 30);
}

TEST_CASE("the bytes of a table are four arrays of p") {
    CHECK(BlockTable::bytes(288, false) == 4 * 4 * 288);
    CHECK(BlockTable::bytes(288, true) == 4 * 8 * 288);
}
