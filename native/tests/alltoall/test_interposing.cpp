// SPDX-License-Identifier: BSD-3-Clause
// Decisions of the interposer: the selection table, and the comparison with the library's result.
#include "oracle.hpp"

#include "call.hpp"
#include "choice.hpp"
#include "common/json.hpp"
#include "common/json_value.hpp"
#include "error.hpp"
#include "report.hpp"
#include "table.hpp"
#include "verify.hpp"

#include <fstream>
#include <sstream>
#include <unistd.h>
#include <utility>

using namespace weft::alltoall;
using namespace weft::interpose;
using namespace weft::json;

namespace {

std::string const evidence =
    R"("evidence": {"median_us": 2.5, "interval_us": [2, 3], "pmpi_us": 5, "n": 30, "seed": 1})";

std::string table_of(std::string const &rules) {
    return R"({"schema": "weft-tuning/1", "created": "today", "platform": {"any": [1, null, true]}, "rules": [)" +
           rules + "]}";
}

Spec chosen(Table const &table, Key const &key, std::int64_t bytes) {
    return table.of_shape(key).choose(bytes);
}

std::string refused(std::string const &text) {
    try {
        Table const table(text);
    } catch (weft::alltoall::Error const &error) {
        return error.what();
    }
    return "";
}

bool says(std::string const &text, std::string const &part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("the first rule that matches wins, ends included; none is the library's own") {
    Table const table(table_of(R"({"op": "alltoall", "nodes": [2, 64], "ranks_per_node": [4, 16], "bytes": [1, 1023],
        "algorithm": "node.multi{nl=4}", )" +
                               evidence + R"(},
        {"op": "alltoallv", "bytes": [0, 100], "algorithm": "bruck", )" +
                               evidence + R"(},
        {"op": "*", "p": [100, 200], "algorithm": "flat.pairwise", )" +
                               evidence + "}"));
    CHECK(table.size() == 3);
    Key key{false, 2, 4, 16, 32};
    CHECK(table.of_shape(key).needs_bytes());
    CHECK(chosen(table, key, 1023).kind == Kind::node_multi);
    CHECK(chosen(table, key, 1023).leaders == 4);
    CHECK(chosen(table, key, 1024).kind == Kind::pmpi);
    key.fewest_ranks = 3; // one node has fewer: the rule was not measured there
    CHECK(chosen(table, key, 1).kind == Kind::pmpi);
    key.vector = true;
    CHECK(chosen(table, key, 1).kind == Kind::bruck);
    CHECK(chosen(table, key, 101).kind == Kind::pmpi);
    key.ranks = 200;
    CHECK(chosen(table, key, 101).kind == Kind::flat_pairwise);
    for (int const beyond : {99, 201}) {
        key.ranks = beyond;
        CHECK(chosen(table, key, 101).kind == Kind::pmpi);
    }
    CHECK(chosen(table, Key{false, 64, 4, 16, 32}, 1).kind == Kind::node_multi);
    for (auto const &[without, bytes] : {std::pair{Key{false, 1, 4, 16, 32}, 1},
                                         {Key{false, 65, 4, 16, 32}, 1},
                                         {Key{false, 64, 4, 17, 32}, 1},
                                         {Key{false, 64, 4, 16, 32}, 0},
                                         {Key{true, 64, 4, 16, 32}, 101}}) {
        CHECK(chosen(table, without, bytes).kind == Kind::pmpi);
    }
}

TEST_CASE("what no rule of another size can be for needs no size") {
    Key const key{false, 64, 4, 16, 32};
    CHECK_FALSE(Table(table_of(R"({"op": "*", "algorithm": "pmpi"})")).of_shape(key).needs_bytes());
    CHECK_FALSE(Table(table_of(R"({"op": "alltoall", "nodes": [2, 64], "bytes": [1, 1023], "algorithm": "bruck", )" +
                               evidence + "}"))
                    .of_shape(Key{false, 1, 4, 16, 32})
                    .needs_bytes());
    CHECK_FALSE(
        Table(table_of(R"({"op": "*", "algorithm": "pmpi"}, {"op": "*", "bytes": [1, 5], "algorithm": "bruck", )" +
                       evidence + "}"))
            .of_shape(key)
            .needs_bytes());
}

TEST_CASE(
    "all ranks choose by the size of the rank that sends most, reduced at the calls 2, 4, 8, ... and every 64th") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count == 1) {
        return;
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    Table const table(
        table_of(R"({"op": "alltoallv", "bytes": [1000, 2000], "algorithm": "bruck", )" + evidence + "}"));
    std::vector<int> const places(std::size_t(ranks.count));
    OwnRules own;
    for (std::int64_t number = 1; number <= 200; ++number) {
        // from the call 70 on the last rank sends more than the rule has; the others always less
        int const large = number < 70 ? 1500 : 2500;
        std::vector<int> const counts(std::size_t(ranks.count), ranks.me + 1 == ranks.count ? large : 10);
        char byte = 0;
        AlltoallvCall<int, int> const call{&byte,         counts.data(), places.data(), MPI_BYTE,   &byte,
                                           counts.data(), places.data(), MPI_BYTE,      placed.comm};
        Choice const choice = choose(table, call, number, ranks.count, own);
        bool const due = number > 1 && ((number & (number - 1)) == 0 || number % 64 == 0);
        CHECK(choice.agreed == due);
        CHECK(choice.spec->kind == (number > 1 && number < 128 ? Kind::bruck : Kind::pmpi)); // on every rank
    }
}

