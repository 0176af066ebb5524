// SPDX-License-Identifier: BSD-3-Clause
#include "host/shared_cores.hpp"

#include "scratch_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using weft::Cores;
using weft::crowded;

TEST_CASE("ranks that each have a core take turns with nobody") {
    CHECK(crowded({{0}, {1}, {2}}).empty());
    CHECK(crowded({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}).empty()); // not bound, but enough cores for all
    CHECK(crowded({{0, 1}, {0}, {1, 2}}).empty());             // the first two can make room for each other
    CHECK(crowded({}).empty());
    CHECK(crowded({{}, {}}).empty()); // their cores are unknown
}

TEST_CASE("two ranks bound to one core are found among others") {
    CHECK(crowded({{0}, {3}, {1}, {3}}) == std::vector<int>{1, 3});
}

TEST_CASE("more ranks than the cores they share are found, bound or not") {
    CHECK(crowded({{0, 1}, {0, 1}, {0, 1}}) == std::vector<int>{0, 1, 2});
    CHECK(crowded({{5}, {0, 1}, {1}, {0}}) == std::vector<int>{1, 2, 3});
}

TEST_CASE("hardware threads of one core are one, and CPUs of which nothing is told are themselves") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    ScratchFolder const folder(team);
    for (int const cpu : {0, 1, 4, 5}) {
        std::string const place = folder.path() + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology";
        std::filesystem::create_directories(place);
        std::ofstream(place + "/thread_siblings_list") << cpu % 4 << "," << cpu % 4 + 4 << "\n";
    }
    CHECK(weft::cores_of("0-1,4-5", folder.path()) == Cores{0, 1});
    CHECK(weft::cores_of("4", folder.path()) == Cores{0});
    CHECK(weft::cores_of("7,9-10", folder.path()) == Cores{7, 9, 10});
    CHECK(weft::cores_of("", folder.path()).empty());
}
