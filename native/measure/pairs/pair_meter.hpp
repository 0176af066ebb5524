// SPDX-License-Identifier: BSD-3-Clause
// Takes the samples of one round of pairs at one size under the rules of METHOD 2 to 11. All ranks of the round take
// the same number of samples, so that they fit into one record; measurements at several concurrencies (isolated and all
// at once) are interleaved chunk by chunk (METHOD 17).
#pragma once

#include "cell/cell.hpp"
#include "pairs/pair_forward.hpp"
#include "pairs/pair_turns.hpp"
#include "pairs/ping_pong.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// One rank's result with one partner: enough to judge it, and to measure it again.
struct PairFinding {
    std::string op; ///< like `all.r12@262144`
    int round;
    PairMode mode;
    int kind;    ///< the same number for the same size and concurrency
    int partner; ///< -1: none
    std::int64_t bytes;
    std::int64_t samples;
    Trips trips;      ///< of a sample
    double median_ns; ///< one way, of the pings this rank started; 0 without a partner
};

class PairMeter {
  public:
    /// `raw`: keep every sample instead of a summary.
    PairMeter(Cell &cell, PairTurns &turns, std::vector<PairMode> modes, bool raw);

    /// Collective. Records the segments of each concurrency (docs/pairs.md), and adds to the findings.
    void measure(PairRound const &round, PingPong const &ping);
    std::vector<PairFinding> const &findings() const noexcept { return findings_; }
    /// Time of this rank's last background message in the last series, on its own clock; 0 if there was none.
    std::int64_t last_sent_ns() const noexcept { return last_sent_ns_; }

  private:
    /// The round at one concurrency.
    struct Series {
        PairMode mode;
        std::string op;
        std::vector<Row> rows;       ///< of the pings this rank started
        std::vector<Answer> answers; ///< to the pings of its partner
        std::vector<Answer> theirs;  ///< the partner's, to those of this rank
        std::int64_t count = 0;
        std::vector<std::int64_t> batches; ///< medians of the warm-up
    };
    /// State of a measurement; the same on every rank.
    struct Timing {
        std::int64_t began;
        std::int64_t budget_ns; ///< for all turns
        std::int64_t began_samples = 0;
        std::int64_t elapsed_ns = 0;
        Trips trips = {};
        std::int64_t unrecorded = 0; ///< round trips before the first sample
        std::int64_t batch = 0;      ///< the last of the warm-up, still in the rows
        EndedBy ended_by = EndedBy::samples;
    };

    void take(PairRound const &round, PingPong const &ping, std::int64_t samples, Trips trips);
    void first_contact(PairRound const &round, PingPong const &ping);
    void warm_up(PairRound const &round, PingPong const &ping, Timing &timing);
    void calibrate(PairRound const &round, PingPong const &ping, Timing &timing);
    void sample(PairRound const &round, PingPong const &ping, Timing &timing);
    std::int64_t turns_of(PairRound const &round) const;
    std::int64_t fastest(PairRound const &round, std::int64_t samples, std::int64_t most_ns) const;
    bool all_agree(bool mine, Timing &timing);
    bool steady(std::int64_t batch);
    bool is_settled_here() const;
    Progress progress(Timing const &timing, std::int64_t taken, bool precise) const;
    void record(Series &series, PairRound const &round, PingPong const &ping, Timing const &timing);
    void record_samples(Series &series, Timing const &timing, bool idle, std::int64_t legs);
    int kind_of(PairMode mode, std::int64_t bytes);
    void record_forward(Series &series, PairRound const &round, std::span<Answer const> theirs);

    Cell &cell_;
    Team const &team_;
    PairTurns &turns_;
    std::shared_ptr<PairForwards> forwards_;
    Rules rules_;
    bool raw_;
    bool met_ = false;        ///< the pairs of the round
    bool has_warned_ = false; ///< of samples that are short in this launch
    std::int64_t last_sent_ns_ = 0;
    std::vector<Series> series_;
    std::vector<std::int64_t> sizes_; ///< met so far
    std::vector<PairFinding> findings_;
};

} // namespace weft