TEST_CASE("all ranks choose by the skew of rows and columns where a rule asks for it, and old tables ask for none") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    Key const key{true, 8, 1, 1, 8};
    Table const table(table_of(R"({"op": "alltoallv", "skew": [0, 1.4], "algorithm": "bruck", )" + evidence +
                               R"(}, {"op": "alltoallv", "skew": [1.4, 9], "algorithm": "sched.matrix", )" + evidence +
                               "}"));
    SizeRules const rules = table.of_shape(key);
    CHECK(rules.needs_skew());
    CHECK(rules.choose(5, 1.2).kind == Kind::bruck);
    CHECK(rules.choose(5, 3).kind == Kind::sched_matrix);
    CHECK(rules.choose(5, 10).kind == Kind::pmpi);
    CHECK_FALSE(Table(table_of(R"({"op": "*", "bytes": [1, 5], "algorithm": "bruck", )" + evidence + "}"))
                    .of_shape(key)
                    .needs_skew());
    CHECK(says(refused(table_of(R"({"op": "*", "skew": [3, 1], "algorithm": "pmpi"})")), "skew is no range"));
    if (ranks.count == 1) {
        return;
    }
    // even; the last rank receives most; the first sends most
    for (int const kind : {0, 1, 2}) {
        oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
        std::vector<int> const places(std::size_t(ranks.count));
        std::vector<int> counts(std::size_t(ranks.count), kind == 2 && ranks.me == 0 ? 100 : 10);
        counts.back() = kind == 1 ? 100 : counts.back();
        char byte = 0;
        AlltoallvCall<int, int> const call{&byte,         counts.data(), places.data(), MPI_BYTE,   &byte,
                                           counts.data(), places.data(), MPI_BYTE,      placed.comm};
        OwnRules own;
        Choice const choice = choose(table, call, 2, ranks.count, own);
        CHECK(choice.spec->kind == (kind == 0 ? Kind::bruck : Kind::sched_matrix));
    }
}

TEST_CASE("where no rule for other sizes can match, nothing is asked of the ranks and the library's own runs") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    Table const table(table_of(R"({"op": "*", "nodes": [1000, 2000], "bytes": [1, 20], "algorithm": "bruck", )" +
                               evidence + R"(}, {"op": "alltoall", "bytes": [1, 20], "algorithm": "bruck", )" +
                               evidence + "}"));
    std::vector<int> const places(std::size_t(ranks.count)), counts(std::size_t(ranks.count), 0);
    AlltoallvCall<int, int> const call{nullptr,       counts.data(), places.data(), MPI_BYTE,   nullptr,
                                       counts.data(), places.data(), MPI_BYTE,      placed.comm};
    OwnRules own;
    for (std::int64_t number = 1; number <= 4; ++number) {
        Choice const choice = choose(table, call, number, ranks.count, own);
        CHECK_FALSE(choice.agreed);
        CHECK(choice.spec->kind == Kind::pmpi);
    }
}

