// SPDX-License-Identifier: BSD-3-Clause
#include "bandwidth/message_window.hpp"
#include "measured_cell.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

using Values = MeasuredCell::Values;

namespace {

bool slow_receiver = false; // rank 1 then sees the messages 4 ms after their arrival

/// For each size: the start of the first message and the end of the last.
std::map<int, std::pair<std::byte const *, std::byte const *>> touched;

void note_touched(void const *at, int bytes) {
    auto const *const begin = static_cast<std::byte const *>(at);
    auto const [known, is_new] = touched.try_emplace(bytes, begin, begin + bytes);
    if (!is_new) {
        known->second = {std::min(known->second.first, begin), std::max(known->second.second, begin + bytes)};
    }
}

} // namespace

/// Replaces the library's function, to record the kernel's arguments.
int MPI_Isend(void const *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    note_touched(from, count);
    return PMPI_Isend(from, count, type, to, tag, comm, request);
}
int MPI_Irecv(void *into, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    note_touched(into, count);
    return PMPI_Irecv(into, count, type, from, tag, comm, request);
}

/// Replaces the library's function, to slow down a receiver without changing the kernel.
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    int const code = PMPI_Waitall(count, requests, statuses);
    if (slow_receiver) {
        weft::platform::sleep_ns(4'000'000);
    }
    return code;
}

namespace {

/// The first and the last rank; null on other ranks, and with a single rank.
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
    more.insert({{"bytes", "1 100 65536"}, {"window", "8"}, {"footprint", "1048576"}});
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
    auto cell = stream(*pair, {{"bytes", "1"}}); // eager: the sender's part ends at once
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

TEST_CASE("every word of every message of a window is checked") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    constexpr std::int64_t bytes = 100; // twelve words and half of one
    weft::MessageWindow window(pair->team, {.most_messages = 4, .most_bytes = 4096, .footprint = 4096},
                               weft::Flows::of(pair->team.rank, 2, weft::Flows::Shape::pairs, false));
    window.set_size(bytes);
    REQUIRE(window.messages() == 4);
    for (std::int64_t message = 0; message < window.messages(); ++message) {
        for (std::int64_t byte = message; byte < bytes; byte += 8) { // another byte of a word in each message
            window.fill();
            window.move_window();
            CHECK(window.check_received().count == 0);
            window.corrupt(message, byte);
            CAPTURE(byte);
            CHECK(window.check_received().count == pair->team.rank);
        }
    }
}

TEST_CASE("fewer messages are under way when they are large, but one always is") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto cell = stream(
        *pair, {{"bytes", "8 1024 100000"}, {"window", "64"}, {"window_bytes", "4096"}, {"footprint", "100000"}});
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

TEST_CASE("an odd number of ranks makes no pairs") {
    auto cell = stream(MeasuringRanks::all());
    if (cell.team().size % 2 == 0) {
        CHECK(cell.need().total() > 0);
        return;
    }
    CHECK_THROWS_AS(cell.need(), weft::Failure);
}

TEST_CASE("pairs, fans and one-sided calls move every message to its place, one way and both") {
    MeasuringRanks &all = MeasuringRanks::all();
    int const ranks = all.team.size;
    for (std::string const pattern : {"", "incast", "outcast"}) {
        bool const fan = !pattern.empty();
        if (ranks < 2 || (!fan && ranks % 2 != 0)) {
            continue;
        }
        for (std::string const transfer : {"send", "put", "get"}) {
            for (std::string const way : {"one", "both"}) {
                CAPTURE(pattern);
                CAPTURE(transfer);
                CAPTURE(way);
                Values const values{{"pattern", pattern}, {"transfer", transfer}, {"way", way}};
                auto cell = stream(all, values);
                CHECK(cell.need().parts[0].bytes == 1048576 * (way == "both" ? 2 : 1));
                weft::Validation const &validation = cell.run();
                CHECK(validation.performed);
                CHECK(validation.errors == 0);
                int const flows = (fan ? ranks - 1 : ranks / 2) * (way == "both" ? 2 : 1);
                weft::Segment const *const first = cell.segment(transfer + "@100", weft::Phase::cold);
                REQUIRE(first != nullptr);
                CHECK(first->batch == 8 * flows);
                PlantedFault const fault("corrupt");
                auto wrong = stream(all, values);
                CHECK(wrong.run().errors == 3);
            }
        }
    }
}

