// SPDX-License-Identifier: BSD-3-Clause
#include "cell/kernels.hpp"
#include "common/check.hpp"
#include "interference/traffic.hpp"
#include "time/barrier.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

using weft::PeersOf;

namespace {

std::int64_t sent = 0; ///< messages of the traffic
constexpr std::int64_t slow_ns = 5'000'000;
std::int64_t volatile *flows = nullptr;               ///< in shared memory, of a rank of the traffic: whether it flows
std::vector<std::int64_t volatile *> seen_by_victims; ///< those of all ranks of the traffic
bool met = false;                                     ///< whether this rank has sent a measured message

/// Rank 0 orders all others, and waits for the answer of the first of them.
void tell(weft::Comm const &world, int const *number, int count, int tag) {
    for (int rank = 1; rank < world.size(); ++rank) {
        PMPI_Send(number, count, MPI_INT, rank, tag, world);
    }
    PMPI_Recv(nullptr, 0, MPI_INT, 1, weft::order::answer_tag, world, MPI_STATUS_IGNORE);
}

/// Ranks 0 and 1 measure, 2 and 3 are the traffic.
weft::CellPlan const beside_alltoall{"c000",
                                     "interference",
                                     "",
                                     {{"victim", "pingpong"},
                                      {"bytes", "64"},
                                      {"window", "1"},
                                      {"members", "0 1"},
                                      {"beside", "2 3"},
                                      {"traffic", "alltoall"},
                                      {"traffic_bytes", "100"},
                                      {"burst", "2"},
                                      {"chunk", "2"}}};

/// From now on this rank sees whether the traffic flows.
void see_traffic(MPI_Win window) {
    for (int rank = 2; rank < 4; ++rank) {
        MPI_Aint size = 0;
        int unit = 0;
        std::int64_t *theirs = nullptr;
        MPI_Win_shared_query(window, rank, &size, &unit, &theirs);
        seen_by_victims.push_back(theirs);
    }
}

/// All samples beside the traffic are slow, and some of the others are not.
void check_samples(weft::Recorder const &recorder) {
    for (auto const &segment : recorder.segments()) {
        if (segment.phase == weft::Phase::cold) {
            continue; // one sample, of a first contact
        }
        auto const times = weft::durations_of({segment.rows.data(), std::size_t(segment.count)});
        bool const beside = segment.op == "pingpong+alltoall@64";
        CAPTURE(segment.op);
        REQUIRE((beside || segment.op == "pingpong@64"));
        REQUIRE(!times.empty());
        CHECK((*std::min_element(times.begin(), times.end()) >= slow_ns) == beside);
    }
}

void measure(weft::Cell &cell, weft::Team const &team, weft::Rules const &rules) {
    weft::Clock const clock(team);
    weft::Barrier barrier(team, clock, weft::Start::barrier);
    weft::Recorder recorder;
    weft::Status status;
    weft::Sampler sampler(team, clock, barrier, rules, recorder, status);
    cell.use(sampler);
    weft::run_interference(cell);
    seen_by_victims.clear();
    check_samples(recorder);
}

} // namespace

/// Replaces the library's function, to count messages, and to see that traffic flows.
int MPI_Isend(void const *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    ++sent;
    if (flows != nullptr) {
        *flows = 1;
    }
    return PMPI_Isend(from, count, type, to, tag, comm, request);
}

/// Replaces the library's function: a message of the measured call is slow while traffic flows.
int MPI_Send(void const *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    if (!std::exchange(met, true)) {
        weft::platform::sleep_ns(slow_ns); // the library connects
    }
    if (std::any_of(seen_by_victims.begin(), seen_by_victims.end(), [](auto const *each) { return *each != 0; })) {
        weft::platform::sleep_ns(slow_ns);
    }
    return PMPI_Send(from, count, type, to, tag, comm);
}

