// SPDX-License-Identifier: BSD-3-Clause
// An MPI-IO that reports success and writes nothing, as some do on a full disk: this program's definition of the call
// replaces the library's.
#include "mpi/error.hpp"
#include "record/store.hpp"
#include "scratch_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>

extern "C" int PMPI_File_write_at_all(MPI_File, MPI_Offset, void const *, int, MPI_Datatype, MPI_Status *) {
    return MPI_SUCCESS;
}

TEST_CASE("samples that were not written are noticed, though MPI-IO says they were") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    ScratchFolder const folder(team);
    std::string what;
    try {
        weft::write_slabs(team, std::vector<weft::Row>(10, {1, 2, 3}), folder.path() + "/c.npy", false);
    } catch (weft::Failure const &failure) {
        what = team.rank == 0 ? failure.what() : "failed";
    }
    CHECK_FALSE(what.empty());
    if (team.rank == 0) {
        CHECK(what.find("does not read back") != std::string::npos);
        CHECK(std::filesystem::is_empty(folder.path()));
    }
}
