// SPDX-License-Identifier: BSD-3-Clause
#include "cell/cell.hpp"
#include "cell/kernels.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

weft::Plan const plan =
    weft::parse_plan("weft-plan 2\nlaunch c003.l1\nfolder /tmp\nseed 9\ncell c003\nkernel exchange\n"
                     "n 48\ncalls A  B C\nbad x\nend\n");

} // namespace

TEST_CASE("a cell gives the values of its plan") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Cell const cell(plan, plan.cells[0], team);
    CHECK(cell.name() == "c003");
    CHECK(cell.seed() == 9);
    CHECK(cell.has("n"));
    CHECK_FALSE(cell.has("m"));
    CHECK(cell.integer("n") == 48);
    CHECK(cell.integer("m", 512) == 512);
    CHECK(cell.text("data", "contention") == "contention");
    CHECK(cell.words("calls") == std::vector<std::string>{"A", "B", "C"});
    CHECK_THROWS_AS(cell.integer("m"), weft::Failure);
    CHECK_THROWS_AS(cell.integer("bad"), weft::Failure);
}

TEST_CASE("an error on any rank makes the validation fail on all, with the words of the lowest such rank") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Cell cell(plan, plan.cells[0], team);
    CHECK_FALSE(cell.validation().performed);
    cell.set_validation(0, "all is right");
    CHECK(cell.validation().performed);
    CHECK(cell.validation().errors == 0);
    CHECK(cell.validation().detail == "all is right");
    cell.set_validation(team.rank > 0 ? team.rank : 0, "rank " + std::to_string(team.rank));
    CHECK(cell.validation().errors == team.size * (team.size - 1) / 2);
    CHECK(cell.validation().detail == (team.size > 1 ? "rank 1" : "rank 0"));
    cell.skip_validation("simulated");
    CHECK_FALSE(cell.validation().performed);
    CHECK(cell.validation().detail == "simulated");
}

TEST_CASE("a reason on one rank refuses the cell on all") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::refuse_together(team, "fabric", std::nullopt);
    std::string heard;
    try {
        weft::refuse_together(team, "fabric",
                              team.rank == team.size - 1 ? std::optional<std::string>("too few") : std::nullopt);
    } catch (weft::Refusal const &refusal) {
        heard = refusal.status() + ": " + refusal.what();
    }
    CHECK(heard == "fabric: too few");
}

TEST_CASE("a fault is planted in the cell that the environment names, or in all") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Cell const cell(plan, plan.cells[0], team);
    unsetenv("WEFT_PLANT");
    CHECK_FALSE(weft::planted(cell, "corrupt"));
    setenv("WEFT_PLANT", "corrupt", 1);
    CHECK(weft::planted(cell, "corrupt"));
    CHECK_FALSE(weft::planted(cell, "hang"));
    setenv("WEFT_PLANT", "corrupt:c003", 1);
    CHECK(weft::planted(cell, "corrupt"));
    setenv("WEFT_PLANT", "corrupt:c004", 1);
    CHECK_FALSE(weft::planted(cell, "corrupt"));
    unsetenv("WEFT_PLANT");
}

TEST_CASE("kernels are found by their names, and others are refused with the names there are") {
    CHECK(weft::kernel_named("floor").name == "floor");
    std::string remedy;
    try {
        weft::kernel_named("sleep");
    } catch (weft::Failure const &failure) {
        remedy = failure.remedy();
    }
    CHECK(remedy.find("floor") != std::string::npos);
}
