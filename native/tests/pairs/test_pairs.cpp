// SPDX-License-Identifier: BSD-3-Clause
#include "measured_pairs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace weft;

namespace {

// A clock per node whose rate changes, so that a line through two measurements does not describe it.
std::int64_t bent_from_ns = 0;
double bend = 0; // in a second, of the rate
std::int64_t bent_now() noexcept {
    std::int64_t const now = platform::now_ns();
    double const passed_s = double(now - bent_from_ns) * 1e-9;
    return now + std::int64_t(bend * passed_s * passed_s * 1e9);
}

/// Whether the last rank is in the same group as this one, if one pair per node measures at a time.
bool beside_the_last(Team const &team, PairRound const &round) {
    auto const holds = [](std::vector<Pair> const &group, int rank) {
        return std::any_of(group.begin(), group.end(),
                           [&](Pair const &pair) { return pair.low == rank || pair.high == rank; });
    };
    return std::any_of(round.once.begin(), round.once.end(), [&](std::vector<Pair> const &group) {
        return holds(group, team.rank) && holds(group, team.size - 1);
    });
}

void check_whole_tournament(Values const &more, std::vector<std::string> const &modes) {
    MeasuredPairs measured(more);
    auto const &validation = measured.run();
    CHECK(validation.performed);
    CHECK(validation.errors == 0);
    for (int round = 0; round < measured.schedule().rounds(); ++round) {
        auto const name = "r" + std::to_string(round);
        Segment const *const partner = measured.find("partner." + name, Phase::cold);
        REQUIRE(partner != nullptr);
        CHECK(partner->rows[0].duration_ns == measured.partner(round));
        bool const bye = measured.partner(round) == measured.team().rank;
        for (std::string const &mode : modes) {
            for (char const *const bytes : {"0", "1000"}) {
                auto const op = mode + "." + name + "@" + bytes;
                CAPTURE(op);
                Segment const *const cold = measured.find(op, Phase::cold);
                Segment const *const warm = measured.find(op, Phase::warm);
                Segment const *const forward = measured.find("forward." + op, Phase::warm);
                REQUIRE((cold != nullptr && warm != nullptr && forward != nullptr));
                CHECK(cold->batch == 2);
                CHECK(warm->batch % 2 == 0);
                CHECK(warm->count >= 1);
                CHECK(warm->count <= 12);
                CHECK(is_same(measured.team(), warm->count));
                CHECK(is_same(measured.team(), warm->batch));
                CHECK((cold->rows[0].duration_ns == 0) == bye);
                for (Row const &row : warm->rows) {
                    CHECK((row.duration_ns == 0) == bye);
                }
                CHECK(forward->rows[0].duration_ns == (bye ? 0 : warm->count));
            }
        }
    }
}

} // namespace

TEST_CASE("every pair is measured both ways, at every size, one in the job or one a node as all at once") {
    if (make_team(MPI_COMM_WORLD).size > 1) {
        check_whole_tournament({}, {"all"});
        check_whole_tournament({{"mode", "isolated"}}, {"isolated"});
        check_whole_tournament({{"mode", "node"}}, {"node"});
    }
}

TEST_CASE("windows of messages are measured for every pair, too, each message with a place of its own") {
    if (make_team(MPI_COMM_WORLD).size > 1) {
        check_whole_tournament({{"window", "5"}}, {"all"});
        check_whole_tournament({{"window", "5"}, {"places", "shared"}}, {"all"});
        check_whole_tournament({{"window", "64"}, {"mode", "isolated"}}, {"isolated"});
        check_whole_tournament({{"window", "5"}, {"window_bytes", "9"}}, {"all"});
    }
}

TEST_CASE("with contention each round is measured isolated, too, with as many samples") {
    if (make_team(MPI_COMM_WORLD).size > 1) {
        check_whole_tournament({{"contention", "1"}}, {"isolated", "all"});
    }
}

TEST_CASE("ranks on several nodes meet between the nodes and within them") {
    TwoRanksANode const nodes;
    if (make_team(MPI_COMM_WORLD).size > 1) {
        check_whole_tournament({}, {"all"});
        check_whole_tournament({{"mode", "node"}, {"contention", "1"}}, {"isolated", "node"});
    }
}

