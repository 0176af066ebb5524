// SPDX-License-Identifier: BSD-3-Clause
#include "collective/neighbors.hpp"
#include "measured_cell.hpp"

#include <doctest/doctest.h>

#include <string>

using Values = MeasuredCell::Values;

/// Calls of MPI_Neighbor_alltoall: the public name is the tests' own here.
static int neighbor_calls = 0;

extern "C" int MPI_Neighbor_alltoall(void const *from, int sent, MPI_Datatype type, void *to, int received,
                                     MPI_Datatype into, MPI_Comm comm) {
    ++neighbor_calls;
    return PMPI_Neighbor_alltoall(from, sent, type, to, received, into, comm);
}

namespace {

/// Each rank sends to the next one and to the one after it, but not to itself.
std::string ring(int ranks) {
    std::string weights;
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            int const ahead = (to - from + ranks) % ranks;
            weights += ahead == 1 || (ahead == 2 && ranks > 2) || ranks == 1 ? "1 " : "0 ";
        }
    }
    return weights;
}

MeasuredCell neighbors(Values more) {
    more.insert({{"collective", "alltoallv"}, {"bytes", "8 1000"}, {"form", "neighbor"}, {"pattern", "random"}});
    return {"collective", std::move(more)};
}

} // namespace

TEST_CASE("neighbours get every byte of their blocks by the neighbourhood call, and all others none") {
    int const ranks = MeasuringRanks::all().team.size;
    auto cell = neighbors({{"weights", ring(ranks)}});
    weft::Validation const &validation = cell.run();
    CAPTURE(validation.detail);
    CHECK(validation.performed);
    CHECK(validation.errors == 0);
    CHECK(cell.segment("alltoallv-random-neighbor@1000", weft::Phase::warm) != nullptr);
    CHECK(neighbor_calls > 0);
    PlantedFault const fault("corrupt");
    auto wrong = neighbors({{"weights", ring(ranks)}});
    CHECK(wrong.run().errors == 2); // one in each size
}

TEST_CASE("neighbours need a graph of equal blocks") {
    auto without = neighbors({});
    CHECK_THROWS_AS(without.need(), weft::Failure);
    weft::Team const &team = MeasuringRanks::all().team;
    std::vector<std::int64_t> weights(std::size_t(team.size) * std::size_t(team.size), 2);
    weights.front() = 1;
    if (team.size > 1) {
        weft::BlockPattern const uneven("random", team.size, weights);
        if (team.rank == 0) { // whose own block is smaller; it throws before anything collective
            CHECK_THROWS_AS(weft::make_graph(team, uneven), std::invalid_argument);
        }
    }
}
