// SPDX-License-Identifier: BSD-3-Clause
#include "barrier.hpp"
#include "clock.hpp"
#include "kernels.hpp"
#include "pairs/pair_schedule.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace weft;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

Values with(Values values, Values const &more) {
    for (auto const &[key, value] : more) {
        values.insert_or_assign(key, value);
    }
    return values;
}

/// One cell of the kernel, measured with a handful of samples; the whole tournament unless `more` says otherwise.
class MeasuredPairs {
  public:
    explicit MeasuredPairs(Values const &more = {})
        : team_(make_team(MPI_COMM_WORLD)), schedule_(team_.node_of), plan_(quick_plan()),
          values_{"c003", "pairs", with(whole(), more)}, cell_(plan_, values_, team_), clock_(team_),
          barrier_(team_, clock_, Start::barrier), sampler_(team_, clock_, barrier_, plan_.rules, recorder_, status_) {
        cell_.use(sampler_);
    }

    Need need() { return pairs_need(cell_); }
    Validation const &run() {
        run_pairs(cell_);
        return cell_.validation();
    }
    Segment const *find(std::string const &op, Phase phase) const {
        for (Segment const &segment : recorder_.segments()) {
            if (segment.op == op && segment.phase == phase) {
                return &segment;
            }
        }
        return nullptr;
    }
    int count(std::string const &beginning) const {
        int found = 0;
        for (Segment const &segment : recorder_.segments()) {
            found += segment.op.rfind(beginning, 0) == 0 ? 1 : 0;
        }
        return found;
    }
    /// The partner in a round, or this rank itself.
    int partner(int round) const {
        for (Pair const &pair : schedule_.pairs(round)) {
            if (pair.low == team_.rank || pair.high == team_.rank) {
                return pair.low == team_.rank ? pair.high : pair.low;
            }
        }
        return team_.rank;
    }
    Recorder const &recorder() const { return recorder_; }
    Cell const &cell() const { return cell_; }
    Team const &team() const { return team_; }
    PairSchedule const &schedule() const { return schedule_; }

  private:
    Values whole() const {
        return {{"bytes", "0 1000"},
                {"mode", "all"},
                {"rounds", std::to_string(schedule_.rounds())},
                {"first_round", "0"},
                {"last_round", std::to_string(schedule_.rounds() - 1)}};
    }
    static Plan quick_plan() {
        Plan plan;
        plan.rules = {0.05, 6, 12, 5, 20'000'000};
        return plan;
    }

    Team team_;
    PairSchedule schedule_;
    Plan plan_;
    CellPlan values_;
    Cell cell_;
    Clock clock_;
    Barrier barrier_;
    Recorder recorder_;
    Status status_;
    Sampler sampler_;
};

/// The same on every rank?
bool is_same(Team const &team, std::int64_t value) {
    return min_over(team.comm, value) == max_over(team.comm, value);
}

/// Runs the tests with two ranks a node, as if the host were several.
class TwoRanksANode {
  public:
    TwoRanksANode() { setenv("WEFT_FAKE_RANKS_PER_NODE", "2", 1); }
    ~TwoRanksANode() { unsetenv("WEFT_FAKE_RANKS_PER_NODE"); }
};

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

TEST_CASE("every pair is measured both ways, at every size") {
    if (make_team(MPI_COMM_WORLD).size > 1) {
        check_whole_tournament({}, {"all"});
    }
}

TEST_CASE("one pair in the job, and one a node, measure the same pairs") {
    if (make_team(MPI_COMM_WORLD).size > 1) {
        check_whole_tournament({{"mode", "isolated"}}, {"isolated"});
        check_whole_tournament({{"mode", "node"}}, {"node"});
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
        counted += summary->rows[row].taint;
    }
    CHECK(counted == n);
    CHECK(summary->rows[1].duration_ns <= summary->rows[2].taint); // min <= median
    CHECK(summary->rows[2].taint <= summary->rows[4].taint);       // median <= max
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
            CHECK(segment.rows[0].taint > 0);
            int const round = std::stoi(segment.op.substr(segment.op.find(".r") + 2));
            looked_again += measured.partner(round) == team.size - 1 ? 1 : 0;
        }
    }
    CHECK(looked_again == (team.rank == team.size - 1 ? 0 : 1));
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
         {Values{{"bytes", "-1"}}, Values{{"bytes", "3000000000"}}, Values{{"mode", "some"}},
          Values{{"mode", "isolated"}, {"contention", "1"}}, Values{{"pairs", "0-0"}}, Values{{"pairs", "0-99"}},
          Values{{"pairs", "0-1,1-2"}}, Values{{"last_round", "9999"}}}) {
        MeasuredPairs measured(wrong);
        CHECK_THROWS_AS(measured.need(), Failure);
    }
}

TEST_CASE("the need counts samples of every round, and a summary needs less than many samples") {
    if (make_team(MPI_COMM_WORLD).size < 2) {
        return;
    }
    MeasuredPairs measured;
    std::int64_t kept = 0;
    auto const samples = [](Need const &need) { return need.parts[1].bytes; };
    std::int64_t const need = samples(measured.need());
    measured.run();
    for (Segment const &segment : measured.recorder().segments()) {
        kept += std::int64_t(segment.rows.size() * sizeof(Row));
    }
    CHECK(need >= 2 * kept);
    MeasuredPairs both(Values{{"contention", "1"}});
    CHECK(samples(both.need()) == 2 * need);
}
