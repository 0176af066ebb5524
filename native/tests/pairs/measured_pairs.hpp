// SPDX-License-Identifier: BSD-3-Clause
// One cell of the kernel `pairs`, measured by real ranks.
#pragma once

#include "cell/kernels.hpp"
#include "pairs/pair_meter.hpp"
#include "pairs/pair_schedule.hpp"
#include "time/barrier.hpp"
#include "time/clock.hpp"

#include <cstdlib>
#include <map>
#include <string>

namespace weft {

using Values = std::map<std::string, std::string, std::less<>>;

inline Values with(Values values, Values const &more) {
    for (auto const &[key, value] : more) {
        values.insert_or_assign(key, value);
    }
    return values;
}

/// Whether the value is the same on every rank.
inline bool is_same(Team const &team, std::int64_t value) {
    return min_over(team.comm, value) == max_over(team.comm, value);
}

/// Runs the tests with two ranks per node, on fake nodes of one host.
class TwoRanksANode {
  public:
    TwoRanksANode() { setenv("WEFT_FAKE_RANKS_PER_NODE", "2", 1); }
    ~TwoRanksANode() { unsetenv("WEFT_FAKE_RANKS_PER_NODE"); }
};

/// One cell of the kernel, measured with a handful of samples; the whole tournament unless `more` changes it.
class MeasuredPairs {
  public:
    explicit MeasuredPairs(Values const &more = {}, Now now = platform::now_ns, std::int64_t most_samples = 12)
        : team_(make_team(MPI_COMM_WORLD)), schedule_(team_.node_of), plan_(quick_plan(most_samples)),
          values_{"c003", "pairs", "", with(whole(), more)}, cell_(plan_, values_, team_), clock_(team_, now),
          barrier_(team_, clock_, Start::barrier), sampler_(team_, clock_, barrier_, plan_.rules, recorder_, status_) {
        cell_.use(sampler_, &clock_);
    }

    Need need() { return pairs_need(cell_); }
    Validation const &run() {
        clock_.begin();
        run_pairs(cell_);
        clock_.end();
        cell_.close();
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
    /// A meter of this cell, with the planted delay of the last rank (WEFT_PLANT=slow), after one round at 64 bytes.
    PairMeter metered(PairRound const &round, PairMode mode, std::int64_t delay_ns) {
        Buffer send = Buffer::make(team_, 64, "send");
        Buffer receive = Buffer::make(team_, 64, "receive");
        PingPong ping(team_.comm, clock_, sampler_.losses(), send, receive, 64);
        ping.slow_down(team_.rank == team_.size - 1 ? delay_ns : 0);
        PairTurns turns(team_, barrier_);
        PairMeter meter(cell_, turns, {mode}, true);
        meter.measure(round, ping);
        return meter;
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
    Clock const &clock() const { return clock_; }
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
    static Plan quick_plan(std::int64_t most_samples) {
        Plan plan;
        plan.rules = {0.05, 6, most_samples, 5, 20'000'000};
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

} // namespace weft
