// SPDX-License-Identifier: BSD-3-Clause
#include "host/platform.hpp"
#include "host/shared_cores.hpp"
#include "mpi/error.hpp"
#include "mpi/team.hpp"

#include <doctest/doctest.h>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>

TEST_CASE("ranks of one host are one node") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    CHECK(team.nodes == 1);
    CHECK(team.node == 0);
    CHECK(team.local_size == team.size);
    CHECK(team.local_rank == team.rank);
    REQUIRE(team.hosts.size() == 1);
    CHECK(team.hosts[0] == weft::platform::host().name);
    CHECK(team.leaders.null() == (team.rank != 0));
}

TEST_CASE("fake nodes cut a host into groups of ranks") {
    for (int const k : {1, 2, 3}) {
        CAPTURE(k);
        weft::Team const team = weft::make_team(MPI_COMM_WORLD, k);
        CHECK(team.nodes == (team.size + k - 1) / k);
        CHECK(team.node == team.rank / k);
        CHECK(team.local_rank == team.rank % k);
        CHECK(team.local_size == std::min(k, team.size - team.node * k));
        CHECK(team.node_comm.size() == team.local_size);
        CHECK(team.leaders.null() == (team.local_rank != 0));
        if (!team.leaders.null()) {
            CHECK(team.leaders.size() == team.nodes);
            CHECK(team.leaders.rank() == team.node);
        }
        for (int rank = 0; rank < team.size; ++rank) {
            CHECK(team.node_of[std::size_t(rank)] == rank / k);
        }
        CHECK(team.hosts.size() == std::size_t(team.nodes));
    }
}

TEST_CASE("a team of some ranks numbers its own") {
    weft::Team const world = weft::make_team(MPI_COMM_WORLD, 0);
    weft::Comm const half = weft::Comm::split(world.comm, world.rank % 2, -world.rank); // in reverse order
    weft::Team const team = weft::make_team(half, 1);
    CHECK(team.size == (world.size + (world.rank % 2 == 0 ? 1 : 0)) / 2);
    CHECK(team.nodes == team.size);
    CHECK(team.rank == team.size - 1 - world.rank / 2);
}

TEST_CASE("the environment asks for fake nodes, and is told when it asks nonsense") {
    setenv("WEFT_FAKE_RANKS_PER_NODE", "1", 1);
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    CHECK(team.nodes == team.size);
    setenv("WEFT_FAKE_RANKS_PER_NODE", "-1", 1);
    CHECK_THROWS_AS(weft::make_team(MPI_COMM_WORLD), weft::Failure);
    setenv("WEFT_FAKE_RANKS_PER_NODE", "two", 1);
    CHECK_THROWS_AS(weft::make_team(MPI_COMM_WORLD), weft::Failure);
    unsetenv("WEFT_FAKE_RANKS_PER_NODE");
    CHECK(weft::make_team(MPI_COMM_WORLD).nodes == 1);
}

TEST_CASE("nodes made up on one host are named by their environment") {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string const own = weft::platform::host().name;
    setenv("WEFT_NODE_NAMED_BY", "MADE_UP_NODE", 1);
    CHECK(weft::platform::host().name == own); // no such variable
    setenv("MADE_UP_NODE", ("n" + std::to_string(rank / 2)).c_str(), 1);
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    CHECK(team.nodes == (team.size + 1) / 2);
    CHECK(team.hosts[std::size_t(team.node)] == "n" + std::to_string(rank / 2));
    CHECK(team.local_size == std::min(2, team.size - team.node * 2));
    unsetenv("MADE_UP_NODE");
    unsetenv("WEFT_NODE_NAMED_BY");
}

TEST_CASE("ranks of made-up nodes on one core are named, and that one host runs the nodes") {
    cpu_set_t before{}, one{};
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    int cpu = 0; // the same on all ranks of one host
    while (!CPU_ISSET(cpu, &before)) {
        ++cpu;
    }
    CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setenv("WEFT_NODE_NAMED_BY", "MADE_UP_NODE", 1);
    setenv("MADE_UP_NODE", ("n" + std::to_string(rank)).c_str(), 1);
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    REQUIRE(team.nodes == team.size);
    std::vector<std::string> const found = weft::placement_warnings(team);
    if (team.size > 1) { // on each rank: rank 0 may have no part in a cell
        REQUIRE(found.size() == 2);
        CHECK(found[0].starts_with("two ranks on one core: ranks 0, 1 of n0, n1 may use 1 core only"));
        CHECK(found[1] == "nodes share a host: " + std::to_string(team.nodes) + " nodes ran on 1 host");
    } else {
        CHECK(found.empty());
    }
    unsetenv("MADE_UP_NODE");
    unsetenv("WEFT_NODE_NAMED_BY");
    REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("a rank knows where it runs") {
    weft::platform::Host const here = weft::platform::host();
    CHECK_FALSE(here.name.empty());
    CHECK(here.boot_id.size() == 36);
    CHECK_FALSE(here.cpus.empty());
    CHECK(here.core >= 0);
    CHECK(here.page_bytes >= 4096);
    CHECK(weft::platform::cores() >= 1);
}
