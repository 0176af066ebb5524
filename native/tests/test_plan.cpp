// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"
#include "plan.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

std::string const head = "weft-plan 1\nlaunch c000.l1\nfolder /tmp/run with a space\n";

/// What a plan that must fail says.
std::string complaint(std::string const &text) {
    try {
        weft::parse_plan(text);
    } catch (weft::Failure const &failure) {
        CHECK(failure.everywhere());
        CHECK_FALSE(failure.remedy().empty());
        return failure.what();
    }
    return "no complaint";
}

} // namespace

TEST_CASE("a plan is read with all its keys") {
    weft::Plan const plan = weft::parse_plan(head + R"(# a comment
launch_index 3
seed 18446744073709551615
io posix
start window
precision 0.02        # a comment behind a value
min_samples 7
max_samples 70
warmup_most 0
budget_ns 123
limit_ns 456
memory_limit_bytes 789
cell c003
  kernel exchange
  n 1492992
  calls A B C
end

cell c004
kernel floor
end
)");
    CHECK(plan.launch == "c000.l1");
    CHECK(plan.launch_index == 3);
    CHECK(plan.seed == 18446744073709551615ULL);
    CHECK(plan.folder == "/tmp/run with a space");
    CHECK(plan.posix_io);
    CHECK(plan.start == "window");
    CHECK(plan.rules.precision == 0.02);
    CHECK(plan.rules.min_samples == 7);
    CHECK(plan.rules.max_samples == 70);
    CHECK(plan.rules.warmup_most == 0);
    CHECK(plan.rules.budget_ns == 123);
    CHECK(plan.limit_ns == 456);
    CHECK(plan.memory_limit_bytes == 789);
    REQUIRE(plan.cells.size() == 2);
    CHECK(plan.cells[0].name == "c003");
    CHECK(plan.cells[0].kernel == "exchange");
    CHECK(plan.cells[0].values.at("calls") == "A B C");
    CHECK(plan.cells[1].values.empty());
}

TEST_CASE("a plan that is none names the line and what stands there") {
    CHECK(complaint("weft-plan 2\n").find("line 1: it begins with `weft-plan 2`") != std::string::npos);
    CHECK(complaint(head + "speed 3\n").find("line 4: unknown key `speed`") != std::string::npos);
    CHECK(complaint(head + "min_samples ten\n").find("`min_samples ten`: not a whole number") != std::string::npos);
    CHECK(complaint(head + "min_samples 0\n").find("below 1") != std::string::npos);
    CHECK(complaint(head + "budget_ns 9223372036854775808\n").find("not a whole number") != std::string::npos);
    CHECK(complaint(head + "precision nan\n").find("not above 0") != std::string::npos);
    CHECK(complaint(head + "io tape\n").find("neither mpi nor posix") != std::string::npos);
    CHECK(complaint(head + "start now\n").find("unknown start `now`") != std::string::npos);
    CHECK(complaint(head + "cell c1\nkernel floor\n").find("has no `end`") != std::string::npos);
    CHECK(complaint(head + "cell c1\nend\n").find("line 5: a cell without a name or a kernel") != std::string::npos);
    CHECK(complaint("").find("it is empty") != std::string::npos);
    CHECK(complaint("weft-plan 1\n").find("names no folder") != std::string::npos);
}

TEST_CASE("a plan file that is not there is named") {
    std::string what;
    try {
        weft::read_plan(MPI_COMM_WORLD, "/nowhere/c000.plan");
    } catch (weft::Failure const &failure) {
        what = failure.what();
    }
    CHECK(what == "cannot read the plan /nowhere/c000.plan: No such file or directory");
}
