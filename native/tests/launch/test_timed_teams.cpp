// SPDX-License-Identifier: BSD-3-Clause
#include "launch/timed_teams.hpp"
#include "mpi/error.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

weft::CellPlan cell_with(std::string const &key, std::string const &value) {
    return {"c000", "floor", "", {{key, value}}};
}

std::string complaint(weft::CellPlan const &cell, int ranks) {
    try {
        weft::members_of(cell, ranks);
    } catch (weft::Failure const &failure) {
        CHECK(failure.everywhere());
        return failure.what();
    }
    return "no complaint";
}

std::string numbers_down_from(int rank) {
    std::string text;
    for (; rank >= 0; --rank) {
        text += (text.empty() ? "" : " ") + std::to_string(rank);
    }
    return text;
}

} // namespace

TEST_CASE("a cell names its ranks by number, by name, or not at all") {
    CHECK(weft::members_of({"c000", "floor", "", {}}, 4).empty());
    CHECK(weft::members_of(cell_with("ranks", "2"), 4) == std::vector<int>{0, 1});
    CHECK(weft::members_of(cell_with("ranks", "4"), 4).empty()); // all of them
    CHECK(weft::members_of(cell_with("members", "3 0"), 4) == std::vector<int>{3, 0});
    CHECK(weft::members_of(cell_with("members", "0 1"), 2).empty());
    CHECK(weft::members_of(cell_with("members", "1 0"), 2) == std::vector<int>{1, 0}); // another order is another team
}

TEST_CASE("ranks that a launch does not have are refused with their number") {
    CHECK(complaint(cell_with("ranks", "5"), 4).find("`ranks 5` of a launch of 4") != std::string::npos);
    CHECK(complaint(cell_with("ranks", "0"), 4).find("`ranks 0`") != std::string::npos);
    CHECK(complaint(cell_with("members", "0 4"), 4).find("4 is none of 4 ranks") != std::string::npos);
    CHECK(complaint(cell_with("members", "1 1"), 4).find("1 stands there twice") != std::string::npos);
    CHECK(complaint(cell_with("members", ""), 4).find("names no rank") != std::string::npos);
    CHECK(complaint(cell_with("members", "one"), 4).find("not a whole number") != std::string::npos);
    CHECK(complaint({"c000", "floor", "", {{"ranks", "1"}, {"members", "0"}}}, 4).find("both") != std::string::npos);
}

TEST_CASE("only the members get a team, and it numbers them in the order of the plan") {
    weft::TimedTeam all(weft::make_team(MPI_COMM_WORLD), weft::Start::barrier, weft::platform::now_ns());
    weft::TimedTeams teams(all);
    int const size = all.team.size;
    CHECK(teams.of({"c000", "floor", "", {}}) == &all);
    int const half = (size + 1) / 2;
    weft::CellPlan const cell = cell_with("members", numbers_down_from(half - 1));
    weft::TimedTeam *const team = teams.of(cell);
    bool const member = all.team.rank < half;
    if (half == 1 && size == 1) {
        CHECK(team == &all);
    } else {
        CHECK((team != nullptr) == member);
    }
    if (team != nullptr && team != &all) {
        CHECK(team->team.size == half);
        CHECK(team->team.rank == half - 1 - all.team.rank);
        team->start.wait();
    }
    teams.wait_for(team);
    CHECK(teams.of(cell) == team); // kept: its communicators are not created again
}

TEST_CASE("those who wait are back only after those who measure") {
    weft::TimedTeam all(weft::make_team(MPI_COMM_WORLD), weft::Start::barrier, weft::platform::now_ns());
    weft::TimedTeams teams(all);
    weft::TimedTeam *const team = teams.of(cell_with("ranks", "1"));
    constexpr std::int64_t nap_ns = 150'000'000;
    all.start.wait();
    std::int64_t const began = weft::platform::now_ns();
    if (all.team.rank == 0) {
        weft::platform::sleep_ns(nap_ns);
    }
    teams.wait_for(team);
    CHECK(weft::platform::now_ns() - began > nap_ns - 20'000'000);
}

TEST_CASE("a part's samples stand on the launch's time") {
    weft::TimedTeam all(weft::make_team(MPI_COMM_WORLD, 1), weft::Start::barrier, weft::platform::now_ns());
    weft::TimedTeams teams(all);
    weft::TimedTeam *const team = teams.of(cell_with("members", std::to_string(all.team.size - 1)));
    if (team != nullptr) {
        std::int64_t const apart = team->epoch_ns - all.clock.local(all.epoch_ns);
        CHECK(std::abs(apart) < 1'000'000); // one host: the same clock, except for the drift between two lines
    }
    teams.wait_for(team);
}
