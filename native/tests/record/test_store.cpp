// SPDX-License-Identifier: BSD-3-Clause
#include "common/crc32.hpp"
#include "host/file.hpp"
#include "host/host_memory.hpp"
#include "record/store.hpp"
#include "scratch_folder.hpp"

#include <doctest/doctest.h>

#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

using weft::Row;

namespace {

std::vector<Row> slab_of_rank(int rank, int rows) {
    std::vector<Row> slab;
    for (int i = 0; i < rows; ++i) {
        slab.push_back({1000 * rank + i, 7 * rank + i, i % 3});
    }
    return slab;
}

std::vector<Row> rows_in(std::string const &file, std::size_t header) {
    std::vector<Row> rows((file.size() - header) / sizeof(Row));
    if (!rows.empty()) { // no rows have no address, and memcpy takes none
        std::memcpy(rows.data(), file.data() + header, rows.size() * sizeof(Row));
    }
    return rows;
}

struct Outcome {
    std::string what;
    std::string remedy;
};

/// The errors of the ranks when they write there; empty on success.
Outcome attempt(weft::Team const &team, std::string const &path, bool posix, int rows) {
    try {
        weft::write_slabs(team, slab_of_rank(team.rank, rows), path, posix);
    } catch (weft::Failure const &failure) {
        CHECK(failure.everywhere());
        return {team.rank == 0 ? failure.what() : "failed", failure.remedy()};
    }
    return {};
}

/// The 16 digits between `.npy.` and `.part`.
std::string mark_in(std::string const &text) {
    constexpr std::size_t digits = 16;
    return text.substr(text.find(".npy.") + std::string(".npy.").size(), digits);
}

} // namespace

TEST_CASE("a header tells numpy the shape") {
    std::string const header = weft::npy_header(12, 345);
    CHECK(header.size() % 64 == 0);
    CHECK(header.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
    CHECK(std::size_t(std::uint8_t(header[8])) + 256 * std::size_t(std::uint8_t(header[9])) == header.size() - 10);
    CHECK(header.find("{'descr': '<i8', 'fortran_order': False, 'shape': (12, 345, 3), }") == 10);
    CHECK(header.back() == '\n');
}

TEST_CASE("each rank's slab stands at its place, whoever writes") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    ScratchFolder const folder(team);
    for (bool const posix : {false, true}) {
        for (int const rows : {0, 1, 57, 5000}) {
            CAPTURE(posix);
            CAPTURE(rows);
            std::string const path = folder.path() + "/c.npy";
            auto const crcs = weft::write_slabs(team, slab_of_rank(team.rank, rows), path, posix);
            if (team.rank == 0) {
                std::string const file = weft::read_text(path);
                std::string const header = weft::npy_header(team.size, rows);
                REQUIRE(file.size() == header.size() + sizeof(Row) * std::size_t(rows * team.size));
                CHECK(file.substr(0, header.size()) == header);
                auto const found = rows_in(file, header.size());
                REQUIRE(crcs.size() == std::size_t(team.size));
                for (int rank = 0; rank < team.size; ++rank) {
                    auto const expected = slab_of_rank(rank, rows);
                    auto const slab = std::span(found).subspan(std::size_t(rank * rows), std::size_t(rows));
                    CHECK((rows == 0 || std::memcmp(slab.data(), expected.data(), slab.size_bytes()) == 0));
                    CHECK(crcs[std::size_t(rank)] == weft::crc32(std::as_bytes(std::span(expected))));
                }
                // Nothing else is left: no part file and no auxiliary file of a library.
                CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
            }
        }
    }
}

TEST_CASE("a semaphore that another user left in the name of the file is not met") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    ScratchFolder const folder(team);
    // Open MPI 4 and 5 derive this name from the file name only; waiting for an empty one ends in SIGBUS.
    std::string const name = "weft-test-semaphore-" + std::to_string(team.size) + ".npy";
    std::string const left = "/dev/shm/sem.OMPIO_" + name + ".part";
    if (team.rank == 0) {
        std::ofstream{left};
    }
    PMPI_Barrier(team.comm);
    CHECK(attempt(team, folder.path() + "/" + name, false, 10).what.empty());
    PMPI_Barrier(team.comm);
    if (team.rank == 0) {
        CHECK(std::filesystem::remove(left));
    }
}

