// SPDX-License-Identifier: BSD-3-Clause
#include "collective/collective_calls.hpp"
#include "measured_cell.hpp"

#include <doctest/doctest.h>

#include <string>

using Values = MeasuredCell::Values;

/// Calls of MPI_Ialltoall and of MPI_Test: the public names are the tests' own here.
static int begun = 0;
static int tested = 0;

extern "C" int MPI_Ialltoall(void const *from, int sent, MPI_Datatype type, void *to, int received, MPI_Datatype into,
                             MPI_Comm comm, MPI_Request *request) {
    ++begun;
    return PMPI_Ialltoall(from, sent, type, to, received, into, comm, request);
}

extern "C" int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    ++tested;
    return PMPI_Test(request, done, status);
}

TEST_CASE("every call is also measured alone, beside computation, and persistent where MPI has that") {
    for (weft::Collective const &collective : weft::collectives()) {
        std::string const name(collective.name);
        CAPTURE(name);
        MeasuredCell cell("collective", {{"collective", name}, {"bytes", "8 4096"}, {"overlap", "1"}});
        weft::Validation const &validation = cell.run();
        CHECK(validation.errors == 0);
        for (auto const *word : {"", ":alone", ":compute", ":hidden", ":tested"}) {
            CAPTURE(word);
            weft::Segment const *const warm = cell.segment(name + "@4096" + word, weft::Phase::warm);
            REQUIRE(warm != nullptr);
            CHECK((!collective.rooted || warm->batch == 1));
        }
        CHECK((cell.segment(name + "@8:persistent", weft::Phase::warm) != nullptr) == (MPI_VERSION >= 4));
        bool counted = false;
        for (auto const &part : cell.need().parts) {
            counted = counted || part.name == "overlap samples";
        }
        CHECK(counted);
    }
    CHECK(begun > 0);
    CHECK(tested >= 16);
}

TEST_CASE("the computation is about as long as the call") {
    int close = 0;
    for (int attempt = 0; attempt < 5 && close == 0; ++attempt) { // other programs may take a core for a while
        MeasuredCell cell("collective", {{"collective", "alltoall"}, {"bytes", "262144"}, {"overlap", "1"}});
        if (cell.team().size > 2) {
            return; // ranks that share cores wait for each other, not for the call
        }
        cell.run();
        auto const median = [&](std::string const &word) {
            weft::Segment const *const found = cell.segment("alltoall@262144:" + word, weft::Phase::warm);
            return double(found->median_ns) / double(found->batch);
        };
        double const ratio = cell.team().rank == 0 ? median("compute") / median("alone") : 0; // only rank 0 knows them
        close = ratio > 0.2 && ratio < 5 ? 1 : 0;
        MPI_Bcast(&close, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(close == 1);
}

TEST_CASE("an overlap is about plain calls") {
    MeasuredCell cell("collective",
                      {{"collective", "allreduce"}, {"bytes", "8"}, {"form", "inplace"}, {"overlap", "1"}});
    CHECK_THROWS_AS(cell.need(), weft::Failure);
}
