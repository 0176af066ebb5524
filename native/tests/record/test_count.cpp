// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/agree.hpp"
#include "mpi/count.hpp"

#include <doctest/doctest.h>

TEST_CASE("a count that is no int is refused with its number, and none is cut") {
    CHECK(weft::to_count(0, "samples") == 0);
    CHECK(weft::to_count(2147483647, "samples") == 2147483647);
    CHECK_THROWS_WITH_AS(weft::to_count(2147483648, "samples"),
                         "2147483648 samples are more than the 2147483647 that one MPI call counts", weft::Failure);
    CHECK_THROWS_AS(weft::to_count(4294967297, "samples"), weft::Failure); // cut to an int it would be 1
}

TEST_CASE("texts of all ranks are in the order of the ranks") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    std::vector<std::string> expected;
    for (int rank = 0; rank < team.size; ++rank) {
        expected.push_back(std::string(std::size_t(rank), '.') + std::to_string(rank));
    }
    std::string const mine = std::string(std::size_t(team.rank), '.') + std::to_string(team.rank);
    CHECK(weft::texts_on_rank_0(team, mine) == (team.rank == 0 ? expected : std::vector<std::string>{}));
    CHECK(weft::all_texts(team, mine) == expected);
}
