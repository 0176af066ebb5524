// SPDX-License-Identifier: BSD-3-Clause
// One series of samples of the pairs of a round, in one way of measuring: for the meter, and for a second look.
#pragma once

#include "pairs/pair_turns.hpp"
#include "pairs/ping_pong.hpp"

#include <cstdint>
#include <span>

namespace weft {

/// What is taken, and where it goes; as many rows as arrivals.
struct PairSeries {
    PairMode mode;
    Trips trips;
    std::span<Row> rows;              ///< of the pings this rank begins
    std::span<std::int64_t> arrivals; ///< of the pings it answers, on its own clock
    /// The partners have met before. On a first contact nothing may be said before, nor after, that would not be timed.
    bool met = true;
};

/// Collective: both ranks of a pair begin in turn, the higher one last, so that it knows when both are through. A pair
/// measured beside others that is done keeps sending until all are, or the slow ones would finish alone. A simulator
/// has no such company: each of its messages costs, and its pairs of a round end nearly together. Returns when this
/// rank last sent or answered anything in company, on its own clock; 0 where it kept none.
std::int64_t take_series(Team const &team, PairTurns &turns, PairRound const &round, PingPong const &ping,
                         PairSeries const &series);

} // namespace weft
