// SPDX-License-Identifier: BSD-3-Clause
// Slow pairs are measured twice more, at the same concurrency (METHOD 17, 19), to tell a slow pair from a disturbance.
#pragma once

#include "cell/cell.hpp"
#include "pairs/pair_meter.hpp"
#include "pairs/pair_turns.hpp"

#include <functional>
#include <span>
#include <vector>

namespace weft {

/// One ordered pair that may be slow.
struct Suspect {
    std::int64_t finding; ///< its index: the same on every rank
    std::int64_t source;  ///< the rank that started the pings
    std::int64_t target;
};

/// The pairs of a block that took more than 1.5 times the median of their class, slowest first; only pairs of one kind
/// (size and concurrency) are compared. `kinds`: of each finding. `medians` (ns), `partners`: by rank, then by finding.
/// `class_of(source, target)` gives the class.
std::vector<Suspect> slow_pairs(std::span<int const> kinds, std::span<double const> medians,
                                std::span<std::int64_t const> partners, std::function<int(int, int)> const &class_of);

/// The pairs of a round to measure again: all pairs if they were measured all at once, the groups with a suspect if one
/// pair per node was, and only the suspects if each pair was isolated.
PairRound same_company(Team const &team, PairRound const &round, PairMode mode, std::span<Suspect const> suspects);

/// Collective: finds the slow pairs of a block and measures them again in the same way. Records a segment `again.<op>`
/// for each finding with suspects: the two medians, of samples as long as the first ones. Returns the number of slow
/// pairs for which there was no time.
std::int64_t measure_slow_again(Cell &cell, PairTurns &turns, std::span<PairFinding const> findings,
                                std::span<PairRound const> rounds, std::function<int(int, int)> const &class_of,
                                std::function<PingPong(std::int64_t bytes)> const &ping_of);

} // namespace weft