TEST_CASE("a summary stands in the place of the samples, as long on every rank") {
    if (make_team(MPI_COMM_WORLD).size == 1) {
        return;
    }
    MeasuredPairs measured(Values{{"store", "summary"}});
    measured.run();
    CHECK(measured.find("all.r0@0", Phase::warm) == nullptr);
    Segment const *const summary = measured.find("summary.all.r0@0", Phase::warm);
    REQUIRE(summary != nullptr);
    CHECK(is_same(measured.team(), summary->count));
    if (measured.partner(0) == measured.team().rank) {
        return;
    }
    std::int64_t const n = summary->rows[0].duration_ns;
    CHECK(n >= 1);
    std::int64_t counted = 0;
    for (std::size_t row = 7; row < summary->rows.size(); ++row) {
        counted += summary->rows[row].lost;
    }
    CHECK(counted == n);
    CHECK(summary->rows[1].duration_ns <= summary->rows[2].lost); // min <= median
    CHECK(summary->rows[2].lost <= summary->rows[4].lost);        // median <= max
}

TEST_CASE("each segment says what its rows hold") {
    std::map<std::string, Columns> const expected{{"partner", {"", "partner", ""}},
                                                  {"forward", {"start_ns", "forward_samples", "forward_ns"}},
                                                  {"again", {"", "again_1_ns", "again_2_ns"}},
                                                  {"summary", {"", "bucket", "count"}},
                                                  {"all", sample_columns(LostBy::delay)}};
    Team const team = make_team(MPI_COMM_WORLD);
    if (team.size < 2) {
        return;
    }
    MeasuredPairs measured(Values{{"store", "summary"}});
    measured.run();
    for (Segment const &segment : measured.recorder().segments()) {
        CAPTURE(segment.op);
        std::string const what = segment.op.substr(0, segment.op.find('.'));
        REQUIRE(expected.contains(what));
        Columns columns = expected.at(what);
        columns[2] = what == "all" ? sample_columns(measured.recorder().lost_by())[2] : columns[2];
        CHECK((segment.columns == columns));
        CHECK(segment.head.size() == (what == "summary" ? 7 : 0));
    }
}

TEST_CASE("a block of rounds leaves the others out") {
    if (make_team(MPI_COMM_WORLD).size < 4) {
        return;
    }
    MeasuredPairs measured(Values{{"first_round", "1"}, {"last_round", "1"}});
    measured.run();
    CHECK(measured.count("partner.") == 1);
    CHECK(measured.find("all.r1@0", Phase::warm) != nullptr);
}

TEST_CASE("chosen pairs are measured in the order given, and nobody else") {
    Team const team = make_team(MPI_COMM_WORLD);
    if (team.size < 3) {
        return;
    }
    MeasuredPairs measured(Values{{"pairs", "0-2 1-2"}, {"mode", "isolated"}});
    measured.run();
    CHECK(measured.count("partner.") == 2);
    Segment const *const first = measured.find("isolated.r0@0", Phase::warm);
    REQUIRE(first != nullptr);
    CHECK((first->rows[0].duration_ns > 0) == (team.rank == 0 || team.rank == 2));
}

TEST_CASE("a slow rank is found by all who meet it, and measured again twice") {
    Team const team = make_team(MPI_COMM_WORLD);
    if (team.size < 4) {
        return;
    }
    setenv("WEFT_PLANT", "slow", 1);
    MeasuredPairs measured(Values{{"bytes", "0"}});
    measured.run();
    unsetenv("WEFT_PLANT");
    int looked_again = 0;
    for (Segment const &segment : measured.recorder().segments()) {
        if (segment.op.rfind("again.", 0) == 0 && segment.rows[0].duration_ns > 0) {
            CHECK(segment.rows[0].lost > 0);
            int const round = std::stoi(segment.op.substr(segment.op.find(".r") + 2));
            looked_again += measured.partner(round) == team.size - 1 ? 1 : 0;
        }
    }
    CHECK(looked_again == (team.rank == team.size - 1 ? 0 : 1));
}

