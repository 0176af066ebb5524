// SPDX-License-Identifier: BSD-3-Clause
#include "host/caches.hpp"

#include "mpi/team.hpp"
#include "scratch_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace {

void write_cache(std::filesystem::path const &root, int cpu, int index, char const *size) {
    auto const folder =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "size") << size << "\n";
}

} // namespace

TEST_CASE("the largest cache of a rank's first CPU is told in bytes") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    ScratchFolder const folder(team);
    write_cache(folder.path(), 3, 0, "32K");
    write_cache(folder.path(), 3, 1, "1024K");
    write_cache(folder.path(), 3, 2, "32M");
    write_cache(folder.path(), 0, 0, "512M");
    CHECK(weft::last_cache_bytes("3-5,8", folder.path()) == 32 << 20);
    CHECK(weft::last_cache_bytes("7", folder.path()) == 0);
    CHECK(weft::last_cache_bytes("", folder.path()) == 0);
}

TEST_CASE("a footprint that is not what it is called is doubted, with what to set") {
    std::int64_t const mebi = 1 << 20;
    CHECK(weft::doubt_footprint("hot", 8 * mebi, 32 * mebi).empty());
    CHECK(weft::doubt_footprint("hot", 9 * mebi, 32 * mebi).find("at most a quarter of the cache") !=
          std::string::npos);
    CHECK(weft::doubt_footprint("cold", 64 * mebi, 32 * mebi).empty());
    CHECK(weft::doubt_footprint("cold", 63 * mebi, 32 * mebi) ==
          "a footprint of 63 MiB beside a cache of 32 MiB is not cold: set cold_footprint in the study's [bandwidth] "
          "to at least twice the cache");
    CHECK(weft::doubt_footprint("cold", mebi, 0).empty());
    CHECK(weft::doubt_footprint("", mebi, 2 * mebi).empty());
}
