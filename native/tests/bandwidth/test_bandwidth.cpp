// SPDX-License-Identifier: BSD-3-Clause
#include "measured_cell.hpp"

#include <doctest/doctest.h>

#include <memory>

using Values = MeasuredCell::Values;

namespace {

bool slow_receiver = false; // rank 1 then sees the messages 4 ms after they came

} // namespace

/// In place of the library's, so that a receiver can be made slow without touching the kernel.
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    int const code = PMPI_Waitall(count, requests, statuses);
    if (slow_receiver) {
        weft::platform::sleep_ns(4'000'000);
    }
    return code;
}

namespace {

/// The first and the last rank; null elsewhere, and where there is but one.
MeasuringRanks *two_ranks() {
    static std::unique_ptr<MeasuringRanks> const ranks = [] {
        MeasuringRanks const &all = MeasuringRanks::all();
        bool const chosen = all.team.size > 1 && (all.team.rank == 0 || all.team.rank == all.team.size - 1);
        weft::Comm const pair = weft::Comm::split(all.team.comm, chosen ? 0 : MPI_UNDEFINED, all.team.rank);
        return chosen ? std::make_unique<MeasuringRanks>(pair) : nullptr;
    }();
    return ranks.get();
}

MeasuredCell stream(MeasuringRanks &ranks, Values more = {}) {
    more.insert({{"bytes", "1 100 65536"}, {"window", "8"}});
    return {"bandwidth", std::move(more), ranks};
}

} // namespace

TEST_CASE("a window of messages arrives whole and in order") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto cell = stream(*pair);
    weft::Validation const &validation = cell.run();
    CHECK(validation.performed);
    CHECK(validation.errors == 0);
    CHECK(cell.segments().find("send@1 cold, send@100 cold, send@65536 cold, send@") == 0);
    for (auto const *op : {"send@1", "send@100", "send@65536"}) {
        weft::Segment const *const warm = cell.segment(op, weft::Phase::warm);
        REQUIRE(warm != nullptr);
        CHECK(warm->batch % 8 == 0); // one operation is one message of a window
        CHECK(cell.segment(op, weft::Phase::cold)->batch == 8);
    }
}

TEST_CASE("a window ends for the sender when the receiver has it, not when the library took it") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    slow_receiver = pair->team.rank == 1;
    auto cell = stream(*pair, {{"bytes", "1"}}); // eager: the sender's own part ends at once
    cell.run();
    slow_receiver = false;
    for (weft::Row const &row : cell.segment("send@1", weft::Phase::warm)->rows) {
        CHECK(row.duration_ns >= 4'000'000);
    }
}

TEST_CASE("a byte that changed on its way makes the cell invalid") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    PlantedFault const fault("corrupt");
    auto cell = stream(*pair);
    weft::Validation const &validation = cell.run();
    CHECK(validation.errors == 3); // one in each size
    CHECK(validation.detail.find("rank 1: byte 0 and its neighbours of message 4 of 1 bytes are not") !=
          std::string::npos);
}

TEST_CASE("fewer messages are under way when they are large, but one always is") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto cell = stream(*pair, {{"bytes", "8 1024 100000"}, {"window", "64"}, {"window_bytes", "4096"}});
    CHECK(cell.need().parts[0].bytes == 100000);
    cell.run();
    CHECK(cell.segment("send@8", weft::Phase::cold)->batch == 64);
    CHECK(cell.segment("send@1024", weft::Phase::cold)->batch == 4);
    CHECK(cell.segment("send@100000", weft::Phase::cold)->batch == 1);
}

TEST_CASE("a pair that does not sit as the pattern asks is a row that says so") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto cell = stream(*pair, {{"pattern", "inter-node"}});
    std::string said;
    try {
        cell.run();
    } catch (weft::Refusal const &refusal) {
        said = refusal.status() + ": " + refusal.what();
    }
    CHECK(said.find("fabric: inter-node was asked for, but the two ranks run on one node") == 0);
}

TEST_CASE("bandwidth is measured between two ranks, not among more") {
    auto cell = stream(MeasuringRanks::all());
    if (cell.team().size == 2) {
        CHECK(cell.need().total() > 0);
        return;
    }
    CHECK_THROWS_AS(cell.need(), weft::Failure);
}

TEST_CASE("windows and messages that cannot be are refused") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto none = stream(*pair, {{"window", "0"}});
    CHECK_THROWS_AS(none.need(), weft::Failure);
    auto huge = stream(*pair, {{"bytes", "8 2147483648"}});
    CHECK_THROWS_AS(huge.need(), weft::Refusal);
}