TEST_CASE("samples beside traffic are those during which it flows, and no others") {
    weft::Comm const world = weft::Comm::duplicate(MPI_COMM_WORLD);
    if (world.size() != 4) {
        return;
    }
    bool const measures = world.rank() < 2;
    weft::Comm const own = weft::Comm::split(world, measures ? 0 : 1, world.rank());
    weft::Team const team = weft::make_team(own);
    std::int64_t *mine = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, world, &mine, &window);
    *mine = 0;
    weft::Plan plan;
    plan.rules = {0.05, 2, 6, 2, 200'000'000};
    PMPI_Barrier(world);
    weft::Cell cell(plan, beside_alltoall, team, world);
    MPI_Request done = MPI_REQUEST_NULL;
    int ended = 0;
    if (measures) {
        see_traffic(window);
        measure(cell, team, plan.rules);
        PMPI_Ibarrier(world, &done);
    } else {
        flows = mine;
        auto const serve = weft::interfere(cell);
        PMPI_Ibarrier(world, &done);
        while (ended == 0) {
            if (serve()) {
                *mine = 0; // perhaps after the first sample of the next turn
            }
            PMPI_Test(&done, &ended, MPI_STATUS_IGNORE);
        }
        flows = nullptr;
    }
    PMPI_Wait(&done, MPI_STATUS_IGNORE);
    MPI_Win_free(&window);
}

TEST_CASE("traffic flows from its order to its stop, and at no other time") {
    weft::Comm const world = weft::Comm::duplicate(MPI_COMM_WORLD);
    bool const commands = world.rank() == 0;
    weft::Comm const others = weft::Comm::split(world, commands ? MPI_UNDEFINED : 0, world.rank());
    if (world.size() < 3) {
        return;
    }
    weft::Plan const plan;
    weft::CellPlan const values{
        "c000",
        "interference",
        "",
        {{"members", "0"}, {"traffic", "alltoall alltoall.50"}, {"traffic_bytes", "100"}, {"burst", "3"}}};
    for (int number = 0; number < 2; ++number) {
        sent = 0;
        if (commands) {
            tell(world, &number, 1, weft::order::tag);
            weft::platform::sleep_ns(100'000'000);
            tell(world, nullptr, 0, weft::order::stop_tag);
            PMPI_Barrier(world); // no order before all have seen that there is none
            continue;
        }
        weft::Team const team = weft::make_team(others);
        weft::Cell const cell(plan, values, team, world);
        weft::Traffic traffic(cell);
        CHECK(sent == 0);
        while (!traffic.serve()) {
        }
        std::int64_t const made = sent;
        CHECK(made > 4 * 3 * (team.size - 1)); // two bursts before the answer, and more until the stop
        CHECK((number == 0 || made % (3 * (team.size - 1)) == 0)); // whole bursts between pauses
        CHECK(!traffic.serve());
        CHECK(sent == made);
        PMPI_Barrier(world);
    }
}

TEST_CASE("what a rank of a pattern sends, another one receives") {
    for (auto const *pattern : {"alltoall", "incast", "shift", "bcast", "stream"}) {
        for (int size = 2; size < 9; ++size) {
            std::vector<std::pair<int, int>> leaves;
            std::vector<std::pair<int, int>> received;
            for (int rank = 0; rank < size; ++rank) {
                PeersOf const peers(pattern, rank, size);
                for (int const to : peers.to) {
                    leaves.emplace_back(rank, to);
                }
                for (int const from : peers.from) {
                    received.emplace_back(from, rank);
                }
            }
            std::sort(leaves.begin(), leaves.end());
            std::sort(received.begin(), received.end());
            CAPTURE(pattern);
            CAPTURE(size);
            CHECK(leaves == received);
            CHECK(!leaves.empty());
        }
    }
}

TEST_CASE("an incast goes to the first rank, a broadcast from it, a shift half of the ranks further on") {
    CHECK(PeersOf("incast", 0, 4).from.size() == 3);
    CHECK(PeersOf("incast", 3, 4).to == std::vector{0});
    CHECK(PeersOf("bcast", 0, 4).to.size() == 3);
    CHECK(PeersOf("shift", 3, 4).to == std::vector{1});
    CHECK(PeersOf("stream", 1, 4).to == std::vector{3});
    CHECK(PeersOf("stream", 3, 4).to.empty());
}

TEST_CASE("traffic has a strength of 1 to 100 percent, and a known pattern") {
    CHECK(weft::TrafficKind("incast").percent == 100);
    CHECK(weft::TrafficKind("incast.25").pattern == "incast");
    CHECK(weft::TrafficKind("incast.25").percent == 25);
    CHECK_THROWS_AS(weft::TrafficKind("incast.0"), weft::Failure);
    CHECK_THROWS_AS(weft::TrafficKind("incast.101"), weft::Failure);
    CHECK_THROWS_AS(PeersOf("gossip", 0, 2), weft::Failure);
}