TEST_CASE("as in OSU, all messages of a window may share one place, which proves nothing") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto cell = stream(*pair, {{"bytes", "40000"}, {"cache", "shared"}, {"footprint", "40000"}});
    touched.clear();
    CHECK_FALSE(cell.run().performed);
    CHECK(cell.segment("send@40000", weft::Phase::cold)->batch == 8);
    CHECK(touched[40000].second - touched[40000].first == 40000);
}

TEST_CASE("flows mirror each other") {
    using Shape = weft::Flows::Shape;
    for (Shape const shape : {Shape::pairs, Shape::in, Shape::out}) {
        for (bool const both : {false, true}) {
            std::int64_t sent = 0;
            for (int rank = 0; rank < 6; ++rank) {
                auto const mine = weft::Flows::of(rank, 6, shape, both);
                for (std::size_t f = 0; f < mine.to.size(); ++f) {
                    auto const &flow = mine.to[f];
                    auto const theirs = weft::Flows::of(flow.peer, 6, shape, both).from;
                    REQUIRE(theirs.size() == std::size_t(flow.peer_flows));
                    CHECK(theirs[std::size_t(flow.at_peer)].peer == rank);
                    CHECK(theirs[std::size_t(flow.at_peer)].at_peer == std::int64_t(f));
                }
                sent += std::int64_t(mine.to.size());
                CHECK(sent <= mine.total);
            }
            CHECK(sent == weft::Flows::of(0, 6, shape, both).total);
        }
    }
}

TEST_CASE("a transfer that is none, and a footprint too small for all flows, are refused") {
    MeasuringRanks &all = MeasuringRanks::all();
    if (all.team.size % 2 == 0) {
        CHECK_THROWS_AS(stream(all, {{"transfer", "throw"}}).need(), weft::Failure);
    }
    if (all.team.size > 2) {
        CHECK_THROWS_AS(stream(all, {{"pattern", "incast"}, {"footprint", "65536"}}).need(), weft::Failure);
    }
}

TEST_CASE("windows and messages that cannot be are refused") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto none = stream(*pair, {{"window", "0"}});
    CHECK_THROWS_AS(none.need(), weft::Failure);
    auto tight = stream(*pair, {{"footprint", "65535"}});
    CHECK_THROWS_AS(tight.need(), weft::Failure);
}

TEST_CASE("the footprint is the same at every size, and the whole of it is touched") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto cell = stream(*pair, {{"bytes", "4096 16384 32768"}, {"window", "8"}, {"footprint", "65536"}});
    touched.clear();
    cell.run();
    for (int const bytes : {4096, 16384, 32768}) {
        REQUIRE(touched.count(bytes) == 1);
        // a window of the smallest is 32 KiB, and the busiest machine leaves time for two samples
        CHECK(touched[bytes].second - touched[bytes].first == 65536);
    }
}

TEST_CASE("a message of 2 GiB is counted where the library can, and refused with the reason where it cannot") {
    MeasuringRanks *const pair = two_ranks();
    if (pair == nullptr) {
        return;
    }
    auto huge = stream(*pair, {{"bytes", "8 2147483648"}, {"footprint", "2147483648"}});
    if (MPI_VERSION >= 4) {
        CHECK(huge.need().parts[0].bytes == 2147483648);
    } else {
        CHECK_THROWS_AS(huge.need(), weft::Refusal);
    }
}
