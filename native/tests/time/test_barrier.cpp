// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error.hpp"
#include "time/barrier.hpp"

#include <doctest/doctest.h>

using weft::Late;
using weft::Start;

namespace {

/// True if no rank left before the last one came. All ranks read the same clock here.
bool holds_all_back(weft::Team const &team, weft::Barrier &barrier, int last) {
    PMPI_Barrier(team.comm);
    if (team.rank == last) {
        weft::platform::sleep_ns(3'000'000);
    }
    std::int64_t const came = weft::platform::now_ns();
    barrier.wait();
    std::int64_t const left = weft::platform::now_ns();
    return weft::min_over(team.comm, left) >= weft::max_over(team.comm, came);
}

} // namespace

TEST_CASE("no rank leaves a barrier before the last one has come") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Clock const clock(team);
    for (Start const start : {Start::barrier, Start::mpi_barrier}) {
        weft::Barrier barrier(team, clock, start);
        for (int last = 0; last < team.size; ++last) {
            CAPTURE(last);
            CHECK(holds_all_back(team, barrier, last));
        }
    }
}

TEST_CASE("a barrier of some ranks does not wait for the others") {
    weft::Team const world = weft::make_team(MPI_COMM_WORLD);
    weft::Comm const part = weft::Comm::split(world.comm, world.rank == 0 ? 0 : 1, world.rank);
    if (world.rank != 0) {
        weft::Team const team = weft::make_team(part, 0);
        weft::Clock const clock(team);
        weft::Barrier barrier(team, clock, Start::barrier);
        CHECK(holds_all_back(team, barrier, team.size - 1));
    }
}

TEST_CASE("in a window no rank starts early, and one that comes too late says so") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Clock const clock(team);
    weft::Barrier barrier(team, clock, Start::window);
    CHECK(barrier.window_ns() >= 10'000);
    CHECK(weft::min_over(team.comm, barrier.window_ns()) == weft::max_over(team.comm, barrier.window_ns()));
    if (team.size > 1) {
        PMPI_Barrier(team.comm);
        bool const last = team.rank == team.size - 1;
        if (last) {
            weft::platform::sleep_ns(barrier.window_ns() + 50'000'000);
        }
        Late const late = barrier.wait();
        if (last) {
            CHECK(late == Late::arrived);
        }
    } else {
        int in_time = 0;
        for (int start = 0; start < 50; ++start) { // a busy machine may take the core for longer than a window
            in_time += barrier.wait() != Late::arrived ? 1 : 0;
        }
        CHECK(in_time > 0);
    }
}

namespace {

std::int64_t scripted_ns = 0;
std::int64_t reads_until_late = -1; // then the clock passes the start of the window
std::int64_t passes_ns = 0;

std::int64_t scripted_now() noexcept {
    if (reads_until_late >= 0 && reads_until_late-- == 0) {
        scripted_ns += passes_ns;
    }
    return scripted_ns;
}

} // namespace

TEST_CASE("a start more than a microsecond after that of the window is late, one before it is in time") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    weft::Clock const clock(team, scripted_now);
    weft::Barrier barrier(team, clock, Start::window);
    for (std::int64_t const late_ns : {0, 900, 1'100, 20'000, 1'000'000}) {
        CAPTURE(late_ns);
        PMPI_Barrier(team.comm);
        // Read for the start time and on arrival; at the next look another process had the core.
        reads_until_late = 2;
        passes_ns = barrier.window_ns() + late_ns;
        CHECK(barrier.wait() == (late_ns > 1'000 ? Late::overslept : Late::no));
        reads_until_late = -1;
    }
}

TEST_CASE("the window doubles when more than a quarter arrived late, and only then") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Clock const clock(team);
    weft::Barrier barrier(team, clock, Start::window);
    std::int64_t const before = barrier.window_ns();
    barrier.learn(100, 25);
    CHECK(barrier.window_ns() == before);
    barrier.learn(100, 26);
    CHECK((barrier.window_ns() == 2 * before || barrier.window_ns() == 100'000'000));
    for (int i = 0; i < 40; ++i) {
        barrier.learn(1, 1);
    }
    CHECK(barrier.window_ns() == 100'000'000); // it does not grow for ever
}

TEST_CASE("starts have names") {
    CHECK(weft::start_named("barrier") == Start::barrier);
    CHECK(weft::start_named("mpi-barrier") == Start::mpi_barrier);
    CHECK(weft::start_named("window") == Start::window);
    CHECK_THROWS_AS(weft::start_named("gun"), weft::Failure);
}
