// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error.hpp"
#include "record/plan.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

std::string const head = "weft-plan 2\nlaunch c000.l1\nfolder \"/tmp/run with a space\"\nrun 0123abcd\n";

/// The error message of an invalid plan.
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

std::string const whole = R"(# a comment
launch_index 3
seed 18446744073709551615
io posix
start window
precision 0.02
min_samples 7
max_samples 70
warmup_most 0
budget_ns 123
limit_ns 456
memory_limit_bytes 789
cell c003
  kernel exchange
  hash 00ff
  n 1492992
  calls A B C
end

cell c004
kernel floor
end
)";

} // namespace

TEST_CASE("a plan is read with all its keys") {
    weft::Plan const plan = weft::parse_plan(head + whole);
    CHECK(plan.run == "0123abcd");
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
}

TEST_CASE("the cells of a plan are read with their kernels' keys") {
    weft::Plan const plan = weft::parse_plan(head + whole);
    REQUIRE(plan.cells.size() == 2);
    CHECK(plan.cells[0].name == "c003");
    CHECK(plan.cells[0].kernel == "exchange");
    CHECK(plan.cells[0].hash == "00ff");
    CHECK(plan.cells[0].values.at("calls") == "A B C");
    CHECK(plan.cells[1].values.empty());
}

TEST_CASE("a value in quotes holds any byte") {
    for (int byte = 1; byte < 256; ++byte) {
        constexpr char const *digits = "0123456789abcdef";
        std::string const escaped = std::string("\\x") + digits[byte / 16] + digits[byte % 16];
        std::string const text = "weft-plan 2\nlaunch l\nfolder \"/tmp/a" + escaped + " b \"\n";
        CHECK(weft::parse_plan(text).folder == std::string("/tmp/a") + char(byte) + " b ");
        if (byte == '"' || byte == '\\' || byte == '\n') { // these alone must be escaped
            continue;
        }
        std::string const raw = std::string("weft-plan 2\nlaunch l\nfolder \"/tmp/") + char(byte) + "#\"\n";
        CHECK(weft::parse_plan(raw).folder == std::string("/tmp/") + char(byte) + "#");
    }
    CHECK(weft::parse_plan("weft-plan 2\nlaunch l\nfolder \"/t/\\\\\\\"\"\n").folder == "/t/\\\"");
    CHECK(weft::parse_plan("weft-plan 2\nlaunch l\nfolder /t/p#2\n").folder == "/t/p#2");
}

TEST_CASE("quotes that are wrong are refused") {
    CHECK(complaint(head + "folder \"/tmp\n").find("quotes do not end") != std::string::npos);
    CHECK(complaint(head + "folder \"/tmp\" more\n").find("quotes do not end") != std::string::npos);
    CHECK(complaint(head + "folder \"/tmp\\\"\n").find("quotes do not end") != std::string::npos);
    CHECK(complaint(head + "folder \"\\n\"\n").find("in quotes: not") != std::string::npos);
    CHECK(complaint(head + "folder \"\\x4\"\n").find("in quotes: not") != std::string::npos);
    CHECK(complaint(head + "folder \"\\xgg\"\n").find("in quotes: not") != std::string::npos);
}

TEST_CASE("a plan that is none names the line and what stands there") {
    CHECK(complaint("weft-plan 1\n").find("line 1: it begins with `weft-plan 1`") != std::string::npos);
    CHECK(complaint(head + "speed 3\n").find("line 5: unknown key `speed`") != std::string::npos);
    CHECK(complaint(head + "min_samples ten\n").find("`min_samples ten`: not a whole number") != std::string::npos);
    CHECK(complaint(head + "min_samples 0\n").find("below 1") != std::string::npos);
    CHECK(complaint(head + "budget_ns 9223372036854775808\n").find("not a whole number") != std::string::npos);
    CHECK(complaint(head + "precision nan\n").find("not above 0") != std::string::npos);
    CHECK(complaint(head + "io tape\n").find("neither mpi nor posix") != std::string::npos);
    CHECK(complaint(head + "start now\n").find("unknown start `now`") != std::string::npos);
    CHECK(complaint(head + "cell c1\nkernel floor\n").find("has no `end`") != std::string::npos);
    CHECK(complaint(head + "cell c1\nend\n").find("line 6: a cell without a name or a kernel") != std::string::npos);
    CHECK(complaint("").find("it is empty") != std::string::npos);
    CHECK(complaint("weft-plan 2\n").find("names no folder") != std::string::npos);
}

TEST_CASE("a plan file that is not there is named") {
    std::string what;
    try {
        weft::read_plan(weft::make_team(MPI_COMM_WORLD, 0), "/nowhere/c000.plan");
    } catch (weft::Failure const &failure) {
        what = failure.what();
    }
    CHECK(what == "cannot read the plan /nowhere/c000.plan: No such file or directory");
}
