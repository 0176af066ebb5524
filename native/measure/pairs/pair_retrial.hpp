// SPDX-License-Identifier: BSD-3-Clause
// Slow pairs are measured again, twice, in the same company (METHOD 17, 19): is it the pair, or was it the moment?
#pragma once

#include "cell/cell.hpp"
#include "pairs/pair_meter.hpp"
#include "pairs/pair_turns.hpp"

#include <functional>
#include <span>
#include <vector>

namespace weft {

/// One ordered pair under suspicion.
struct Suspect {
    std::int64_t finding; ///< its index: the same on every rank
    std::int64_t source;  ///< the rank that began the pings
    std::int64_t target;
};

/// Those of a block that took more than 1.5 times the median of their class, the slowest first; only pairs of one kind
/// (size, and way of measuring) are compared. `kinds`: of each finding. `medians`, `partners`: rank by rank, of each of
/// its findings. `class_of(source, target)` names a class.
std::vector<Suspect> slow_pairs(std::span<int const> kinds, std::span<double const> medians,
                                std::span<std::int64_t const> partners, std::function<int(int, int)> const &class_of);

/// What of a round is measured again: all its pairs where they were measured all at once, the groups with a suspect
/// where one pair a node was, and the suspects alone where each pair was alone.
PairRound same_company(Team const &team, PairRound const &round, PairMode mode, std::span<Suspect const> suspects);

/// Collective: finds the slow pairs of a block and measures them again as they were measured before. Records a segment
/// `again.<op>` for each finding with suspects: the two medians, of samples as long as the first ones. Returns how many
/// more pairs were slow than there was time for.
std::int64_t measure_slow_again(Cell &cell, PairTurns &turns, std::span<PairFinding const> findings,
                                std::span<PairRound const> rounds, std::function<int(int, int)> const &class_of,
                                std::function<PingPong(std::int64_t bytes)> const &ping_of);

} // namespace weft