TEST_CASE("pairs that are done keep sending until the slow one is, too") {
    TwoRanksANode const nodes;
    Team const team = make_team(MPI_COMM_WORLD);
    if (team.size < 4 || team.size % 2 != 0) {
        return; // no second pair, or a bye
    }
    constexpr int samples = 6; // all in one series
    MeasuredPairs measured({}, platform::now_ns, samples);
    PairRound const round = make_round(team, 0, measured.schedule().pairs(0));
    bool const slow = round.partner == team.size - 1 || team.rank == team.size - 1;
    for (PairMode const mode : {PairMode::all, PairMode::node}) {
        CAPTURE(name(mode));
        PairMeter const meter = measured.metered(round, mode, 10'000'000);
        std::string const op = std::string(name(mode)) + ".r0@64";
        Segment const *const warm = measured.find(op, Phase::warm);
        REQUIRE((warm != nullptr && warm->count == samples));
        // Half way: on crowded cores a pair may have no turn while one or two samples of the slow pair last.
        std::int64_t const mine = slow ? warm->rows[samples / 2].start_ns : 0;
        std::int64_t const half_way = max_over(team.comm, mine);
        if (mode == PairMode::all || beside_the_last(team, round)) {
            CHECK(meter.last_sent_ns() > half_way);
        }
    }
}

TEST_CASE("times one way by clocks whose rate changes lie within the residual that is told, or are flagged") {
    TwoRanksANode const nodes;
    Team const team = make_team(MPI_COMM_WORLD);
    if (team.nodes < 2) {
        return;
    }
    bent_from_ns = max_over(team.comm, platform::now_ns());
    constexpr double strong = 0.2;
    bend = team.node == 0 ? 0 : strong;
    MeasuredPairs measured(Values{{"mode", "isolated"}}, bent_now);
    measured.run();
    // From before the clock was opened, which takes a while on crowded cores.
    double const passed_s = double(max_over(team.comm, platform::now_ns() - bent_from_ns)) * 1e-9;
    std::int64_t const residual_ns = measured.clock().residual_ns();
    // The error of a closed line is at most bend x T^2 / 4; that of the line from the beginning is bend x T^2 or more.
    CHECK(double(residual_ns) < strong * passed_s * passed_s / 4 * 1e9 + 100'000 +
                                    2 * double(max_over(team.comm, measured.clock().uncertainty_ns())));
    std::int64_t below = 0;
    for (Segment const &segment : measured.recorder().segments()) {
        if (segment.op.rfind("forward.", 0) == 0 && segment.rows[0].duration_ns > 0) {
            Segment const *const warm = measured.find(segment.op.substr(8), Phase::warm);
            REQUIRE(warm != nullptr);
            std::int64_t longest_ns = 0;
            for (Row const &row : warm->rows) {
                longest_ns = std::max(longest_ns, row.duration_ns);
            }
            CAPTURE(segment.op);
            CHECK(segment.rows[0].lost >= -residual_ns);
            CHECK(segment.rows[0].lost <= longest_ns + residual_ns + residual_ns / 5);
            below += segment.rows[0].lost < 0 ? 1 : 0;
        }
    }
    CHECK((sum_over(team.comm, below) > 0) == !measured.cell().warnings().empty());
}

TEST_CASE("a flipped bit is found in every message but an empty one") {
    if (make_team(MPI_COMM_WORLD).size == 1) {
        return;
    }
    setenv("WEFT_PLANT", "corrupt", 1);
    MeasuredPairs empty(Values{{"bytes", "0"}});
    CHECK(empty.run().errors == 0);
    MeasuredPairs measured;
    auto const &validation = measured.run();
    unsetenv("WEFT_PLANT");
    CHECK(validation.errors == 1);
    CHECK(validation.detail.find("of 1000 are not what was sent") != std::string::npos);
}

TEST_CASE("ranks on other nodes than planned are refused: pairs would meet twice or never") {
    if (make_team(MPI_COMM_WORLD).size < 2) {
        return;
    }
    MeasuredPairs measured(Values{{"rounds", "77"}});
    CHECK_THROWS_AS(measured.run(), Refusal);
}

TEST_CASE("a plan that makes no sense is refused with the value seen") {
    for (Values const &wrong :
         {Values{{"bytes", "-1"}}, Values{{"mode", "some"}}, Values{{"mode", "isolated"}, {"contention", "1"}},
          Values{{"pairs", "0-0"}}, Values{{"pairs", "0-99"}}, Values{{"pairs", "0-1,1-2"}},
          Values{{"last_round", "9999"}}}) {
        MeasuredPairs measured(wrong);
        CHECK_THROWS_AS(measured.need(), Failure);
    }
}
