// SPDX-License-Identifier: BSD-3-Clause
// One series of samples of the pairs of a round, at one concurrency: for the first measurement and for repeats.
#pragma once

#include "pairs/pair_turns.hpp"
#include "pairs/ping_pong.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// What to measure, and where the results go; as many rows as answers.
struct PairSeries {
    PairMode mode;
    Trips trips;
    std::span<Row> rows;       ///< of the pings this rank begins
    std::span<Answer> answers; ///< of the pings it answers
    /// Whether the partners have communicated before. On first contact there may be no untimed message before or after.
    bool met = true;
};

/// Collective: both ranks of a pair initiate in turn, the higher one last, so that it knows when both are done. A pair
/// that is done before others keeps sending until all are done, or the slow ones would finish without load. Not in a
/// simulator: each message takes time to simulate, and the pairs of a round end nearly together. Returns the time, on
/// this rank's clock, of its last message of such background traffic; 0 if there was none.
std::int64_t take_series(Team const &team, PairTurns &turns, PairRound const &round, PingPong const &ping,
                         PairSeries const &series);

/// Collective over a pair: this rank's answers for those of its pings at the partner, what it lost meanwhile is added
/// to the rows. Nothing on a rank without a partner (-1).
std::vector<Answer> swap_answers(Team const &team, int partner, std::span<Answer const> mine, std::span<Row> rows);

} // namespace weft