TEST_CASE("two files of one name never have a part of one name") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    std::string const first = attempt(team, "/nowhere/c.npy", false, 1).what;
    std::string const second = attempt(team, "/nowhere/c.npy", false, 1).what;
    if (team.rank == 0) {
        CHECK(mark_in(first).find_first_not_of("0123456789abcdef") == std::string::npos);
        CHECK(mark_in(first) != mark_in(second));
    }
}

TEST_CASE("a folder that is not there is told on all ranks") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    for (bool const posix : {false, true}) {
        Outcome const outcome = attempt(team, "/nowhere/c.npy", posix, 10);
        CHECK_FALSE(outcome.what.empty());
        if (team.rank == 0) {
            CHECK(outcome.what == "cannot create /nowhere/c.npy." + (posix ? "" : mark_in(outcome.what) + ".") +
                                      "part: No such file or directory");
            CHECK(outcome.remedy.find("--into") != std::string::npos);
        }
    }
}

TEST_CASE("a full disk is told, and leaves nothing behind") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    ScratchFolder const folder(team);
    int mounted = 0;
    if (team.rank == 0) {
        mounted = mount("weft-test", folder.path().c_str(), "tmpfs", 0, "size=64k") == 0 ? 1 : 0;
    }
    PMPI_Bcast(&mounted, 1, MPI_INT, 0, team.comm);
    if (mounted == 0) {
        MESSAGE("not run: mounting a small tmpfs needs root");
        return;
    }
    for (bool const posix : {false, true}) {
        CAPTURE(posix);
        Outcome const outcome = attempt(team, folder.path() + "/c.npy", posix, 100'000 / team.size);
        CHECK_FALSE(outcome.what.empty());
        if (team.rank == 0) {
            CHECK(outcome.what.find("No space left on device") != std::string::npos);
            CHECK(outcome.remedy.find("free space") != std::string::npos);
            CHECK(std::filesystem::is_empty(folder.path()));
        }
        PMPI_Barrier(team.comm);
        CHECK(attempt(team, folder.path() + "/c.npy", posix, 10).what.empty()); // there is room for a small one
        if (team.rank == 0) {
            std::filesystem::remove(folder.path() + "/c.npy");
        }
    }
    if (team.rank == 0) {
        // Read-only, by the same mount.
        mount("weft-test", folder.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
    }
    PMPI_Barrier(team.comm);
    Outcome const outcome = attempt(team, folder.path() + "/c.npy", false, 10);
    CHECK_FALSE(outcome.what.empty());
    if (team.rank == 0) {
        CHECK(outcome.what.find("Read-only file system") != std::string::npos);
        CHECK(umount2(folder.path().c_str(), MNT_DETACH) == 0);
    }
    PMPI_Barrier(team.comm);
}

TEST_CASE("a small file appears whole") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    ScratchFolder const folder(team);
    weft::on_rank_0(team, [&] { weft::write_file(folder.path() + "/a.json", "{}\n"); });
    if (team.rank == 0) {
        CHECK(weft::read_text(folder.path() + "/a.json") == "{}\n");
        {
            weft::PartFile const torn(folder.path() + "/b.json");
        }
        CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
    }
}

TEST_CASE("what fails on rank 0 fails on all") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    CHECK_THROWS_AS(weft::on_rank_0(team, [] { throw weft::Failure("no", "yes"); }), weft::Failure);
}

TEST_CASE("a slab is the samples of all segments on the launch's time") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Clock const clock(team);
    weft::Recorder recorder;
    weft::Segment &first = recorder.open("A", weft::Phase::cold, 4);
    first.rows[0] = {1100, 5, 0};
    first.count = 1;
    weft::Segment &second = recorder.open("A", weft::Phase::warm, 4);
    second.rows[0] = {1200, 6, 0};
    second.rows[1] = {1300, 7, 1};
    second.count = 2;
    auto const slab = weft::slab_of(recorder, clock, 1000);
    REQUIRE(slab.size() == 3);
    CHECK(slab[0].start_ns == 100);
    CHECK(slab[2].start_ns == 300);
    CHECK(slab[2].duration_ns == 7);
    CHECK(slab[2].lost == 1);
    CHECK(recorder.count() == 3);
}
