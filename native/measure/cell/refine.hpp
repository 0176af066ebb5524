// SPDX-License-Identifier: BSD-3-Clause
// Where a sweep over sizes should look more closely: SKaMPI's adaptive refinement (Reussner, Sanders, Prechelt, Mueller
// 1998). Where the library changes its protocol or algorithm, the measured points leave the straight line between their
// neighbours. Pure: no MPI, no randomness.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// The median time of an operation at one size.
struct SizePoint {
    std::int64_t bytes;
    double seconds;
};

struct RefineRules {
    std::int64_t most = 0;       ///< sizes to add to a sweep, at most
    std::int64_t multiple = 1;   ///< sizes are whole multiples of so many bytes
    double tolerance = 0.1;      ///< a kink below this (10 %) is not worth a measurement
    double octave_share = 0.125; ///< two sizes closer than this share of an octave are not parted any more
};

/// How far point `k` of a sweep lies off the straight line between its neighbours, where both axes are logarithmic:
/// |ln(t / t_line)|. 0 for the first and the last point, and beside a size of 0 bytes.
double deviation(std::span<SizePoint const> sweep, std::size_t k);

/// The size to measure next: the geometric middle of the gap whose two ends deviate most together, so a step is halved
/// until it is known to an eighth of an octave. Nothing when no gap is wide enough or no end deviates by more than the
/// tolerance. `sweep` ascends; the decision depends on nothing else.
std::optional<std::int64_t> next_size(std::span<SizePoint const> sweep, RefineRules const &rules);

} // namespace weft