TEST_CASE("a table that is wrong is refused with the place and the reason") {
    CHECK(says(refused("{"), "line 1"));
    CHECK(says(refused("{\n\"schema\": }"), "line 2: no value"));
    CHECK(says(refused("[]"), "no object"));
    CHECK(says(refused(R"({"schema": "weft-tuning/2", "rules": []})"), "weft-tuning/1"));
    CHECK(says(refused(R"({"schema": "weft-tuning/1"})"), "no list"));
    CHECK(says(refused(R"({"schema": "weft-tuning/1", "rules": [], "extra": 1})"), "unknown key \"extra\""));
    CHECK(says(refused(table_of(R"({"op": "alltoall", "algorithm": "bruck"})")), "rule 1 has no evidence"));
    CHECK(says(refused(table_of(R"({"op": "alltoall", "algorithm": "brick", )" + evidence + "}")), "\"brick\""));
    CHECK(says(refused(table_of(R"({"op": "alltoall", "algorithm": "bruck", "evidence": {"median_us": 1}})")),
               "pmpi_us"));
    CHECK(says(refused(table_of(R"({"op": "bcast", "algorithm": "pmpi"})")), "\"bcast\""));
    CHECK(says(refused(table_of(R"({"op": "*", "bytes": [5, 1], "algorithm": "pmpi"})")), "bytes is no range"));
    CHECK(says(refused(table_of(R"({"op": "*", "ranks": [1, 5], "algorithm": "pmpi"})")), "unknown key \"ranks\""));
    CHECK(says(refused(table_of(R"({"op": "*", "op": "*", "algorithm": "pmpi"})")), "twice"));
    CHECK(says(refused(std::string(100, '[')), "too many brackets"));
    CHECK(says(refused(R"({"schema": "weft-tuning/1", "rules": [], "record_crc32": 1})"), "checksum"));
    CHECK_NOTHROW(Table(weft::with_checksum(R"({"schema": "weft-tuning/1", "rules": []})")));
}

TEST_CASE("a verification finds one wrong byte, and tells whose") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
    int const bytes = 100;
    std::vector<unsigned char> send(std::size_t(bytes * ranks.count)), receive(send.size());
    for (int rank = 0; rank < ranks.count; ++rank) {
        for (int i = 0; i < bytes; ++i) {
            send[std::size_t(rank * bytes + i)] = oracle::value(ranks.me, rank, i);
        }
    }
    weft::alltoall::AlltoallCall<int> const call{send.data(), bytes,    MPI_BYTE,   receive.data(),
                                                 bytes,       MPI_BYTE, placed.comm};
    weft::alltoall::AlltoallCall<int> const in_place{MPI_IN_PLACE, 0,        MPI_DATATYPE_NULL, receive.data(),
                                                     bytes,        MPI_BYTE, placed.comm};
    weft::alltoall::State &state = weft::alltoall::state_of(placed.comm);
    for (bool const plant : {false, true}) {
        for (auto const *each : {&call, &in_place}) {
            receive = send;
            auto const exchange = each->exchange(ranks.count);
            Verification verification(exchange, state);
            CHECK(verification.possible());
            CHECK(perform(*each, weft::alltoall::parse_spec("node.multi")).code == MPI_SUCCESS);
            if (plant) {
                receive[std::size_t((ranks.count - 1) * bytes + 42)] ^= 1;
            }
            std::string const said = verification.compare();
            CHECK(said.empty() == !plant);
            if (plant) {
                CHECK(says(said, "from rank " + std::to_string(ranks.count - 1) + " differs at byte 42"));
            }
        }
    }
}

TEST_CASE("a report counts calls, not ranks, and puts sizes into powers of two") {
    CHECK(size_class(0) == 0);
    CHECK(size_class(1) == 1);
    CHECK(size_class(5) == 8);
    CHECK(size_class(4096) == 4096);
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    Report report;
    for (int i = 0; i < 3; ++i) {
        report.add({"MPI_Alltoall", "bruck", ranks.count, 2, 8}, {1, 0.5 + ranks.me});
    }
    // an MPI_Alltoallv of which the first rank sends less than the others: no rank knows that
    report.add({"MPI_Alltoallv", "bruck", ranks.count, 2, ranks.me == 0 ? 8 : 64}, {1, 0.5, 1});
    report.pass("MPI_Ialltoall");
    std::string const path = "/tmp/weft-report-" + std::to_string(ranks.count) + "-" + std::to_string(getppid());
    report.write(path, MPI_COMM_WORLD);
    if (ranks.me == 0) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        std::remove(path.c_str());
        Value const whole = weft::json::parse(text.str());
        Object const &object = *whole.get<Object>();
        Object const &line = *object.at("calls").get<Array>()->at(0).get<Object>();
        CHECK(*line.at("calls").get<double>() == 3);
        CHECK(*line.at("seconds").get<double>() == doctest::Approx(3 * (0.5 + ranks.count - 1))); // of the slowest rank
        double calls = 0, verified = 0;
        for (Value const &each : *object.at("calls").get<Array>()) {
            Object const &one = *each.get<Object>();
            if (*one.at("op").get<std::string>() == "MPI_Alltoallv") {
                calls += *one.at("calls").get<double>();
                verified += *one.at("verified").get<double>();
            }
        }
        CHECK(calls == doctest::Approx(1));
        CHECK(verified == doctest::Approx(1));
        CHECK(*object.at("passed_through_by_ranks").get<Object>()->at("MPI_Ialltoall").get<double>() == ranks.count);
    }
}
