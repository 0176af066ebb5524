// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/count.hpp"
#include "mpi/gather.hpp"

#include <doctest/doctest.h>

TEST_CASE("a count that is no int is refused with its number, and none is cut") {
    CHECK(weft::to_count(0, "samples") == 0);
    CHECK(weft::to_count(2147483647, "samples") == 2147483647);
    CHECK_THROWS_WITH_AS(weft::to_count(2147483648, "samples"),
                         "2147483648 samples are more than the 2147483647 that one MPI call counts", weft::Failure);
    CHECK_THROWS_AS(weft::to_count(4294967297, "samples"), weft::Failure); // cut to an int it would be 1
}

TEST_CASE("texts of all ranks stand one after the other") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    std::string expected;
    for (int rank = 0; rank < team.size; ++rank) {
        expected += std::string(std::size_t(rank), '.') + std::to_string(rank);
    }
    std::string const all =
        weft::gather_texts(team, std::string(std::size_t(team.rank), '.') + std::to_string(team.rank));
    CHECK(all == (team.rank == 0 ? expected : ""));
}
