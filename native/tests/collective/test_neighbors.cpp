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
    int const ranks = MeasuringRanks::all().team.size;
    if (ranks > 1) {
        std::string weights = "1"; // rank 0 sends itself less: what the others have is equal, and they refuse it too
        for (int i = 1; i < ranks * ranks; ++i) {
            weights += " 2";
        }
        auto uneven = neighbors({{"weights", weights}});
        CHECK_THROWS_WITH_AS(uneven.need(), doctest::Contains("from rank 0 to rank 0"), weft::Failure);
    }
}
